// Small problems of several queries side by side: lane q of every vector belongs to query q.
//
// A lower half is stored row by row, entry (i, j ≤ i) at i(i+1)/2 + j, each entry one vector. No step mixes lanes,
// so a query's answer does not depend on who stands beside it.
#pragma once
#include <cstddef>

#include "simd.hpp"

namespace kcrc {

inline std::size_t triangle(int rows) { return static_cast<std::size_t>(rows) * (rows + 1) / 2; }

// R × C block of L at (i, j), left of it done: A_ij − Σ_k<j L_ik L_jk, then the solve with the C × C block at (j, j)
// (OWN: the block is that block, and is factorised instead).
template <class T, int R, int C, bool OWN>
KCRC_INLINE void side_by_side_block(T* KCRC_RESTRICT L, T* KCRC_RESTRICT inverse, T* smallest, int i, int j) {
    constexpr int W = lanes<T>;
    T* row[R];
    T* column[C];
    for (int r = 0; r < R; ++r) row[r] = L + triangle(i + r) * W;
    for (int c = 0; c < C; ++c) column[c] = L + triangle(j + c) * W;
    Vec<T> sum[R][C];
    for (int r = 0; r < R; ++r)
        for (int c = 0; c < C; ++c) sum[r][c] = (!OWN || c <= r) ? load<T>(row[r] + (j + c) * W) : Vec<T>{};
    for (int k = 0; k < j; ++k) {
        Vec<T> left[R];
        for (int r = 0; r < R; ++r) left[r] = load<T>(row[r] + k * W);
        for (int c = 0; c < C; ++c) {
            const Vec<T> up = load<T>(column[c] + k * W);
            for (int r = 0; r < R; ++r)
                if (!OWN || c <= r) sum[r][c] -= left[r] * up;
        }
    }
    for (int c = 0; c < C; ++c) {
        if (OWN) {
            // A pivot that is not above 0 becomes NaN and shows in ``smallest``.
            const Vec<T> root = square_root<T>(sum[c][c]);
            const Vec<T> least = load<T>(smallest);
            store<T>(smallest, where_above<T>(root, least, least, root));
            store<T>(inverse + (j + c) * W, splat<T>(T(1)) / root);
        }
        const Vec<T> scale = load<T>(inverse + (j + c) * W);
        for (int r = OWN ? c : 0; r < R; ++r) {
            sum[r][c] = sum[r][c] * scale;
            store<T>(row[r] + (j + c) * W, sum[r][c]);
        }
        for (int d = c + 1; d < C; ++d) {
            const Vec<T> factor = load<T>(column[d] + (j + c) * W);
            for (int r = OWN ? d : 0; r < R; ++r) sum[r][d] -= sum[r][c] * factor;
        }
    }
}

// A = L Lᵀ in place; ``inverse`` (size) 1/L_jj, ``smallest`` the smallest L_jj of each lane, NaN or ≤ 0 without a
// factor.
template <class T>
void side_by_side_cholesky(T* L, int size, T* inverse, T* smallest) {
    store<T>(smallest, splat<T>(T(INFINITY)));
    for (int i = 0; i < size; i += 3) {
        const int rows = size - i < 3 ? size - i : 3;
        for (int j = 0; j < i; j += 3) {
            if (rows == 3) side_by_side_block<T, 3, 3, false>(L, inverse, smallest, i, j);
            else if (rows == 2) side_by_side_block<T, 2, 3, false>(L, inverse, smallest, i, j);
            else side_by_side_block<T, 1, 3, false>(L, inverse, smallest, i, j);
        }
        if (rows == 3) side_by_side_block<T, 3, 3, true>(L, inverse, smallest, i, i);
        else if (rows == 2) side_by_side_block<T, 2, 2, true>(L, inverse, smallest, i, i);
        else side_by_side_block<T, 1, 1, true>(L, inverse, smallest, i, i);
    }
}

// x ← L⁻ᵀ L⁻¹ x
template <class T>
void side_by_side_solve(const T* L, int size, const T* inverse, T* x) {
    constexpr int W = lanes<T>;
    for (int i = 0; i < size; ++i) {
        const T* row = L + triangle(i) * W;
        Vec<T> a = load<T>(x + i * W), b{}, c{}, d{};  // four sums: an addition takes four cycles
        int k = 0;
        for (; k + 4 <= i; k += 4) {
            a -= load<T>(row + k * W) * load<T>(x + k * W);
            b -= load<T>(row + (k + 1) * W) * load<T>(x + (k + 1) * W);
            c -= load<T>(row + (k + 2) * W) * load<T>(x + (k + 2) * W);
            d -= load<T>(row + (k + 3) * W) * load<T>(x + (k + 3) * W);
        }
        for (; k < i; ++k) a -= load<T>(row + k * W) * load<T>(x + k * W);
        store<T>(x + i * W, ((a + b) + (c + d)) * load<T>(inverse + i * W));
    }
    for (int i = size - 1; i >= 0; --i) {
        const T* row = L + triangle(i) * W;
        const Vec<T> known = load<T>(x + i * W) * load<T>(inverse + i * W);
        store<T>(x + i * W, known);
        for (int k = 0; k < i; ++k) store<T>(x + k * W, load<T>(x + k * W) - load<T>(row + k * W) * known);
    }
}

// own_i = Σ over l of the same class H_il x_l
template <class T>
void side_by_side_own_class(const T* H, int size, const T* x, const T* classes, T* own) {
    constexpr int W = lanes<T>;
    for (int i = 0; i < size; ++i) {
        const T* row = H + triangle(i) * W;
        const Vec<T> label = load<T>(classes + i * W), mine = load<T>(x + i * W);
        Vec<T> sum = load<T>(row + i * W) * mine;
        for (int k = 0; k < i; ++k) {
            const Vec<T> entry = where_equal<T>(label, load<T>(classes + k * W), load<T>(row + k * W));
            sum += entry * load<T>(x + k * W);
            store<T>(own + k * W, load<T>(own + k * W) + entry * mine);
        }
        store<T>(own + i * W, sum);
    }
}

}  // namespace kcrc
