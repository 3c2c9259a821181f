// The local problem in matrices of panels, posed once: what the model's stage and tuning's judge both solve.
//
//   H = G, b = k, t = k(y,y)              rkhs form
//   H = G G, b = G k, t = ‖k‖²            gram form (Algorithm 1 with the identity for Ψ)
//   H_ij, b_j times s_i s_j, s_j          s_j = 1/√H_jj where columns are normalised
#pragma once
#include <algorithm>
#include <cmath>
#include <limits>

#include "panels.hpp"

namespace kcrc {

// t of the rkhs form: a kernel that is no inner product may say less than 0, which is no length.
inline double energy_of(double self) { return std::max(self, 0.0); }

// What a column is multiplied by to have unit length; 0 for one without length, which then takes no part.
template <class T>
T unit_scale(T squared_norm) {
    return squared_norm > std::numeric_limits<T>::min() ? T(1) / std::sqrt(squared_norm) : T(0);
}

// The gram form: H (lower half) and b, which comes in as k, from all of G; returns t. ``room`` holds G's panels of
// rows.
template <class T>
double gram_problem(const Panels<T>& G, int m, const Panels<T>& H, T* b, T* room) {
    product_with_itself<T>(G.data, m, G.columns, H);
    clear_padding<T>(H);
    double energy = 0;
    for (int j = 0; j < m; ++j) energy += double(b[j]) * double(b[j]);
    for (int p = 0; p < G.count(); ++p) {
        Vec<T> sum[3] = {};
        for (int j = 0; j < m; ++j)
            for (int v = 0; v < 3; ++v)
                sum[v] += load<T>(G.panel(p) + static_cast<std::size_t>(j) * MR<T> + v * lanes<T>) * splat<T>(b[j]);
        for (int v = 0; v < 3; ++v) store<T>(room + p * MR<T> + v * lanes<T>, sum[v]);
    }
    std::copy(room, room + m, b);
    return energy;
}

// Unit columns: H and b of m atoms scaled in place; ``scale`` has room for H's panels of rows.
template <class T>
void unit_columns(const Panels<T>& H, int m, T* b, T* scale) {
    bool unit = true;  // the rbf's diagonal is 1 already
    for (int j = 0; j < H.count() * MR<T>; ++j) {
        scale[j] = j < m ? unit_scale(H.at(j, j)) : T(0);
        unit = unit && (j >= m || scale[j] == T(1));
    }
    for (int j = 0; j < (unit ? 0 : m); ++j) {
        b[j] *= scale[j];
        const Vec<T> mine = splat<T>(scale[j]);
        for (int p = j / MR<T>; p < H.count(); ++p)
            for (int v = 0; v < 3; ++v) {
                T* at = H.panel(p) + static_cast<std::size_t>(j) * MR<T> + v * lanes<T>;
                store<T>(at, load<T>(at) * (mine * load<T>(scale + p * MR<T> + v * lanes<T>)));
            }
    }
}

// Whether a Cholesky factor whose smallest diagonal entry this is can be solved with: without a penalty a tiny pivot
// means dependent atoms, and the caller then takes the shortest solution.
template <class T>
bool trusted(T smallest, double mu) {
    const T least = mu > 0 ? T(0) : std::sqrt(std::numeric_limits<T>::epsilon());
    return smallest > least && std::isfinite(smallest);
}

}  // namespace kcrc
