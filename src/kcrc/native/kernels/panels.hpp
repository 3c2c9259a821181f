// Symmetric matrices in panels, and what the local stage does with them: products A Aᵀ, Cholesky, triangular solves.
//
// A panel holds MR rows, column after column: entry (r, k) of a panel lies at k·MR + r. Every step below is one
// register tile of MR × NR sums over k, fed by loads from a panel (rows) and broadcasts from a panel (columns),
// so the factor needs no repacking and the innermost loop is the same for products and for Cholesky.
// Only the lower half is computed; rows above the diagonal inside a diagonal panel hold finite left-overs.
#pragma once
#include <algorithm>
#include <cstddef>

#include "simd.hpp"

namespace kcrc {

template <class T>
constexpr int MR = 3 * lanes<T>;  // 3 × 4 vectors of sums + 3 of rows + 1 broadcast: the 16 registers of AVX2
constexpr int NR = 4;
static_assert(MR<float> % NR == 0 && MR<double> % NR == 0, "a tile lies in one panel");
constexpr int DEPTH = 96;  // columns a tile sums over before it moves on: two panels of that depth stay in L1

inline int rounded_up(int value, int step) { return (value + step - 1) / step * step; }

template <class T>
struct Panels {
    T* data;
    int size;     // rows and columns of the matrix
    int columns;  // columns a panel has room for, and rows of all panels: at least one beyond ``size``

    Panels(T* data_, int size_) : data(data_), size(size_), columns(rounded_up(size_ + 1, MR<T>)) {}
    static std::size_t room(int size) {
        const std::size_t side = rounded_up(size + 1, MR<T>);
        return side * side;
    }
    int count() const { return columns / MR<T>; }
    T* panel(int p) const { return data + static_cast<std::size_t>(p) * MR<T> * columns; }
    T& at(int i, int j) const { return panel(i / MR<T>)[static_cast<std::size_t>(j) * MR<T> + i % MR<T>]; }
};

template <class T>
struct Tile {
    Vec<T> sum[NR][3];

