// Python's door to the exact search: see scan.hpp for the method and neighbours/scan.py for the bounds.
#include "arrays.hpp"
#include "module.hpp"
#include "scan.hpp"

namespace kcrc {
namespace {

constexpr int QUERIES_OVER_STORED = 64;  // at work together: their coordinates stay in the cache
constexpr int QUERIES_OVER_MADE = 256;   // making panels must pay
constexpr int BLOCK = 8;                 // panels made, or looked at, between two questions whether to tighten

class StoredPanels final : public ScanSource {
  public:
    StoredPanels(const float* panels, const float* halves, const std::int32_t* rows, int depth)
        : panels_(panels), halves_(halves), rows_(rows), depth_(depth) {}
    std::pair<const float*, const float*> panels(std::int64_t first, int) override {
        return {panels_ + first * depth_ * SCAN_ROWS, halves_ + first * SCAN_ROWS};
    }
    std::int64_t row_of(std::int64_t slot) const override { return rows_[slot]; }

  private:
    const float *panels_, *halves_;
    const std::int32_t* rows_;
    int depth_;
};

// Panels of (x − centre)/scale, made as the scan comes by. Slots visit the rows in strides, so that examples sorted
// by class do not keep the bar low until the right class comes.
template <class S>
class MadePanels final : public ScanSource {
  public:
    MadePanels(const S* vectors, const void* centre, std::int64_t n, int width, double scale)
        : vectors_(vectors), centre_(centre), n_(n), width_(width), factor_(1.0 / scale), stride_(stride_for(n)) {}

    std::pair<const float*, const float*> panels(std::int64_t first, int count) override {
        float* packed = packed_.get(static_cast<std::size_t>(count) * SCAN_ROWS * width_);
        float* halves = halves_.get(static_cast<std::size_t>(count) * SCAN_ROWS);
        float* line = line_.get(static_cast<std::size_t>(SCAN_ROWS) * width_);
        std::int64_t identity[SCAN_ROWS];
        for (int r = 0; r < SCAN_ROWS; ++r) identity[r] = r;
        for (int p = 0; p < count; ++p) {
            const std::int64_t slot = (first + p) * SCAN_ROWS;
            const int here = static_cast<int>(std::min<std::int64_t>(SCAN_ROWS, n_ - slot));
            for (int r = 0; r < SCAN_ROWS; ++r)
                halves[p * SCAN_ROWS + r] =
                    r < here ? centred(vectors_ + row_of(slot + r) * width_, line + r * width_) : INFINITY;
            pack_rows<float, float>(line, width_, identity, here, packed + static_cast<std::size_t>(p) * SCAN_ROWS * width_,
                                    unused_);
        }
        return {packed, halves};
    }
    std::int64_t row_of(std::int64_t slot) const override { return slot * stride_ % n_; }

  private:
    const S* vectors_;
    const void* centre_;
    std::int64_t n_;
    int width_;
    double factor_;
    std::int64_t stride_;
    Buffer<float> packed_, halves_, line_, unused_;

    static std::int64_t stride_for(std::int64_t n) {
        std::int64_t stride = std::max<std::int64_t>(1, static_cast<std::int64_t>(0.618 * static_cast<double>(n)));
        const auto divisor = [](std::int64_t a, std::int64_t b) {
            while (b) a = std::exchange(b, a % b);
            return a;
        };
        while (divisor(n, stride) != 1) ++stride;
        return stride;
    }
    // One row of scan coordinates; returns half its square. The centre is a float and the factor a power of 2.
    float centred(const S* row, float* out) const {
        using A = typename Plain<S>::type;
        const auto* centre = static_cast<const A*>(centre_);
        const A factor = static_cast<A>(factor_);
        for (int k = 0; k < width_; ++k) out[k] = static_cast<float>((static_cast<A>(row[k]) - centre[k]) * factor);
        constexpr int W = lanes<float>;
        Vec<float> sum{};
        int k = 0;
        for (; k + W <= width_; k += W) sum += load<float>(out + k) * load<float>(out + k);
        float total = sum_of<float>(sum);
        for (; k < width_; ++k) total += out[k] * out[k];
        return 0.5f * total;
    }
};

struct Asked {  // queries of one call
    const float* coordinates;                    // (B, depth)
    const double *square, *rounding, *slack;     // (B,)
    double scale;
    int depth, k;
    std::int64_t batch;
    std::int64_t* rows;  // (B, k) out
    double* squared;     // (B, k) out
};

template <class S, class Q>
struct Measure {
    const S* vectors;
    std::int64_t width;
    const ScanSource& source;

