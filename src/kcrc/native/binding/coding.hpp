// The entries of sparse coding: the lasso, and the two steps of learning a dictionary.
#pragma once
#include "checks.hpp"

namespace kcrc {

inline py::tuple pursued(const py::object& gram_, const py::object& correlations_, Index sparsity, double tolerance) {
    const Argument gram("gram", gram_), correlations("correlations", correlations_);
    gram.memory({ANY, ANY});
    const Index n_atoms = gram.extent(0);
    correlations.memory({ANY, n_atoms});
    const Index n = correlations.extent(0);
    require(sparsity >= 1 && sparsity <= n_atoms, "sparsity", "lies between 1 and the number of atoms");
    return by_precision(gram, [&](auto zero) -> py::tuple {
        using T = decltype(zero);
        const T *G = gram.values<T>({n_atoms, n_atoms}), *b = correlations.values<T>({n, n_atoms});
        py::array_t<Index> atoms({n, sparsity});
        py::array_t<T> values({n, sparsity});
        Index* to_atoms = atoms.mutable_data();
        T* to_values = values.mutable_data();
        {
            py::gil_scoped_release release;
            batch_omp<T>(G, b, n_atoms, n, sparsity, static_cast<T>(tolerance), to_atoms, to_values);
        }
        return py::make_tuple(atoms, values);
    });
}

inline void updated(const py::object& atoms_, const py::object& residual_, const py::object& values_,
                    const py::object& slots_, const py::object& ends_, double zero) {
    const Argument atoms("atoms", atoms_), residual("residual", residual_), values("values", values_);
    const Argument slots("slots", slots_), ends("ends", ends_);
    for (const Argument* one : {&atoms, &residual, &values}) one->memory({ANY, ANY});
    const Index n_atoms = atoms.extent(0), size = atoms.extent(1), n = residual.extent(0), width = values.extent(1);
    const auto* place = slots.values<Index>({ANY});
    const auto* end = ends.values<Index>({n_atoms + 1});
    check_rising("ends", end, n_atoms, slots.extent(0));
    check_within("slots", place, slots.extent(0), 0, n * width);
    check_apart({&atoms, &residual, &values}, {&slots, &ends});
    by_precision(atoms, [&](auto kind) {
        using T = decltype(kind);
        T *D = atoms.results<T>({n_atoms, size}), *R = residual.results<T>({n, size}),
          *x = values.results<T>({n, width});
        py::gil_scoped_release release;
        update_atoms<T>(D, R, x, place, end, n_atoms, size, width, static_cast<T>(zero));
    });
}

inline py::tuple coded(const py::object& gram_, const py::object& real_, const py::object& which_, const py::object& b_,
                       const py::object& energy_, const py::object& lam_, const py::object& x_, double tol,
                       int max_iter) {
    const Argument gram("gram", gram_), real("real", real_), which("which", which_), b("b", b_),
        energy("energy", energy_);
    const Argument lam("lam", lam_), x("x", x_);
    gram.memory({ANY, ANY, ANY});
    b.memory({ANY, gram.extent(1)});
    const Index D = gram.extent(0), K = gram.extent(1), B = b.extent(0);
    const auto* reals = real.values<unsigned char>({D, K});
    const auto* grams = which.values<Index>({B});
    const double *energies = energy.values<double>({B}), *lams = lam.values<double>({B});
    double* xs = x.results<double>({B, K});
    check_within("which", grams, B, 0, D);
    check_finite("lam", lams, B);
    require(B == 0 || *std::min_element(lams, lams + B) >= 0, "lam", "is 0 or more");
    check_apart({&x}, {&gram, &real, &which, &b, &energy, &lam});
    py::array_t<double> facts({B, Index(5)});
    py::array_t<Index> rounds(B);
    double* to_facts = facts.mutable_data();
    Index* to_rounds = rounds.mutable_data();
    by_precision(gram, [&](auto zero) {
        using T = decltype(zero);
        const Targets<T> targets{gram.values<T>({D, K, K}), b.values<T>({B, K}), reals, grams, energies, lams, B, K};
        if (B == 0) return;
        py::gil_scoped_release release;
        lasso<T>(targets, tol, max_iter, xs, to_facts, to_rounds);
    });
    return py::make_tuple(facts, rounds);
}

inline void bind_coding(py::module_& m) {
    using namespace py::literals;
    m.def("batch_omp", &pursued, "gram"_a, "correlations"_a, "sparsity"_a, "tolerance"_a,
          "Orthogonal matching pursuit of N signals: (atoms (N, T), -1 where unused; values (N, T)).");
    m.def("update_atoms", &updated, "atoms"_a, "residual"_a, "values"_a, "slots"_a, "ends"_a, "zero"_a,
          "One K-SVD pass over the atoms, in place.");
    m.def("lasso", &coded, "gram"_a, "real"_a, "which"_a, "b"_a, "energy"_a, "lam"_a, "x"_a, "tol"_a, "max_iter"_a,
          "min ½‖y − Dx‖² + λ‖x‖₁ for every row of b; x holds the start and is overwritten by the solution.\n"
          "Returns (objective, gap, ‖y − Dx‖², yᵀ(y − Dx), max|Dᵀ(y − Dx)|) (B, 5) and the rounds (B,).");
}

}  // namespace kcrc
