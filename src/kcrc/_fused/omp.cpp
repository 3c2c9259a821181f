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

#include "checks.hpp"
#include "module.hpp"

#if defined(_MSC_VER)
#define KCRC_RESTRICT __restrict
#else
#define KCRC_RESTRICT __restrict__
#endif

namespace {

using kcrc::ANY;
using kcrc::Argument;

// out -= sum_j weights[j] * rows[j], four rows a sweep so that out is loaded and stored a quarter as often.
template <typename T>
void subtract_rows(T* KCRC_RESTRICT out, const T* KCRC_RESTRICT rows, const T* weights, std::int64_t n_rows,
                   std::int64_t size) {
    std::int64_t j = 0;
    for (; j + 4 <= n_rows; j += 4) {
        const T *r0 = rows + j * size, *r1 = r0 + size, *r2 = r1 + size, *r3 = r2 + size;
        const T w0 = weights[j], w1 = weights[j + 1], w2 = weights[j + 2], w3 = weights[j + 3];
        for (std::int64_t k = 0; k < size; ++k) out[k] -= w0 * r0[k] + w1 * r1[k] + w2 * r2[k] + w3 * r3[k];
    }
    for (; j < n_rows; ++j) {
        const T* r = rows + j * size;
        const T w = weights[j];
        for (std::int64_t k = 0; k < size; ++k) out[k] -= w * r[k];
    }
}

template <typename T>
struct Workspace {
    std::vector<T> residual, directions, lower, weights;
    std::vector<char> picked;
    Workspace(std::int64_t n_atoms, std::int64_t sparsity)
        : residual(n_atoms), directions(n_atoms * sparsity), lower(sparsity * sparsity), weights(sparsity),
          picked(n_atoms) {}
};

template <typename T>
void pursue(const T* gram, const T* correlation, std::int64_t n_atoms, std::int64_t sparsity, T tolerance,
            Workspace<T>& w, std::int64_t* atoms, T* values) {
    T* a = w.residual.data();
    T largest = 0;
    for (std::int64_t k = 0; k < n_atoms; ++k) {
        a[k] = correlation[k];
        largest = std::fabs(a[k]) > largest ? std::fabs(a[k]) : largest;
        w.picked[k] = 0;
    }
    const T floor = tolerance * largest;
    std::int64_t t = 0;
    while (t < sparsity) {
        std::int64_t best = -1;
        T strength = floor;
        for (std::int64_t k = 0; k < n_atoms; ++k) {
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
        for (std::int64_t j = 0; j < t; ++j) {
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
            for (std::int64_t k = 0; k < n_atoms; ++k) v[k] = row[k];
            subtract_rows(v, w.directions.data(), L, t, n_atoms);
            const T scale = T(1) / L[t], c = w.weights[t];
            T* KCRC_RESTRICT residual = a;
            for (std::int64_t k = 0; k < n_atoms; ++k) {
                v[k] *= scale;
                residual[k] -= c * v[k];
            }
        }
        ++t;
    }
    for (std::int64_t i = t - 1; i >= 0; --i) {  // L'x = c
        T x = w.weights[i];
        for (std::int64_t j = i + 1; j < t; ++j) x -= w.lower[j * sparsity + i] * values[j];
        values[i] = x / w.lower[i * sparsity + i];
    }
    for (std::int64_t i = t; i < sparsity; ++i) {
        atoms[i] = -1;
        values[i] = 0;
    }
}

py::tuple batch_omp(const py::object& gram_, const py::object& correlations_, std::int64_t sparsity, double tolerance) {
    const Argument gram("gram", gram_), correlations("correlations", correlations_);
    gram.memory({ANY, ANY});
    const std::int64_t n_atoms = gram.extent(0);
    correlations.memory({ANY, n_atoms});
    const std::int64_t n = correlations.extent(0);
    kcrc::require(sparsity >= 1 && sparsity <= n_atoms, "sparsity", "lies between 1 and the number of atoms");
    return kcrc::by_precision(gram, [&](auto zero) -> py::tuple {
        using T = decltype(zero);
        const T *G = gram.values<T>({n_atoms, n_atoms}), *b = correlations.values<T>({n, n_atoms});
        py::array_t<std::int64_t> atoms({n, sparsity});
        py::array_t<T> values({n, sparsity});
        std::int64_t* out_atoms = atoms.mutable_data();
        T* out_values = values.mutable_data();
        {
            py::gil_scoped_release release;
            Workspace<T> workspace(n_atoms, sparsity);
            for (std::int64_t i = 0; i < n; ++i)
                pursue(G, b + i * n_atoms, n_atoms, sparsity, static_cast<T>(tolerance), workspace,
                       out_atoms + i * sparsity, out_values + i * sparsity);
        }
        return py::make_tuple(atoms, values);
    });
}

// A dot product in eight parts, which the compiler may keep in vector registers without reordering any sum itself.
template <typename T>
T dot(const T* KCRC_RESTRICT a, const T* KCRC_RESTRICT b, std::int64_t size) {
    T part[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    std::int64_t k = 0;
    for (; k + 8 <= size; k += 8)
        for (int lane = 0; lane < 8; ++lane) part[lane] += a[k + lane] * b[k + lane];
    T sum = ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]));
    for (; k < size; ++k) sum += a[k] * b[k];
    return sum;
}

