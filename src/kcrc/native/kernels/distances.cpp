// Distances that are a sum or a maximum over coordinates, for all pairs, for chosen pairs, and among chosen rows.
//
// A panel of pairs is worked through one chunk of coordinates at a time, copied to aligned rows that stay in cache;
// inside, a micro-kernel holds MR × NR pairs in registers. A pair's value is summed in the same order wherever it
// stands, so it does not depend on the batch it came in. Every measure here is symmetric and gives 0 for two zeros,
// so that short rows are filled up with zeros and either set may stand on the side the kernel holds more of.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "kernels.hpp"
#include "rows.hpp"
#include "simd.hpp"

namespace kcrc {
namespace {

using std::ptrdiff_t;

constexpr ptrdiff_t kChunk = 512;                 // coordinates
constexpr ptrdiff_t kPanelA = 120, kPanelB = 64;  // rows: kPanelB of them, one chunk wide, stay in cache
constexpr int MR = 5, NR = 2;                     // the most pairs whose sums, rows and constants fit 16 registers

// A measure adds a register of each row to a sum (`add`), or several at a time (`registers`), and joins the sum's lanes
// to a total (`join`).
template <class T>
struct Sum {
    static constexpr int registers = 1;
    static KCRC_INLINE double join(double total, Vec<T> part) {
        double sum = 0;
        for (int i = 0; i < lanes<T>; ++i) sum += part[i];
        return total + sum;
    }
};

template <class T>
struct Manhattan : Sum<T> {
    static KCRC_INLINE Vec<T> add(Vec<T> sum, const Vec<T>* a, const Vec<T>* b, Fused<T> fused) {
        return fused.sum(absolute<T>(*a - *b), sum);
    }
};

template <class T>
struct SquaredEuclidean : Sum<T> {
    static KCRC_INLINE Vec<T> add(Vec<T> sum, const Vec<T>* a, const Vec<T>* b, Fused<T>) {
        const Vec<T> difference = *a - *b;
        return sum + difference * difference;
    }
};

template <class T>
struct CommonMass : Sum<T> {
    static KCRC_INLINE Vec<T> add(Vec<T> sum, const Vec<T>* a, const Vec<T>* b, Fused<T> fused) {
        return fused.sum(smaller<T>(*b, *a), sum);
    }
};

template <class T>
struct Chessboard {
    static constexpr int registers = 1;
    static KCRC_INLINE Vec<T> add(Vec<T> most, const Vec<T>* a, const Vec<T>* b, Fused<T> fused) {
        return larger<T>(absolute<T>(fused.difference(*a, *b)), most);
    }
    static KCRC_INLINE double join(double total, Vec<T> part) {
        for (int i = 0; i < lanes<T>; ++i) total = std::max(total, double(part[i]));
        return total;
    }
};

// 0/0 counts 0: where a + b is 0 so is the numerator, and the denominator is lifted off 0.
template <class T>
struct ChiSquare : Sum<T> {
    static KCRC_INLINE Vec<T> add(Vec<T> sum, const Vec<T>* a, const Vec<T>* b, Fused<T>) {
        const Vec<T> difference = *a - *b;
        return sum + difference * difference / larger<T>(*a + *b, splat<T>(std::numeric_limits<T>::min()));
    }
};

// The same with one division for two terms, n/d + n2/d2 = (n d2 + n2 d) / (d d2): division is what χ² waits for.
// Terms below 1e-150 count 0, and values past 1e100 overflow: such pairs are measured again, term by term.
struct ChiSquarePaired : Sum<double> {
    static constexpr int registers = 2;
    static KCRC_INLINE Vec<double> add(Vec<double> sum, const Vec<double>* a, const Vec<double>* b, Fused<double>) {
        const Vec<double> least = splat<double>(1e-150);
        const Vec<double> difference = a[0] - b[0], difference2 = a[1] - b[1];
        const Vec<double> total = larger<double>(a[0] + b[0], least), total2 = larger<double>(a[1] + b[1], least);
        return sum + (difference2 * difference2 * total + difference * difference * total2) / (total * total2);
    }
};

template <class Measure>
struct Careful {
    using type = void;
};
template <>
struct Careful<ChiSquarePaired> {
    using type = ChiSquare<double>;
};

// Rows a[0..M), b[0..N) of `width` coordinates, joined to totals (M × N, rows `stride` apart).
// `Whole`: the width is a whole number of registers.
template <class T, class Measure, int M, int N, bool Whole>
void micro(const T* const* a, const T* const* b, ptrdiff_t width, double* totals, ptrdiff_t stride) {
    constexpr int R = Measure::registers;
    constexpr ptrdiff_t unit = R * lanes<T>;
    const Fused<T> fused;
    Vec<T> part[M][N];
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) part[i][j] = Vec<T>{};
    const T *pa[M], *pb[N];
    for (int i = 0; i < M; ++i) pa[i] = a[i];
    for (int j = 0; j < N; ++j) pb[j] = b[j];
    [[maybe_unused]] T rest[M + N][unit] = {};
    for (ptrdiff_t p = 0; p < width; p += unit) {
        ptrdiff_t at = p;
        if constexpr (!Whole) {
            if (p + unit > width) {  // the rest, filled up with zeros
                for (int i = 0; i < M; ++i) std::copy(pa[i] + p, pa[i] + width, rest[i]), pa[i] = rest[i];
                for (int j = 0; j < N; ++j) std::copy(pb[j] + p, pb[j] + width, rest[M + j]), pb[j] = rest[M + j];
                at = 0;
            }
        }
        Vec<T> va[R], vb[N][R];
        for (int j = 0; j < N; ++j)
            for (int r = 0; r < R; ++r) vb[j][r] = load<T>(pb[j] + at + r * lanes<T>);
        for (int i = 0; i < M; ++i) {
            for (int r = 0; r < R; ++r) va[r] = load<T>(pa[i] + at + r * lanes<T>);
            for (int j = 0; j < N; ++j) part[i][j] = Measure::add(part[i][j], va, vb[j], fused);
        }
    }
    for (int i = 0; i < M; ++i)
        for (int j = 0; j < N; ++j) totals[i * stride + j] = Measure::join(totals[i * stride + j], part[i][j]);
}

// A pair whose sum overflowed, measured again the careful way where the measure has one.
template <class T, class Measure>
double settled(double total, const T* a, const T* b, ptrdiff_t width) {
    using Again = typename Careful<Measure>::type;
    if constexpr (!std::is_void_v<Again>) {
        if (!std::isfinite(total)) {
            total = 0;
            micro<T, Again, 1, 1, false>(&a, &b, width, &total, 1);
        }
    }
    return total;
}

// Copies one chunk of some rows to aligned memory, each row filled up with zeros to a whole number of registers.
template <class T>
class Packed {
  public:
    explicit Packed(ptrdiff_t n_rows) : room_(n_rows * kChunk + 16), first_(room_.data()), at(n_rows) {
        while (reinterpret_cast<std::uintptr_t>(first_) % 64 != 0) ++first_;
    }
    void fill(const T* const* rows, ptrdiff_t n, ptrdiff_t from, ptrdiff_t width) {
        constexpr ptrdiff_t unit = 2 * lanes<T>;
        whole = (width + unit - 1) / unit * unit;
        T* to = first_;
        for (ptrdiff_t i = 0; i < n; ++i, to += whole) {
            std::fill(std::copy(rows[i] + from, rows[i] + from + width, to), to + whole, T(0));
            at[i] = to;
        }
    }

