// Exact nearest examples by scanning lower bounds in registers.
//
// Every example has scan coordinates a (float, scaled so that none is longer than 1) with ‖a − q‖ ≤ distance/scale up
// to rounding: all its centred coordinates, or its leading components and the length of the rest. One register tile
// computes s = a·q − ‖a‖²/2 for MR examples × NR queries, so ‖a − q‖² = ‖q‖² − 2s; nothing of it is written to
// memory but the few that beat the query's bar. Those that may still be among the k nearest in the end are measured
// by plain differences in double precision. Hence the answer does not depend on batch, block or rounding of the scan.
#pragma once
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "sources.hpp"

namespace kcrc {

constexpr int SCAN_ROWS = MR<float>;

// Examples that may be among a query's nearest: upper bounds of their scores, and their slots.
class Waiting {
  public:
    std::size_t size() const { return size_; }
    void clear() { size_ = 0; }
    const float* scores() const { return scores_.data(); }
    // Room for ``count`` behind those there are; ``grow`` says how many of them were filled.
    std::pair<float*, std::int32_t*> room(std::size_t count) {
        if (size_ + count > scores_.size()) {
            scores_.resize(2 * (size_ + count));
            slots_.resize(2 * (size_ + count));
        }
        return {scores_.data() + size_, slots_.data() + size_};
    }
    void grow(std::size_t count) { size_ += count; }
    // use(score, slot) of all scores that are not below ``least``, in their order: few, so most vectors hold none.
    template <class Use>
    void each_from(float least, const Use& use) const {
        constexpr int W = lanes<float>;
        const float below = std::nextafter(least, -std::numeric_limits<float>::infinity());
        std::size_t i = 0;
        for (; i + W <= size_; i += W) {
            const Vec<float> some = load<float>(scores_.data() + i);
            for (unsigned above = lanes_above<1>(&some, splat<float>(below)); above; above &= above - 1) {
                const std::size_t at = i + lowest_bit(above);
                use(scores_[at], slots_[at]);
            }
        }
        for (; i < size_; ++i)
            if (scores_[i] >= least) use(scores_[i], slots_[i]);
    }
    // Those of ``others`` from ``least`` to below ``end``; it may be itself.
    void take(const Waiting& others, float least, float end) {
        std::size_t left = 0;
        if (this != &others) {
            clear();
            room(others.size_);
        }
        others.each_from(least, [&](float score, std::int32_t slot) {
            scores_[left] = score;
            slots_[left] = slot;
            left += score < end;
        });
        size_ = left;
    }

  private:
    std::vector<float> scores_;
    std::vector<std::int32_t> slots_;
    std::size_t size_ = 0;
};

// What one thread needs to choose among those that wait.
struct Choosing {
    std::vector<float> scores;
    std::vector<std::int32_t> slots;

    // At least ``k`` scores are not below it, and few more. Of many, the k-th largest among the maxima of 4k groups:
    // whatever lies above it fills about a seventh more places.
    float kth(const Waiting& waiting, std::size_t k) {
        const float* all = waiting.scores();
        const std::size_t count = waiting.size(), groups = std::min(count, 4 * k);
        scores.assign(all, all + groups);
        float* most = scores.data();
        for (std::size_t i = groups; i < count; i += groups)
            for (std::size_t j = 0; j < std::min(groups, count - i); ++j) most[j] = std::max(most[j], all[i + j]);
        std::nth_element(scores.begin(), scores.begin() + (k - 1), scores.end(), std::greater<float>());
        return scores[k - 1];
    }
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
        limit_ = std::numeric_limits<double>::infinity();
        best.clear();
        waiting.clear();
        bar = -std::numeric_limits<float>::infinity();
    }

    // Measure the k most promising that wait, so that the bar rises; drop those below it.
    template <class Measure>
    void tighten(const Measure& measure, Choosing& choosing) {
        measure_best(k_, measure, choosing);
    }

    // Measure all that wait and may be among the nearest: always more at once, as less is to be learned from each.
    template <class Measure>
    void settle(const Measure& measure, Choosing& choosing) {
        for (std::size_t count = k_; waiting.size(); count *= 2) measure_best(count, measure, choosing);
    }

    std::vector<Neighbour> best;  // in no order
    Waiting waiting;
    float bar;

  private:
    const Q* query_;
    int k_;
    double square_, rounding_, slack_, scale_;
    double limit_;  // the distance² of the k-th best

    template <class Measure>
    void measure_best(std::size_t wanted, const Measure& measure, Choosing& choosing) {
        if (waiting.size() == 0) return;
        constexpr float lowest = -std::numeric_limits<float>::infinity();
        const float promising = waiting.size() > wanted ? choosing.kth(waiting, wanted) : lowest;
        choosing.slots.clear();
        waiting.each_from(promising, [&](float, std::int32_t slot) { choosing.slots.push_back(slot); });
        const std::size_t count = choosing.slots.size();
        for (std::size_t i = 0; i < count; ++i) {
            if (i + 2 < count) measure.fetch(choosing.slots[i + 2]);
            const Neighbour found = measure(query_, choosing.slots[i], limit_ * (1 + 1e-12));
            if (found.first <= limit_) best.push_back(found);
        }
        raise();
        waiting.take(waiting, bar, promising);
    }

    // Keep the k best, and set the bar for others.
    void raise() {
        if (static_cast<int>(best.size()) < k_) return;
        std::nth_element(best.begin(), best.begin() + (k_ - 1), best.end());
        best.resize(k_);
        limit_ = best.back().first;
        // An example that is at most √limit away has scan coordinates at most reach apart; see neighbours/scan.py.
        const double reach = std::sqrt(limit_ * (1 + 1e-12)) / scale_ + slack_;
        const double lowest = 0.5 * (square_ - reach * reach) - rounding_;
        bar = std::nextafter(static_cast<float>(lowest), -std::numeric_limits<float>::infinity());
    }
};

// Appends the slots before ``end`` whose scores beat the bar.
template <int COUNT, class List>
KCRC_INLINE void collect(const Vec<float>* score, std::int64_t first_slot, std::int64_t end, List& list) {
    constexpr int W = lanes<float>, ROWS = COUNT * W;
    constexpr unsigned ALL = (1u << ROWS) - 1;
    unsigned above = lanes_above<COUNT>(score, splat<float>(list.bar));
    if (above == 0) return;
    if (end - first_slot < ROWS) above &= (1u << (end - first_slot)) - 1;
    const auto [scores, slots] = list.waiting.room(ROWS);
    const auto first = static_cast<std::int32_t>(first_slot);
    if (above == ALL) {  // before there is a bar
        for (int v = 0; v < COUNT; ++v) store<float>(scores + v * W, score[v]);
        for (int r = 0; r < ROWS; ++r) slots[r] = first + r;
        list.waiting.grow(ROWS);
        return;
    }
    float values[ROWS];
    for (int v = 0; v < COUNT; ++v) store<float>(values + v * W, score[v]);
    int found = 0;
    for (; above; above &= above - 1, ++found) {
        const int r = lowest_bit(above);
        scores[found] = values[r];
        slots[found] = first + r;
    }
    list.waiting.grow(found);
}

}  // namespace kcrc
