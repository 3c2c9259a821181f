// Python's door to the exact search: see scan.hpp for the method and neighbours/scan.py for the bounds.
#include "checks.hpp"
#include "module.hpp"
#include "scan.hpp"

namespace kcrc {
namespace {

constexpr int QUERIES_OVER_STORED = 64;    // at work together: their coordinates stay in the cache
constexpr int QUERIES_OVER_MADE = 256;     // making panels must pay
constexpr int BLOCK = 8;                   // panels made, or looked at, between two questions whether to tighten

class StoredPanels final : public ScanSource {
  public:
    StoredPanels(const float* panels, const float* halves, const std::int32_t* rows, std::int64_t n, int depth)
        : panels_(panels), halves_(halves), rows_(rows), n_(n), depth_(depth) {}
    std::pair<const float*, const float*> panels(std::int64_t first, int) override {
        return {panels_ + first * depth_ * SCAN_ROWS, halves_ + first * SCAN_ROWS};
    }
    // Looked at where one is measured: to go over all of them would take as long as some searches.
    std::int64_t row_of(std::int64_t slot) const override {
        const std::int64_t row = rows_[slot];
        require(row >= 0 && row < n_, "slots", "name examples that are there");
        return row;
    }

  private:
    const float *panels_, *halves_;
    const std::int32_t* rows_;
    std::int64_t n_;
    int depth_;
};

// Panels of (x − centre)/scale, made as the scan comes by. Slots visit the rows in strides, so that examples sorted
// by class do not keep the bar low until the right class comes.
template <class S>
class MadePanels final : public ScanSource {
  public:
    MadePanels(const S* vectors, const void* centre, std::int64_t n, std::int64_t width, double scale)
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
    std::int64_t n_, width_;
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
        for (std::int64_t k = 0; k < width_; ++k) out[k] = static_cast<float>((static_cast<A>(row[k]) - centre[k]) * factor);
        constexpr int W = lanes<float>;
        Vec<float> sum{};
        std::int64_t k = 0;
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
        return {or_far(squared_distance<S, Q>(vectors + row * width, query, width, enough)), row};
    }
    void fetch(std::int32_t slot) const {
        const char* at = reinterpret_cast<const char*>(vectors + source.row_of(slot) * width);
        const std::int64_t bytes = std::min<std::int64_t>(width * sizeof(S), 4096);
        for (std::int64_t i = 0; i < bytes; i += 64) KCRC_PREFETCH(at + i);
    }
};

// Query i with every example measured: where making panels would cost more than it saves, and wherever the scan's
// single precision cannot tell.
template <class S, class Q>
void measure_all(const S* vectors, const Q* queries, std::int64_t n, std::int64_t width, const Asked& asked,
                 std::int64_t i) {
    std::vector<std::pair<double, std::int64_t>> best;
    for (std::int64_t row = 0; row < n; ++row) {
        const bool full = static_cast<int>(best.size()) == asked.k;
        const double enough = full ? best.front().first * (1 + 1e-12) : std::numeric_limits<double>::infinity();
        const double squared = squared_distance<S, Q>(vectors + row * width, queries + i * width, width, enough);
        const auto found = std::make_pair(or_far(squared), row);
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
                columns[(static_cast<std::size_t>(q / NR) * asked.depth + k) * NR + q % NR] = asked.coordinates[i * asked.depth + k];
        }
        std::int64_t next = std::max<std::int64_t>(FIRST_BLOCK, 2 * std::int64_t(asked.k) / SCAN_ROWS);
        for (std::int64_t first = 0; first < panels; first += BLOCK) {
            const int count = static_cast<int>(std::min<std::int64_t>(BLOCK, panels - first));
            const auto [rows, halves] = source.panels(first, count);
            for (int p = 0; p < count; ++p) {
                const float* panel = rows + static_cast<std::size_t>(p) * asked.depth * SCAN_ROWS;
                const auto slot = static_cast<std::int32_t>((first + p) * SCAN_ROWS);
                for (int q = 0; q < here; q += NR) {
                    const float* quad = columns.data() + static_cast<std::size_t>(q / NR) * asked.depth * NR;
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
            if (static_cast<int>(lists[q].best.size()) < asked.k) {  // coordinates that are no numbers ruled examples out
                measure_all<S, Q>(vectors, queries, n, width, asked, start + q);
                continue;
            }
            for (int j = 0; j < asked.k; ++j) {
                asked.squared[(start + q) * asked.k + j] = lists[q].best[j].first;
                asked.rows[(start + q) * asked.k + j] = lists[q].best[j].second;
            }
        }
    }
}

// Where the examples' scan coordinates are: all null where every example is to be measured.
struct Where {
    const float *panels, *halves;  // stored
    const std::int32_t* slots;
    const void* centre;  // to be made
};

template <class S, class Q>
void search(const void* vectors, const void* queries, std::int64_t n, std::int64_t width, const Where& where,
            const Asked& asked) {
    const auto* atoms = static_cast<const S*>(vectors);
    const auto* asking = static_cast<const Q*>(queries);
    if (where.panels) {
        StoredPanels source(where.panels, where.halves, where.slots, n, asked.depth);
        scan_all<S, Q>(atoms, asking, n, width, source, QUERIES_OVER_STORED, asked);
    } else if (!where.centre || asked.batch <= 2 || n <= SCAN_ROWS) {
        for (std::int64_t i = 0; i < asked.batch; ++i) measure_all<S, Q>(atoms, asking, n, width, asked, i);
    } else {
        MadePanels<S> source(atoms, where.centre, n, width, asked.scale);
        scan_all<S, Q>(atoms, asking, n, width, source, QUERIES_OVER_MADE, asked);
    }
}

// Checks what every search needs, makes room for the answers and calls search<S, Q> without the interpreter.
py::tuple answered(const Argument& vectors, const Argument& queries, int k, const Where& where, Asked asked) {
    const Storage storage = vectors.storage();
    const bool wide = queries.is_wide();
    const void *atoms = vectors.memory({ANY, ANY}), *asking = queries.memory({ANY, vectors.extent(1)});
    const std::int64_t n = vectors.extent(0), width = vectors.extent(1), batch = queries.extent(0);
    require(k >= 1 && k <= n, "k", "lies between 1 and the number of examples");
    py::array_t<std::int64_t> rows({batch, static_cast<std::int64_t>(k)});
    py::array_t<double> squared({batch, static_cast<std::int64_t>(k)});
    asked.k = k;
    asked.batch = batch;
    asked.rows = rows.mutable_data();
    asked.squared = squared.mutable_data();
    const auto with = [&](auto stored_as) {
        using S = decltype(stored_as);
        py::gil_scoped_release release;
        if (wide) search<S, double>(atoms, asking, n, width, where, asked);
        else search<S, float>(atoms, asking, n, width, where, asked);
    };
    if (storage == Storage::single) with(float{});
    else if (storage == Storage::wide) with(double{});
    else with(Half{});
    return py::make_tuple(rows, squared);
}

py::tuple nearest_measured(const py::object& vectors, const py::object& queries, int k) {
    return answered({"vectors", vectors}, {"queries", queries}, k, Where{}, Asked{});
}

py::tuple nearest(const py::object& vectors_, const py::object& queries_, int k, const py::object& coordinates_,
                  const py::object& square, const py::object& rounding, const py::object& slack, double scale,
                  const py::object& panels_, const py::object& halves, const py::object& slots, const py::object& centre_) {
    const Argument vectors("vectors", vectors_), queries("queries", queries_), coordinates("coordinates", coordinates_);
    const Argument panels("panels", panels_), centre("centre", centre_);
    Where where{};
    Asked asked{};
    vectors.memory({ANY, ANY});
    queries.memory({ANY, vectors.extent(1)});
    const std::int64_t n = vectors.extent(0), width = vectors.extent(1), batch = queries.extent(0);
    asked.coordinates = coordinates.values<float>({batch, ANY});
    const std::int64_t depth = coordinates.extent(1);
    asked.depth = static_cast<int>(depth);
    asked.square = Argument("square", square).values<double>({batch});
    asked.rounding = Argument("rounding", rounding).values<double>({batch});
    asked.slack = Argument("slack", slack).values<double>({batch});
    asked.scale = between("scale", scale, std::numeric_limits<double>::min(), std::numeric_limits<double>::max());
    if (panels) {
        where.panels = panels.values<float>({ANY, depth, SCAN_ROWS});
        const std::int64_t room = panels.extent(0) * SCAN_ROWS;
        require(room >= n, "panels", "has a place for every example");
        where.halves = Argument("halves", halves).values<float>({room});
        where.slots = Argument("slots", slots).values<std::int32_t>({room});
    } else {
        require(depth == width, "coordinates", "are all of them where there are no panels");
        where.centre = vectors.holds<double>() ? static_cast<const void*>(centre.values<double>({width}))
                                               : centre.values<float>({width});
    }
    return answered(vectors, queries, k, where, asked);
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
    m.def("nearest_measured", &kcrc::nearest_measured, py::kw_only(), "vectors"_a, "queries"_a, "k"_a,
          "The same with every pair measured and nothing scanned: for any finite values.");
}