  private:
    std::vector<T> room_;
    T* first_;

  public:
    std::vector<const T*> at;
    ptrdiff_t whole = 0;
};

// Made once a call: memory new to the process costs more than the distances of a small set.
template <class T>
struct Workspace {
    Packed<T> block{MR}, panel{kPanelB};
    std::vector<double> totals = std::vector<double>(kPanelA * kPanelB);
};

// All pairs of two sets of rows, or (`upper`) only those with i ≤ j -> emit(i, j, totals, n): n of row i from j on.
template <class T, class Measure, class Emit>
void all_pairs(const std::vector<const T*>& a, const std::vector<const T*>& b, ptrdiff_t width, bool upper,
               Workspace<T>& workspace, Emit emit) {
    const ptrdiff_t n_a = a.size(), n_b = b.size();
    auto& [block, panel, totals] = workspace;
    for (ptrdiff_t j0 = 0; j0 < n_b; j0 += kPanelB) {
        const ptrdiff_t nb = std::min(kPanelB, n_b - j0);
        for (ptrdiff_t i0 = 0; i0 < (upper ? std::min(n_a, j0 + nb) : n_a); i0 += kPanelA) {
            const ptrdiff_t na = std::min(kPanelA, n_a - i0);
            std::fill_n(totals.begin(), (na + MR - 1) / MR * MR * kPanelB, 0.0);
            for (ptrdiff_t from = 0; from < width; from += kChunk) {
                const ptrdiff_t here = std::min(kChunk, width - from);
                if (i0 == 0 || width > kChunk) panel.fill(b.data() + j0, nb, from, here);
                for (ptrdiff_t i = 0; i < na; i += MR) {
                    const T* rows[MR];  // past the last row it stands in again, for nothing
                    for (int r = 0; r < MR; ++r) rows[r] = a[i0 + std::min(i + r, na - 1)];
                    block.fill(rows, MR, from, here);
                    for (ptrdiff_t r = i + MR; r < std::min(i + 2 * MR, na); ++r)  // while this block is measured
                        fetch(a[i0 + r] + from, here * sizeof(T));
                    for (ptrdiff_t j = 0; j < nb; j += NR) {
                        double* to = totals.data() + i * kPanelB + j;
                        if (upper && j0 + j + NR <= i0 + i) continue;
                        if (j + NR <= nb)
                            micro<T, Measure, MR, NR, true>(block.at.data(), &panel.at[j], block.whole, to, kPanelB);
                        else micro<T, Measure, MR, 1, true>(block.at.data(), &panel.at[j], block.whole, to, kPanelB);
                    }
                }
            }
            for (ptrdiff_t i = i0; i < i0 + na; ++i) {
                const ptrdiff_t first = upper ? std::max(i, j0) : j0;
                if (first >= j0 + nb) break;
                double* row = totals.data() + (i - i0) * kPanelB - j0;
                if constexpr (!std::is_void_v<typename Careful<Measure>::type>)
                    for (ptrdiff_t j = first; j < j0 + nb; ++j) row[j] = settled<T, Measure>(row[j], a[i], b[j], width);
                emit(i, first, row + first, j0 + nb - first);
            }
        }
    }
}

template <class T, class Measure>
void pairwise(Rows<T> a, Rows<T> b, T* out) {
    const ptrdiff_t n = b.count;
    Workspace<T> workspace;
    const auto as_is = [=](ptrdiff_t i, ptrdiff_t j, const double* row, ptrdiff_t count) {
        for (ptrdiff_t k = 0; k < count; ++k) out[i * n + j + k] = T(row[k]);
    };
    const auto turned = [=](ptrdiff_t i, ptrdiff_t j, const double* row, ptrdiff_t count) {
        for (ptrdiff_t k = 0; k < count; ++k) out[(j + k) * n + i] = T(row[k]);
    };
    if (a.count < MR) all_pairs<T, Measure>(each(b), each(a), a.width, false, workspace, turned);
    else all_pairs<T, Measure>(each(a), each(b), a.width, false, workspace, as_is);
}

// Every row is used once, so it is read where it is.
template <class T, class Measure>
void selected(Rows<T> a, Rows<T> b, const Index* rows, ptrdiff_t per_query, T* out) {
    for (ptrdiff_t q = 0; q < a.count; ++q, rows += per_query, out += per_query)
        for (ptrdiff_t k = 0; k < per_query; k += MR) {
            double totals[MR] = {};
            const T* query = a.first + q * a.width;
            for (ptrdiff_t from = 0; from < a.width; from += kChunk) {
                const T *near[MR], *here = query + from;
                for (int r = 0; r < MR; ++r) near[r] = b.first + rows[std::min(k + r, per_query - 1)] * b.width + from;
                micro<T, Measure, MR, 1, false>(near, &here, std::min(kChunk, a.width - from), totals, 1);
            }
            for (ptrdiff_t r = k; r < std::min(k + MR, per_query); ++r)
                out[r] = T(settled<T, Measure>(totals[r - k], query, b.first + rows[r] * b.width, a.width));
        }
}

template <class T, class Measure>
void within(Rows<T> b, const Index* rows, ptrdiff_t n_sets, ptrdiff_t size, T* out) {
    Workspace<T> workspace;
    std::vector<const T*> near(size);
    for (ptrdiff_t q = 0; q < n_sets; ++q, rows += size, out += size * size) {
        for (ptrdiff_t r = 0; r < size; ++r) near[r] = b.first + rows[r] * b.width;
        const auto twice = [=](ptrdiff_t i, ptrdiff_t j, const double* row, ptrdiff_t count) {
            for (ptrdiff_t k = 0; k < count; ++k) out[i * size + j + k] = out[(j + k) * size + i] = T(row[k]);
        };
        all_pairs<T, Measure>(near, near, b.width, true, workspace, twice);
    }
}

// Calls work(measure) with the measure of that name.
template <class T, class Work>
void by_measure(Measure measure, Work&& work) {
    switch (measure) {
        case Measure::manhattan: return work(Manhattan<T>());
        case Measure::chessboard: return work(Chessboard<T>());
        case Measure::sqeuclidean: return work(SquaredEuclidean<T>());
        case Measure::chi2: return work(std::conditional_t<std::is_same_v<T, double>, ChiSquarePaired, ChiSquare<T>>());
        case Measure::common_mass: return work(CommonMass<T>());
    }
}

}  // namespace