    KCRC_INLINE void clear() {
        for (int q = 0; q < NR; ++q)
            for (int v = 0; v < 3; ++v) sum[q][v] = Vec<T>{};
    }
    KCRC_INLINE void read(const T* at) {
        for (int q = 0; q < NR; ++q)
            for (int v = 0; v < 3; ++v) sum[q][v] = load<T>(at + q * MR<T> + v * lanes<T>);
    }
    KCRC_INLINE void write(T* at) const {
        for (int q = 0; q < NR; ++q)
            for (int v = 0; v < 3; ++v) store<T>(at + q * MR<T> + v * lanes<T>, sum[q][v]);
    }
    // sum ± rows · columnsᵀ over ``depth`` steps of STEP column values; SUBTRACT is what Cholesky needs
    template <bool SUBTRACT, int STEP = MR<T>>
    KCRC_INLINE void accumulate(const T* KCRC_RESTRICT rows, const T* KCRC_RESTRICT columns, int depth) {
        Vec<T> s00 = sum[0][0], s01 = sum[0][1], s02 = sum[0][2], s10 = sum[1][0], s11 = sum[1][1], s12 = sum[1][2];
        Vec<T> s20 = sum[2][0], s21 = sum[2][1], s22 = sum[2][2], s30 = sum[3][0], s31 = sum[3][1], s32 = sum[3][2];
        for (int k = 0; k < depth; ++k, rows += MR<T>, columns += STEP) {
            const Vec<T> a0 = load<T>(rows), a1 = load<T>(rows + lanes<T>), a2 = load<T>(rows + 2 * lanes<T>);
            // clang-format off: a column a line
            Vec<T> b = splat<T>(columns[0]);
            if (SUBTRACT) { s00 -= a0 * b; s01 -= a1 * b; s02 -= a2 * b; } else { s00 += a0 * b; s01 += a1 * b; s02 += a2 * b; }
            b = splat<T>(columns[1]);
            if (SUBTRACT) { s10 -= a0 * b; s11 -= a1 * b; s12 -= a2 * b; } else { s10 += a0 * b; s11 += a1 * b; s12 += a2 * b; }
            b = splat<T>(columns[2]);
            if (SUBTRACT) { s20 -= a0 * b; s21 -= a1 * b; s22 -= a2 * b; } else { s20 += a0 * b; s21 += a1 * b; s22 += a2 * b; }
            b = splat<T>(columns[3]);
            if (SUBTRACT) { s30 -= a0 * b; s31 -= a1 * b; s32 -= a2 * b; } else { s30 += a0 * b; s31 += a1 * b; s32 += a2 * b; }
        }
        sum[0][0] = s00; sum[0][1] = s01; sum[0][2] = s02; sum[1][0] = s10; sum[1][1] = s11; sum[1][2] = s12;
        sum[2][0] = s20; sum[2][1] = s21; sum[2][2] = s22; sum[3][0] = s30; sum[3][1] = s31; sum[3][2] = s32;
        // clang-format on
    }
};

// out = A Aᵀ, lower half, for A of ``out.size`` rows and ``depth`` columns in panels with room for ``room`` columns.
template <class T>
void product_with_itself(const T* packed, int depth, int room, const Panels<T>& out) {
    for (int start = 0; start < depth; start += DEPTH) {
        const int steps = std::min(DEPTH, depth - start);
        for (int p = 0; p < out.count(); ++p) {
            const T* rows = packed + (static_cast<std::size_t>(p) * room + start) * MR<T>;
            const int stop = std::min((p + 1) * MR<T>, rounded_up(out.size, NR));
            for (int j = 0; j < stop; j += NR) {
                const T* columns = packed + (static_cast<std::size_t>(j / MR<T>) * room + start) * MR<T> + j % MR<T>;
                T* at = out.panel(p) + static_cast<std::size_t>(j) * MR<T>;
                Tile<T> tile;
                if (start == 0) tile.clear();
                else tile.read(at);
                tile.template accumulate<false>(rows, columns, steps);
                tile.write(at);
            }
        }
    }
}

// The NR × NR lower block on the diagonal, in place at ``block`` (column stride MR), of which ``count`` columns belong
// to the matrix; false where a pivot is not above 0. Columns beyond get the inverse 0 and so become 0.
template <class T>
KCRC_INLINE bool factor_block(T* block, int count, T* inverse, T& smallest) {
    for (int q = 0; q < NR; ++q) {
        T* column = block + q * MR<T>;
        const T pivot = column[q];
        if (q >= count) {
            inverse[q] = T(0);
            continue;
        }
        if (!(pivot > T(0)) || !std::isfinite(pivot)) return false;
        const T root = std::sqrt(pivot);
        smallest = std::min(smallest, root);
        inverse[q] = T(1) / root;
        for (int p = q + 1; p < NR; ++p) column[p] *= inverse[q];
        for (int r = q + 1; r < NR; ++r)
            for (int p = r; p < NR; ++p) block[r * MR<T> + p] -= column[p] * column[r];
    }
    return true;
}

// tile ← tile · L⁻ᵀ for the NR × NR lower L at ``block``
template <class T>
KCRC_INLINE void solve_tile(Tile<T>& tile, const T* block, const T* inverse) {
    for (int q = 0; q < NR; ++q) {
        const Vec<T> scale = splat<T>(inverse[q]);
        for (int v = 0; v < 3; ++v) tile.sum[q][v] = tile.sum[q][v] * scale;
        for (int p = q + 1; p < NR; ++p) {
            const Vec<T> factor = splat<T>(block[q * MR<T> + p]);
            for (int v = 0; v < 3; ++v) tile.sum[p][v] -= tile.sum[q][v] * factor;
        }
    }
}

// A = L Lᵀ in place (lower half). ``inverse`` (columns) gets 1/L_jj. Returns the smallest L_jj, or −1 without a factor.
// Rows beyond ``size`` are not factorised, only solved: a right-hand side b kept in one comes out as (L⁻¹ b)ᵀ.
template <class T>
T cholesky(const Panels<T>& A, T* inverse) {
    const int columns = rounded_up(A.size, NR);
    T smallest = T(INFINITY);
    for (int start = 0; start < columns; start += DEPTH) {
        const int stop = std::min(start + DEPTH, columns);
        for (int p = start / MR<T>; p < A.count(); ++p) {
            T* rows = A.panel(p) + static_cast<std::size_t>(start) * MR<T>;
            const int end = std::min(columns, (p + 1) * MR<T>);
            for (int j = start; j < std::min(stop, end); j += NR) {
                const int first = j % MR<T>;
                T* own = A.panel(j / MR<T>);
                T* block = own + static_cast<std::size_t>(j) * MR<T> + first;
                T* at = A.panel(p) + static_cast<std::size_t>(j) * MR<T>;
                Tile<T> tile;
                tile.read(at);
                tile.template accumulate<true>(rows, own + static_cast<std::size_t>(start) * MR<T> + first, j - start);
                T diagonal[NR * MR<T>];
                const T* factor = block;
                if (j / MR<T> == p) {
                    tile.write(diagonal);
                    if (!factor_block<T>(diagonal + first, A.size - j, inverse + j, smallest)) return T(-1);
                    factor = diagonal + first;
                }
                solve_tile<T>(tile, factor, inverse + j);
                tile.write(at);
                if (j / MR<T> == p)
                    for (int q = 0; q < NR; ++q)
                        for (int r = 0; r < first + q; ++r) at[q * MR<T> + r] = T(0);
            }
            for (int j = stop; j < end; j += NR) {
                T* at = A.panel(p) + static_cast<std::size_t>(j) * MR<T>;
                Tile<T> tile;
                tile.read(at);
                tile.template accumulate<true>(
                    rows, A.panel(j / MR<T>) + static_cast<std::size_t>(start) * MR<T> + j % MR<T>, stop - start);
                tile.write(at);
            }
        }
    }
    return smallest;
}

// W sums a_k·x over the rows of a panel, k = 0 … W−1, as one vector
template <class T>
KCRC_INLINE Vec<T> dots_with_columns(const T* columns, const Vec<T>* x) {
    constexpr int W = lanes<T>;
    Vec<T> partial[W];
    for (int i = 0; i < W; ++i) {
        const T* column = columns + i * MR<T>;
        partial[i] = load<T>(column) * x[0] + load<T>(column + W) * x[1] + load<T>(column + 2 * W) * x[2];
    }
    transpose<T>(partial);
    for (int step = 1; step < W; step *= 2)
        for (int i = 0; i + step < W; i += 2 * step) partial[i] += partial[i + step];
    return partial[0];
}

// x ← L⁻ᵀ x; x (columns) is zero beyond ``size``.
template <class T>
void solve_transposed(const Panels<T>& L, const T* inverse, T* x) {
    constexpr int W = lanes<T>;
    for (int p = (L.size - 1) / MR<T>; p >= 0; --p) {
        const T* panel = L.panel(p);
        const int first = p * MR<T>;
        Vec<T> known[3] = {};  // the part of x that is solved, 0 where not yet
        for (int group = 2; group >= 0; --group) {
            const int k = first + group * W;
            const T* block = panel + static_cast<std::size_t>(k) * MR<T>;  // W columns
            T value[W];
            store<T>(value, load<T>(x + k) - dots_with_columns<T>(block, known));
            for (int i = W - 1; i >= 0; --i) {
                const T* column = block + i * MR<T> + group * W;
                T sum = value[i];
                for (int r = W - 1; r > i; --r) sum -= column[r] * value[r];
                value[i] = sum * inverse[k + i];
            }
            known[group] = load<T>(value);
            store<T>(x + k, known[group]);
        }
        for (int k = 0; k < first; k += W) {
            const T* block = panel + static_cast<std::size_t>(k) * MR<T>;
            store<T>(x + k, load<T>(x + k) - dots_with_columns<T>(block, known));
        }
    }
}

// Zeros in the columns beyond the matrix and in the rows a vector or more beyond it: whatever else is not of the lower
// half must only be finite, but what stays from query to query would grow.
template <class T>
void clear_padding(const Panels<T>& out) {
    constexpr int W = lanes<T>;
    const int last = out.count() - 1;
    for (int row = rounded_up(out.size, W); row < out.columns; row += W)
        for (int j = 0; j < out.size; ++j)
            store<T>(out.panel(last) + static_cast<std::size_t>(j) * MR<T> + (row - last * MR<T>), Vec<T>{});
    for (int p = out.size / MR<T>; p <= last; ++p)
        for (int j = out.size; j < out.columns; ++j)
            for (int v = 0; v < 3; ++v) store<T>(out.panel(p) + static_cast<std::size_t>(j) * MR<T> + v * W, Vec<T>{});
}

}  // namespace kcrc
