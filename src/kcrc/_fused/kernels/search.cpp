// The exact search over stored panels or panels made on the way: see scan.hpp for the method and neighbours/scan.py for
// the bounds.
#include <stdexcept>

#include "kernels.hpp"
#include "scan.hpp"

namespace kcrc {
namespace {

constexpr int QUERIES_OVER_STORED = 64;  // at work together: their coordinates stay in the cache
constexpr int QUERIES_OVER_MADE = 256;   // making panels must pay
constexpr int BLOCK = 8;                 // panels made, or looked at, between two questions whether to tighten

class StoredPanels final : public ScanSource {
  public:
    StoredPanels(const float* panels, const float* halves, const std::int32_t* rows, Index n, int depth)
        : panels_(panels), halves_(halves), rows_(rows), n_(n), depth_(depth) {}
    std::pair<const float*, const float*> panels(Index first, int) override {
        return {panels_ + first * depth_ * SCAN_ROWS, halves_ + first * SCAN_ROWS};
    }
    // Looked at where one is measured: to go over all of them would take as long as some searches.
    Index row_of(Index slot) const override {
        const Index row = rows_[slot];
        if (row < 0 || row >= n_) throw std::invalid_argument("slots name examples that are there");
        return row;
    }

  private:
    const float *panels_, *halves_;
    const std::int32_t* rows_;
    Index n_;
    int depth_;
};

// Panels of (x − centre)/scale, made as the scan comes by. Slots visit the rows in strides, so that examples sorted
// by class do not keep the bar low until the right class comes.
template <class S>
class MadePanels final : public ScanSource {
  public:
    MadePanels(const S* vectors, const void* centre, Index n, Index width, double scale)
        : vectors_(vectors), centre_(centre), n_(n), width_(width), factor_(1.0 / scale), stride_(stride_for(n)) {}

    std::pair<const float*, const float*> panels(Index first, int count) override {
        float* packed = packed_.get(static_cast<std::size_t>(count) * SCAN_ROWS * width_);
        float* halves = halves_.get(static_cast<std::size_t>(count) * SCAN_ROWS);
        float* line = line_.get(static_cast<std::size_t>(SCAN_ROWS) * width_);
        Index identity[SCAN_ROWS];
        for (int r = 0; r < SCAN_ROWS; ++r) identity[r] = r;
        for (int p = 0; p < count; ++p) {
            const Index slot = (first + p) * SCAN_ROWS;
            const int here = static_cast<int>(std::min<Index>(SCAN_ROWS, n_ - slot));
            for (int r = 0; r < SCAN_ROWS; ++r)
                halves[p * SCAN_ROWS + r] =
                    r < here ? centred(vectors_ + row_of(slot + r) * width_, line + r * width_) : INFINITY;
            pack_rows<float, float>(line, width_, identity, here,
                                    packed + static_cast<std::size_t>(p) * SCAN_ROWS * width_, unused_);
        }
        return {packed, halves};
    }
    Index row_of(Index slot) const override { return slot * stride_ % n_; }

  private:
    const S* vectors_;
    const void* centre_;
    Index n_, width_;
    double factor_;
    Index stride_;
    Buffer<float> packed_, halves_, line_, unused_;

    static Index stride_for(Index n) {
        Index stride = std::max<Index>(1, static_cast<Index>(0.618 * static_cast<double>(n)));
        const auto divisor = [](Index a, Index b) {
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
        for (Index k = 0; k < width_; ++k) out[k] = static_cast<float>((static_cast<A>(row[k]) - centre[k]) * factor);
        constexpr int W = lanes<float>;
        Vec<float> sum{};
        Index k = 0;
        for (; k + W <= width_; k += W) sum += load<float>(out + k) * load<float>(out + k);
        float total = sum_of<float>(sum);
        for (; k < width_; ++k) total += out[k] * out[k];
        return 0.5f * total;
    }
};

template <class S, class Q>
struct Measured {
    const S* vectors;
    Index width;
    const ScanSource& source;

