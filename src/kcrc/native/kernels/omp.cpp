// Batch orthogonal matching pursuit over a shared Gram matrix (Rubinstein, Zibulevsky and Elad 2008).
//
// For atoms d_1..d_K with Gram G and a signal y with correlations b = D'y, each step picks the atom that is most
// correlated with the residual and projects y on all atoms picked so far. With q_j the orthonormal directions of
// the picked atoms, this file keeps only their products with all atoms, v_j = D'q_j:
//     row i of the Cholesky factor of the picked Gram is (v_1[i], ..., v_{t-1}[i]), which is read, not solved for;
//     v_t = (G[i] - sum_j L_tj v_j) / L_tt and the correlations of the residual lose c_t v_t, c_t = a[i] / L_tt.
// One triangular solve at the end gives the coefficients.
//
// The atom update of K-SVD, which learns the atoms from such codes, follows below.
#include <cmath>
#include <cstdint>
#include <vector>

#include "dot.hpp"
#include "kernels.hpp"

namespace kcrc {
namespace {

// out -= sum_j weights[j] * rows[j], four rows a sweep so that out is loaded and stored a quarter as often.
template <class T>
void subtract_rows(T* KCRC_RESTRICT out, const T* KCRC_RESTRICT rows, const T* weights, Index n_rows, Index size) {
    Index j = 0;
    for (; j + 4 <= n_rows; j += 4) {
        const T *r0 = rows + j * size, *r1 = r0 + size, *r2 = r1 + size, *r3 = r2 + size;
        const T w0 = weights[j], w1 = weights[j + 1], w2 = weights[j + 2], w3 = weights[j + 3];
        for (Index k = 0; k < size; ++k) out[k] -= w0 * r0[k] + w1 * r1[k] + w2 * r2[k] + w3 * r3[k];
    }
    for (; j < n_rows; ++j) {
        const T* r = rows + j * size;
        const T w = weights[j];
        for (Index k = 0; k < size; ++k) out[k] -= w * r[k];
    }
}

template <class T>
struct Workspace {
    std::vector<T> residual, directions, lower, weights;
    std::vector<char> picked;
    Workspace(Index n_atoms, Index sparsity)
        : residual(n_atoms), directions(n_atoms * sparsity), lower(sparsity * sparsity), weights(sparsity),
          picked(n_atoms) {}
};

template <class T>
void pursue(const T* gram, const T* correlation, Index n_atoms, Index sparsity, T tolerance, Workspace<T>& w,
            Index* atoms, T* values) {
    T* a = w.residual.data();
    T largest = 0;
    for (Index k = 0; k < n_atoms; ++k) {
        a[k] = correlation[k];
        largest = std::fabs(a[k]) > largest ? std::fabs(a[k]) : largest;
        w.picked[k] = 0;
    }
    const T floor = tolerance * largest;
    Index t = 0;
    while (t < sparsity) {
        Index best = -1;
        T strength = floor;
        for (Index k = 0; k < n_atoms; ++k) {
            const T here = std::fabs(a[k]);
            if (here > strength && !w.picked[k]) {
                strength = here;
                best = k;
            }
        }
        if (best < 0) break;  // the residual is zero, or at right angles to every atom
        T* L = w.lower.data() + t * sparsity;
        T pivot = gram[best * n_atoms + best];
        const T whole = pivot;
        for (Index j = 0; j < t; ++j) {
            L[j] = w.directions[j * n_atoms + best];
            pivot -= L[j] * L[j];
        }
        if (!(pivot > tolerance * whole)) break;  // the atom depends on those picked: nothing left to gain
        L[t] = std::sqrt(pivot);
        w.weights[t] = a[best] / L[t];
        w.picked[best] = 1;
        atoms[t] = best;
        if (t + 1 < sparsity) {  // the last step needs no further correlations
            T* KCRC_RESTRICT v = w.directions.data() + t * n_atoms;
            const T* KCRC_RESTRICT row = gram + best * n_atoms;
            for (Index k = 0; k < n_atoms; ++k) v[k] = row[k];
            subtract_rows(v, w.directions.data(), L, t, n_atoms);
            const T scale = T(1) / L[t], c = w.weights[t];
            T* KCRC_RESTRICT residual = a;
            for (Index k = 0; k < n_atoms; ++k) {
                v[k] *= scale;
                residual[k] -= c * v[k];
            }
        }
        ++t;
    }
    for (Index i = t - 1; i >= 0; --i) {  // L'x = c
        T x = w.weights[i];
        for (Index j = i + 1; j < t; ++j) x -= w.lower[j * sparsity + i] * values[j];
        values[i] = x / w.lower[i * sparsity + i];
    }
    for (Index i = t; i < sparsity; ++i) {
        atoms[i] = -1;
        values[i] = 0;
    }
}

}  // namespace

template <class T>
void batch_omp(const T* gram, const T* correlations, Index n_atoms, Index n, Index sparsity, T tolerance, Index* atoms,
               T* values) {
    Workspace<T> workspace(n_atoms, sparsity);
    for (Index i = 0; i < n; ++i)
        pursue(gram, correlations + i * n_atoms, n_atoms, sparsity, tolerance, workspace, atoms + i * sparsity,
               values + i * sparsity);
}

// With E the residual of the atom's users without it: d = E'g / |E'g|, then g = E d. An atom without users stays.
template <class T>
void update_atoms(T* D, T* R, T* x, const Index* place, const Index* end, Index n_atoms, Index size, Index width,
                  T zero) {
    std::vector<T> fresh(size);
    for (Index k = 0; k < n_atoms; ++k) {
        if (end[k] == end[k + 1]) continue;
        T* KCRC_RESTRICT d = D + k * size;
        T* KCRC_RESTRICT e = fresh.data();
        T energy = 0;
        for (Index j = 0; j < size; ++j) e[j] = 0;
        for (Index s = end[k]; s < end[k + 1]; ++s) {
            const T g = x[place[s]];
            const T* KCRC_RESTRICT r = R + place[s] / width * size;
            energy += g * g;
            for (Index j = 0; j < size; ++j) e[j] += g * r[j];
        }
        for (Index j = 0; j < size; ++j) e[j] += energy * d[j];
        const T length = std::sqrt(dot<T>(e, e, size));
        const bool moved = length > zero * std::sqrt(energy);
        for (Index j = 0; j < size; ++j) e[j] = moved ? e[j] / length : d[j];
        const T kept = dot<T>(d, e, size);
        for (Index s = end[k]; s < end[k + 1]; ++s) {
            T& g = x[place[s]];
            T* KCRC_RESTRICT r = R + place[s] / width * size;
            const T g_new = dot<T>(r, e, size) + g * kept;
            const T g_old = g;
            for (Index j = 0; j < size; ++j) r[j] += g_old * d[j] - g_new * e[j];
            g = g_new;
        }
        for (Index j = 0; j < size; ++j) d[j] = e[j];
    }
}

template void batch_omp(const float*, const float*, Index, Index, Index, float, Index*, float*);
template void batch_omp(const double*, const double*, Index, Index, Index, double, Index*, double*);
template void update_atoms(float*, float*, float*, const Index*, const Index*, Index, Index, Index, float);
template void update_atoms(double*, double*, double*, const Index*, const Index*, Index, Index, Index, double);

}  // namespace kcrc
