// Exact nearest examples by scanning lower bounds in registers.
//
// Every example has scan coordinates a (float, scaled so that none is longer than 1) with ‖a − q‖ ≤ distance/scale up
// to rounding: all its centred coordinates, or its leading components and the length of the rest. One register tile
// computes s = a·q − ‖a‖²/2 for MR examples × NR queries, so ‖a − q‖² = ‖q‖² − 2s; nothing of it is written to
// memory but the few that beat the query's bar. Those that may still be among the k nearest in the end are measured
// by plain differences in double precision. Hence the answer does not depend on batch, block or rounding of the scan.
#pragma once
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "sources.hpp"

namespace kcrc {

constexpr int SCAN_ROWS = MR<float>;
constexpr int FIRST_BLOCK = 1024 / SCAN_ROWS;  // panels

struct Candidate {
    float score;
    std::int32_t slot;
};

// One register of doubles from stored values
template <class S>
KCRC_INLINE Vec<double> doubles_at(const S* from) {
    if constexpr (std::is_same_v<S, double>) return load<double>(from);
#if defined(__GNUC__) || defined(__clang__)
    if constexpr (std::is_same_v<S, float>) {
        static_assert(lanes<double> == 4);
        typedef float Halved __attribute__((vector_size(16)));
        Halved narrow;
        std::memcpy(&narrow, from, sizeof(narrow));
        return __builtin_convertvector(narrow, Vec<double>);
    }
#endif
    double wide[lanes<double>];
    for (int i = 0; i < lanes<double>; ++i) wide[i] = double(static_cast<typename Plain<S>::type>(from[i]));
    return load<double>(wide);
}

// ‖a − b‖² in double, order of summation fixed by the width; may stop early, above ``enough``
template <class S, class Q>
double squared_distance(const S* a, const Q* b, std::int64_t width, double enough) {
    constexpr int W = lanes<double>, SUMS = 4, STEP = SUMS * W;  // four sums: an addition takes four cycles
    Vec<double> sum[SUMS] = {};
    std::int64_t k = 0;
    const std::int64_t whole = width / STEP * STEP;
    while (k < whole) {
        const std::int64_t stop = std::min<std::int64_t>(whole, k + 256);
        for (; k < stop; k += STEP)
            for (int u = 0; u < SUMS; ++u) {
                const Vec<double> difference = doubles_at<S>(a + k + u * W) - doubles_at<Q>(b + k + u * W);
                sum[u] += difference * difference;
            }
        if (k < width) {
            const double partial = sum_of<double>((sum[0] + sum[1]) + (sum[2] + sum[3]));
            if (partial > enough) return partial;
        }
    }
    double total = sum_of<double>((sum[0] + sum[1]) + (sum[2] + sum[3]));
    for (; k < width; ++k) {
        const double difference = double(static_cast<typename Plain<S>::type>(a[k])) - double(b[k]);
        total += difference * difference;
    }
    return total;
}

// A distance that is no number counts as far.
KCRC_INLINE double or_far(double squared) {
    return std::isnan(squared) ? std::numeric_limits<double>::infinity() : squared;
}

using Neighbour = std::pair<double, std::int64_t>;  // distance², row

// The k nearest so far are a heap with the worst on top; false where ``found`` is not one of them.
inline bool keep_nearest(std::vector<Neighbour>& best, int k, const Neighbour& found) {
    if (static_cast<int>(best.size()) == k) {
        if (!(found < best.front())) return false;
        std::pop_heap(best.begin(), best.end());
        best.back() = found;
    } else {
        best.push_back(found);
    }
    std::push_heap(best.begin(), best.end());
    return true;
}

// What a scan reads: panels of scan coordinates, stored or made block by block.
struct ScanSource {
    virtual ~ScanSource() = default;
    // Panels first … first+count−1 and their examples' ‖a‖²/2 (+∞ for no example).
    virtual std::pair<const float*, const float*> panels(std::int64_t first, int count) = 0;
    virtual std::int64_t row_of(std::int64_t slot) const = 0;
};

// The k best so far of one query, and what must be beaten.
template <class S, class Q>
class Shortlist {
  public:
    void start(const Q* query, int k, double square, double rounding, double slack, double scale) {
        query_ = query;
        k_ = k;
        square_ = square;
        rounding_ = rounding;
        slack_ = slack;
        scale_ = scale;
        best.clear();
        waiting.clear();
        bar = -std::numeric_limits<float>::infinity();
    }