    std::pair<double, Index> operator()(const Q* query, std::int32_t slot, double enough) const {
        const Index row = source.row_of(slot);
        return {or_far(squared_distance<S, Q>(vectors + row * width, query, width, enough)), row};
    }
    void fetch(std::int32_t slot) const {
        kcrc::fetch(vectors + source.row_of(slot) * width, std::min<std::size_t>(width * sizeof(S), 4096));
    }
};

// Query i with every example measured: where making panels would cost more than it saves, and wherever the scan's
// single precision cannot tell.
template <class S, class Q>
void measure_all(const S* vectors, const Q* queries, Index n, Index width, const Asked& asked, Index i) {
    std::vector<Neighbour> best;
    for (Index row = 0; row < n; ++row) {
        const bool full = static_cast<int>(best.size()) == asked.k;
        const double enough = full ? best.front().first * (1 + 1e-12) : std::numeric_limits<double>::infinity();
        const double squared = squared_distance<S, Q>(vectors + row * width, queries + i * width, width, enough);
        keep_nearest(best, asked.k, {or_far(squared), row});
    }
    std::sort_heap(best.begin(), best.end());
    for (int j = 0; j < asked.k; ++j) {
        asked.squared[i * asked.k + j] = best[j].first;
        asked.rows[i * asked.k + j] = best[j].second;
    }
}

template <class S, class Q>
void scan_all(const S* vectors, const Q* queries, Index n, Index width, ScanSource& source, int together,
              const Asked& asked) {
    const int room = rounded_up(static_cast<int>(std::min<Index>(asked.batch, together)), NR);
    std::vector<Shortlist<S, Q>> lists(room);
    std::vector<float> columns(static_cast<std::size_t>(room) * asked.depth);
    const Measured<S, Q> measure{vectors, width, source};
    const Index panels = (n + SCAN_ROWS - 1) / SCAN_ROWS;
    for (Index start = 0; start < asked.batch; start += together) {
        const int here = static_cast<int>(std::min<Index>(together, asked.batch - start));
        std::fill(columns.begin(), columns.end(), 0.0f);
        for (int q = 0; q < room; ++q) {
            if (q >= here) {
                lists[q].bar = INFINITY;
                continue;
            }
            const Index i = start + q;
            lists[q].start(queries + i * width, asked.k, asked.square[i], asked.rounding[i], asked.slack[i],
                           asked.scale);
            for (int k = 0; k < asked.depth; ++k)
                columns[(static_cast<std::size_t>(q / NR) * asked.depth + k) * NR + q % NR] =
                    asked.coordinates[i * asked.depth + k];
        }
        Index next = std::max<Index>(FIRST_BLOCK, 2 * Index(asked.k) / SCAN_ROWS);
        for (Index first = 0; first < panels; first += BLOCK) {
            const int count = static_cast<int>(std::min<Index>(BLOCK, panels - first));
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
            if (static_cast<int>(lists[q].best.size()) <
                asked.k) {  // coordinates that are no numbers ruled examples out
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

template <class S, class Q>
void search(const Examples& examples, const Asked& asked) {
    const auto* atoms = static_cast<const S*>(examples.vectors);
    const auto* asking = static_cast<const Q*>(asked.queries);
    const Index n = examples.n, width = examples.width;
    if (examples.panels) {
        StoredPanels source(examples.panels, examples.halves, examples.slots, n, asked.depth);
        scan_all<S, Q>(atoms, asking, n, width, source, QUERIES_OVER_STORED, asked);
    } else if (!examples.centre || asked.batch <= 2 || n <= SCAN_ROWS) {
        for (Index i = 0; i < asked.batch; ++i) measure_all<S, Q>(atoms, asking, n, width, asked, i);
    } else {
        MadePanels<S> source(atoms, examples.centre, n, width, asked.scale);
        scan_all<S, Q>(atoms, asking, n, width, source, QUERIES_OVER_MADE, asked);
    }
}

}  // namespace

int scan_rows() { return SCAN_ROWS; }

void nearest(const Examples& examples, const Asked& asked) {
    by_storage(examples.storage, [&](auto stored) {
        using S = decltype(stored);
        if (asked.wide) search<S, double>(examples, asked);
        else search<S, float>(examples, asked);
    });
}

}  // namespace kcrc