// One pass over the atoms of K-SVD. slots[ends[k] .. ends[k+1]] are the places in values (N x width, flat) that hold
// atom k's coefficients. With E the residual of the atom's users without it: d = E'g / |E'g|, then g = E d.
// atoms, residual and values change in place; an atom without users stays.
template <typename T>
void update_atoms(T* D, T* R, T* x, const std::int64_t* place, const std::int64_t* end, std::int64_t n_atoms,
                  std::int64_t size, std::int64_t width, T zero) {
    std::vector<T> fresh(size);
    for (std::int64_t k = 0; k < n_atoms; ++k) {
        if (end[k] == end[k + 1]) continue;
        T* KCRC_RESTRICT d = D + k * size;
        T* KCRC_RESTRICT e = fresh.data();
        T energy = 0;
        for (std::int64_t j = 0; j < size; ++j) e[j] = 0;
        for (std::int64_t s = end[k]; s < end[k + 1]; ++s) {
            const T g = x[place[s]];
            const T* KCRC_RESTRICT r = R + place[s] / width * size;
            energy += g * g;
            for (std::int64_t j = 0; j < size; ++j) e[j] += g * r[j];
        }
        for (std::int64_t j = 0; j < size; ++j) e[j] += energy * d[j];
        const T length = std::sqrt(dot<T>(e, e, size));
        const bool moved = length > zero * std::sqrt(energy);
        for (std::int64_t j = 0; j < size; ++j) e[j] = moved ? e[j] / length : d[j];
        const T kept = dot<T>(d, e, size);
        for (std::int64_t s = end[k]; s < end[k + 1]; ++s) {
            T& g = x[place[s]];
            T* KCRC_RESTRICT r = R + place[s] / width * size;
            const T g_new = dot<T>(r, e, size) + g * kept;
            const T g_old = g;
            for (std::int64_t j = 0; j < size; ++j) r[j] += g_old * d[j] - g_new * e[j];
            g = g_new;
        }
        for (std::int64_t j = 0; j < size; ++j) d[j] = e[j];
    }
}

void update_given_atoms(const py::object& atoms_, const py::object& residual_, const py::object& values_,
                        const py::object& slots_, const py::object& ends_, double zero) {
    const Argument atoms("atoms", atoms_), residual("residual", residual_), values("values", values_);
    const Argument slots("slots", slots_), ends("ends", ends_);
    for (const Argument* one : {&atoms, &residual, &values}) one->memory({ANY, ANY});
    const std::int64_t n_atoms = atoms.extent(0), size = atoms.extent(1), n = residual.extent(0), width = values.extent(1);
    const auto* place = slots.values<std::int64_t>({ANY});
    const auto* end = ends.values<std::int64_t>({n_atoms + 1});
    kcrc::check_rising("ends", end, n_atoms, slots.extent(0));
    kcrc::check_within("slots", place, slots.extent(0), 0, n * width);
    kcrc::check_apart({&atoms, &residual, &values}, {&slots, &ends});
    kcrc::by_precision(atoms, [&](auto kind) {
        using T = decltype(kind);
        T *D = atoms.results<T>({n_atoms, size}), *R = residual.results<T>({n, size}), *x = values.results<T>({n, width});
        py::gil_scoped_release release;
        update_atoms<T>(D, R, x, place, end, n_atoms, size, width, static_cast<T>(zero));
    });
}

}  // namespace

void bind_omp(py::module_& m) {
    using namespace py::literals;
    m.def("batch_omp", &batch_omp, "gram"_a, "correlations"_a, "sparsity"_a, "tolerance"_a,
          "Orthogonal matching pursuit of N signals: (atoms (N, T), -1 where unused; values (N, T)).");
    m.def("update_atoms", &update_given_atoms, "atoms"_a, "residual"_a, "values"_a, "slots"_a, "ends"_a, "zero"_a,
          "One K-SVD pass over the atoms, in place.");
}