template <class T>
void distances_pairwise(Measure measure, Rows<T> a, Rows<T> b, T* out) {
    by_measure<T>(measure, [&](auto chosen) { pairwise<T, decltype(chosen)>(a, b, out); });
}
template <class T>
void distances_selected(Measure measure, Rows<T> a, Rows<T> b, const Index* rows, Index per_query, T* out) {
    by_measure<T>(measure, [&](auto chosen) { selected<T, decltype(chosen)>(a, b, rows, per_query, out); });
}
template <class T>
void distances_within(Measure measure, Rows<T> b, const Index* rows, Index n_sets, Index size, T* out) {
    by_measure<T>(measure, [&](auto chosen) { within<T, decltype(chosen)>(b, rows, n_sets, size, out); });
}

template void distances_pairwise(Measure, Rows<float>, Rows<float>, float*);
template void distances_pairwise(Measure, Rows<double>, Rows<double>, double*);
template void distances_selected(Measure, Rows<float>, Rows<float>, const Index*, Index, float*);
template void distances_selected(Measure, Rows<double>, Rows<double>, const Index*, Index, double*);
template void distances_within(Measure, Rows<float>, const Index*, Index, Index, float*);
template void distances_within(Measure, Rows<double>, const Index*, Index, Index, double*);

}  // namespace kcrc