    std::pair<double, std::int64_t> operator()(const Q* query, std::int32_t slot, double enough) const {
        const std::int64_t row = source.row_of(slot);
        return {squared_distance<S, Q>(vectors + row * width, query, width, enough), row};
    }
    void fetch(std::int32_t slot) const {
        const char* at = reinterpret_cast<const char*>(vectors + source.row_of(slot) * width);
        const std::int64_t bytes = std::min<std::int64_t>(width * sizeof(S), 4096);
        for (std::int64_t i = 0; i < bytes; i += 64) KCRC_PREFETCH(at + i);
    }
};

template <class S, class Q>
void scan_all(const S* vectors, const Q* queries, std::int64_t n, std::int64_t width, ScanSource& source, int together,
              const Asked& asked) {
    const int room = rounded_up(static_cast<int>(std::min<std::int64_t>(asked.batch, together)), NR);
    std::vector<Shortlist<S, Q>> lists(room);
    std::vector<float> columns(static_cast<std::size_t>(room) * asked.depth);
    const Measure<S, Q> measure{vectors, width, source};
    const std::int64_t panels = (n + SCAN_ROWS - 1) / SCAN_ROWS;
    for (std::int64_t start = 0; start < asked.batch; start += together) {
        const int here = static_cast<int>(std::min<std::int64_t>(together, asked.batch - start));
        std::fill(columns.begin(), columns.end(), 0.0f);
        for (int q = 0; q < room; ++q) {
            if (q >= here) {
                lists[q].bar = INFINITY;
                continue;
            }
            const std::int64_t i = start + q;
            lists[q].start(queries + i * width, asked.k, asked.square[i], asked.rounding[i], asked.slack[i], asked.scale);
            for (int k = 0; k < asked.depth; ++k)
                columns[(q / NR * asked.depth + k) * NR + q % NR] = asked.coordinates[i * asked.depth + k];
        }
        std::int64_t next = std::max<std::int64_t>(FIRST_BLOCK, 2 * asked.k / SCAN_ROWS);
        for (std::int64_t first = 0; first < panels; first += BLOCK) {
            const int count = static_cast<int>(std::min<std::int64_t>(BLOCK, panels - first));
            const auto [rows, halves] = source.panels(first, count);
            for (int p = 0; p < count; ++p) {
                const float* panel = rows + static_cast<std::size_t>(p) * asked.depth * SCAN_ROWS;
                const auto slot = static_cast<std::int32_t>((first + p) * SCAN_ROWS);
                for (int q = 0; q < here; q += NR) {
                    const float* quad = columns.data() + q / NR * asked.depth * NR;
                    scan_panel(panel, quad, asked.depth, halves + p * SCAN_ROWS, slot, here - q, &lists[q]);
                }
            }
            if (first + count >= next && first + count < panels) {
                for (int q = 0; q < here; ++q) lists[q].tighten(measure);
                next *= 4;
            }
        }
        for (int q = 0; q < here; ++q) {
            lists[q].finish(measure);
            for (int j = 0; j < asked.k; ++j) {
                asked.squared[(start + q) * asked.k + j] = lists[q].best[j].first;
                asked.rows[(start + q) * asked.k + j] = lists[q].best[j].second;
            }
        }
    }
}

// Every example measured: for a query or two, where making panels would cost more than it saves.
template <class S, class Q>
void measure_all(const S* vectors, const Q* queries, std::int64_t n, std::int64_t width, const Asked& asked) {
    std::vector<std::pair<double, std::int64_t>> best;
    for (std::int64_t i = 0; i < asked.batch; ++i) {
        best.clear();
        for (std::int64_t row = 0; row < n; ++row) {
            const bool full = static_cast<int>(best.size()) == asked.k;
            const double enough = full ? best.front().first : std::numeric_limits<double>::infinity();
            const auto found = std::make_pair(
                squared_distance<S, Q>(vectors + row * width, queries + i * width, width, enough * (1 + 1e-12)), row);
            if (full) {
                if (!(found < best.front())) continue;
                std::pop_heap(best.begin(), best.end());
                best.back() = found;
            } else {
                best.push_back(found);
            }
            std::push_heap(best.begin(), best.end());
        }
        std::sort_heap(best.begin(), best.end());
        for (int j = 0; j < asked.k; ++j) {
            asked.squared[i * asked.k + j] = best[j].first;
            asked.rows[i * asked.k + j] = best[j].second;
        }
    }
}

template <class S, class Q>
void search(const py::array& vectors, const py::array& queries, const py::array& panels, const py::array& halves,
            const py::array& slots, const py::array& centre, bool stored, const Asked& asked) {
    const auto* atoms = static_cast<const S*>(vectors.data());
    const auto* asking = static_cast<const Q*>(queries.data());
    const std::int64_t n = vectors.shape(0), width = vectors.shape(1);
    const void *panel_data = panels.data(), *half_data = halves.data(), *slot_data = slots.data();
    const void* centre_data = centre.data();
    py::gil_scoped_release release;
    if (stored) {
        StoredPanels source(static_cast<const float*>(panel_data), static_cast<const float*>(half_data),
                            static_cast<const std::int32_t*>(slot_data), asked.depth);
        scan_all<S, Q>(atoms, asking, n, width, source, QUERIES_OVER_STORED, asked);
    } else if (asked.batch <= 2 || n <= SCAN_ROWS) {
        measure_all<S, Q>(atoms, asking, n, width, asked);
    } else {
        MadePanels<S> source(atoms, centre_data, n, static_cast<int>(width), asked.scale);
        scan_all<S, Q>(atoms, asking, n, width, source, QUERIES_OVER_MADE, asked);
    }
}

py::tuple nearest(const py::array& vectors, const py::array& queries, int k, const py::array& coordinates,
                  const py::array& square, const py::array& rounding, const py::array& slack, double scale,
                  const py::object& panels_, const py::object& halves_, const py::object& slots_, const py::object& centre_) {
    const py::array panels = or_empty(panels_), halves = or_empty(halves_), slots = or_empty(slots_), centre = or_empty(centre_);
    const bool stored = !panels_.is_none();
    require(vectors.ndim() == 2 && is_plain(vectors), "vectors is a C-ordered matrix");
    require(holds_floats(vectors), "vectors is float16, float32 or float64");
    const std::int64_t n = vectors.shape(0), width = vectors.shape(1), batch = queries.shape(0);
    require(queries.ndim() == 2 && queries.shape(1) == width && is_plain(queries), "queries is (B, d), C-ordered");
    require(holds<float>(queries) || holds<double>(queries), "queries is float32 or float64");
    require(k >= 1 && k <= n && n < (std::int64_t(1) << 31) - SCAN_ROWS, "k lies between 1 and the number of examples");
    require(coordinates.ndim() == 2 && coordinates.shape(0) == batch && holds<float>(coordinates) && is_plain(coordinates),
            "coordinates is float32 (B, depth)");
    const std::int64_t depth = coordinates.shape(1);
    for (const py::array* a : {&square, &rounding, &slack})
        require(a->ndim() == 1 && a->shape(0) == batch && holds<double>(*a) && is_plain(*a), "bounds are float64 (B,)");
    if (stored) {
        const std::int64_t room = (n + SCAN_ROWS - 1) / SCAN_ROWS;
        require(panels.ndim() == 3 && panels.shape(0) >= room && panels.shape(1) == depth && panels.shape(2) == SCAN_ROWS &&
                    holds<float>(panels) && is_plain(panels), "panels is float32 (panels, depth, scan_rows)");
        require(halves.ndim() == 1 && halves.shape(0) >= room * SCAN_ROWS && holds<float>(halves) && is_plain(halves),
                "halves is float32, one a slot");
        require(slots.ndim() == 1 && slots.shape(0) >= n && holds<std::int32_t>(slots) && is_plain(slots),
                "slots is int32, one a slot");
    } else {
        require(depth == width && centre.ndim() == 1 && centre.shape(0) == width && is_plain(centre) &&
                    (holds<double>(vectors) ? holds<double>(centre) : holds<float>(centre)),
                "without panels the coordinates are all of them, about a centre of the precision they are read in");
    }
    py::array_t<std::int64_t> rows({batch, static_cast<std::int64_t>(k)});
    py::array_t<double> squared({batch, static_cast<std::int64_t>(k)});
    const auto doubles = [](const py::array& a) { return static_cast<const double*>(a.data()); };
    const Asked asked{static_cast<const float*>(coordinates.data()), doubles(square), doubles(rounding), doubles(slack),
                      scale, static_cast<int>(depth), k, batch, rows.mutable_data(), squared.mutable_data()};
    const auto with = [&](auto stored_as) {
        using S = decltype(stored_as);
        if (holds<float>(queries)) search<S, float>(vectors, queries, panels, halves, slots, centre, stored, asked);
        else search<S, double>(vectors, queries, panels, halves, slots, centre, stored, asked);
    };
    if (holds<float>(vectors)) with(float{});
    else if (holds<double>(vectors)) with(double{});
    else with(Half{});
    return py::make_tuple(rows, squared);
}

}  // namespace
}  // namespace kcrc

void bind_search(py::module_& m) {
    using namespace py::literals;
    m.attr("scan_rows") = kcrc::SCAN_ROWS;
    m.def("nearest", &kcrc::nearest, py::kw_only(), "vectors"_a, "queries"_a, "k"_a, "coordinates"_a, "square"_a,
          "rounding"_a, "slack"_a, "scale"_a, "panels"_a = py::none(), "halves"_a = py::none(), "slots"_a = py::none(),
          "centre"_a = py::none(),
          "Rows (B, k) and squared Euclidean distances (B, k) of the nearest vectors, ascending, ties by row.");
}