    // Measure the k most promising that wait, so that the bar rises; drop those below it.
    template <class Measure>
    void tighten(const Measure& measure) {
        const std::size_t promising = std::min<std::size_t>(k_, waiting.size());
        if (promising == 0) return;
        if (promising < waiting.size())
            std::nth_element(waiting.begin(), waiting.begin() + promising - 1, waiting.end(), better);
        for (std::size_t i = 0; i < promising; ++i) {
            if (i + 2 < promising) measure.fetch(waiting[i + 2].slot);
            try_one(waiting[i], measure);
        }
        std::size_t left = 0;
        for (std::size_t i = promising; i < waiting.size(); ++i)
            if (waiting[i].score > bar) waiting[left++] = waiting[i];
        waiting.resize(left);
    }

    template <class Measure>
    void finish(const Measure& measure) {
        tighten(measure);
        std::sort(waiting.begin(), waiting.end(), better);
        for (std::size_t i = 0; i < waiting.size() && waiting[i].score > bar; ++i) {
            if (i + 2 < waiting.size()) measure.fetch(waiting[i + 2].slot);
            try_one(waiting[i], measure);
        }
        std::sort_heap(best.begin(), best.end());
    }

    double limit() const {
        return static_cast<int>(best.size()) == k_ ? best.front().first : std::numeric_limits<double>::infinity();
    }

    std::vector<Neighbour> best;  // see keep_nearest
    std::vector<Candidate> waiting;
    float bar;

  private:
    const Q* query_;
    int k_;
    double square_, rounding_, slack_, scale_;

    static bool better(const Candidate& a, const Candidate& b) { return a.score > b.score; }

    template <class Measure>
    void try_one(const Candidate& candidate, const Measure& measure) {
        if (!(candidate.score > bar)) return;
        const auto found = measure(query_, candidate.slot, limit() * (1 + 1e-12));
        if (!keep_nearest(best, k_, found) || static_cast<int>(best.size()) < k_) return;
        // Whoever is at most √limit away has scan coordinates at most reach apart; see neighbours/scan.py.
        const double reach = std::sqrt(limit() * (1 + 1e-12)) / scale_ + slack_;
        const double lowest = 0.5 * (square_ - reach * reach) - rounding_;
        bar = std::nextafter(static_cast<float>(lowest), -std::numeric_limits<float>::infinity());
    }
};

// The scores of one panel for one query: four sums a vector, as an addition takes four cycles.
KCRC_INLINE void single_scores(const float* rows, const float* columns, int depth, Vec<float>* score) {
    constexpr int W = lanes<float>;
    Vec<float> s[4][3] = {};
    int k = 0;
    for (; k + 4 <= depth; k += 4, rows += 4 * SCAN_ROWS, columns += 4 * NR)
        for (int u = 0; u < 4; ++u) {
            const Vec<float> b = splat<float>(columns[u * NR]);
            for (int v = 0; v < 3; ++v) s[u][v] += load<float>(rows + u * SCAN_ROWS + v * W) * b;
        }
    for (; k < depth; ++k, rows += SCAN_ROWS, columns += NR)
        for (int v = 0; v < 3; ++v) s[0][v] += load<float>(rows + v * W) * splat<float>(columns[0]);
    for (int v = 0; v < 3; ++v) score[v] += (s[0][v] + s[1][v]) + (s[2][v] + s[3][v]);
}

template <class List>
KCRC_INLINE void collect(const Vec<float>* score, std::int32_t first_slot, List& list) {
    constexpr int W = lanes<float>;
    if (!any_above<float>(score[0], score[1], score[2], splat<float>(list.bar))) return;
    float values[SCAN_ROWS];
    for (int v = 0; v < 3; ++v) store<float>(values + v * W, score[v]);
    for (int r = 0; r < SCAN_ROWS; ++r)
        if (values[r] > list.bar) list.waiting.push_back({values[r], first_slot + r});
}

// One panel against NR queries, or one; ``columns`` holds NR values a step. Appends what beats the bars.
template <class List>
void scan_panel(const float* rows, const float* columns, int depth, const float* half, std::int32_t first_slot,
                int queries, List* lists) {
    constexpr int W = lanes<float>;
    Tile<float> tile;
    for (int q = 0; q < NR; ++q)
        for (int v = 0; v < 3; ++v) tile.sum[q][v] = Vec<float>{} - load<float>(half + v * W);
    if (queries == 1) {
        single_scores(rows, columns, depth, tile.sum[0]);
        collect(tile.sum[0], first_slot, lists[0]);
        return;
    }
    tile.accumulate<false, NR>(rows, columns, depth);
    for (int q = 0; q < NR; ++q) collect(tile.sum[q], first_slot, lists[q]);
}

}  // namespace kcrc
