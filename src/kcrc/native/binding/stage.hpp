// The entries of the local stage, and of the kernel matrices it is fed with.
#pragma once
#include "checks.hpp"

namespace kcrc {

// ``wide``: the kernel is computed in double precision.
inline KernelShape kernel_shape(int kind, double gamma, double coef0, int degree, bool wide) {
    between("kind", kind, 0, 2);
    between("degree", degree, 1, HIGHEST_DEGREE);
    require(std::isfinite(gamma) && std::isfinite(coef0), "gamma and coef0", "are finite");
    if (wide) return {static_cast<Kind>(kind), gamma, coef0, degree};
    return {static_cast<Kind>(kind), narrowed<float>(gamma), narrowed<float>(coef0), degree};
}

// Neighbours are rows of ``labels``, which are classes; a negative row is no neighbour.
inline void check_neighbours(const Chunk& chunk) {
    const Index n = chunk.n, classes = chunk.settings.n_classes;
    bool in_range = true;
    for (Index i = 0; i < chunk.batch * chunk.K; ++i) {
        const Index row = chunk.rows[i];
        in_range = in_range && row < n && (row < 0 || (chunk.labels[row] >= 0 && chunk.labels[row] < classes));
    }
    require(in_range, "rows", "point outside labels, or labels outside the classes");
}

inline py::array solved(const py::object& rows_, const py::object& labels_, int n_classes, const py::object& kernel_,
                        const py::object& vectors_, const py::object& squares_, int kind, double gamma, double coef0,
                        int degree, const py::object& cross_, const py::object& squared_, const py::object& queries_,
                        const py::object& self_, double mu, bool gram_form, bool normalize, bool ratio, bool wide,
                        const py::object& coefficients_, const py::object& contributions_, const py::object& residuals_,
                        const py::object& energy_, const py::object& winner_) {
    const Argument rows("rows", rows_), labels("labels", labels_), kernel("kernel", kernel_),
        vectors("vectors", vectors_);
    const Argument squares("squares", squares_), cross("cross", cross_), squared("squared", squared_);
    const Argument queries("queries", queries_), self("self", self_);
    const Argument coefficients("coefficients", coefficients_), contributions("contributions", contributions_);
    const Argument residuals("residuals", residuals_), energy("energy", energy_), winner("winner", winner_);
    const auto working = [wide](const Argument& one, Shape shape) -> const void* {
        return wide ? static_cast<const void*>(one.values<double>(shape)) : one.values<float>(shape);
    };
    Chunk chunk{};
    chunk.wide = wide;
    chunk.rows = rows.values<Index>({ANY, ANY});
    chunk.labels = labels.values<std::int32_t>({ANY});
    const Index B = chunk.batch = rows.extent(0), K = chunk.K = rows.extent(1), n = chunk.n = labels.extent(0);
    between<Index>("the width of rows", K, 1, MOST_NEIGHBOURS);
    between("n_classes", n_classes, 1, static_cast<int>(LONGEST));
    chunk.self = self.values<double>({B});
    chunk.shape = kernel_shape(kind, gamma, coef0, degree, wide);
    chunk.settings = {mu, gram_form, normalize, ratio, n_classes};
    if (kernel) {
        chunk.kernel_storage = kernel.is_wide() ? Storage::wide : Storage::single;
        chunk.kernel = kernel.memory({n, n});
    }
    if (!kernel || !(cross || squared)) {
        chunk.vector_storage = vectors.storage();
        chunk.vectors = vectors.memory({n, ANY});
        chunk.width = vectors.extent(1);
    }
    if (!kernel) chunk.squares = working(squares, {n});
    if (cross) {
        chunk.cross = working(cross, {B, K});
    } else if (squared) {
        require(chunk.shape.kind == Kind::rbf, "squared", "distances serve the rbf kernel only");
        chunk.squared = squared.values<double>({B, K});
    } else {
        chunk.queries = working(queries, {B, chunk.width});
    }
    const Index C = n_classes;
    py::array_t<std::int8_t> flags(B);
    const Answers answers{coefficients.results<double>({B, K}), contributions.results<double>({B, K}),
                          residuals.results<double>({B, C}),    energy.results<double>({B}),
                          winner.results<Index>({B}),           flags.mutable_data()};
    check_apart({&coefficients, &contributions, &residuals, &energy, &winner},
                {&rows, &labels, &kernel, &vectors, &squares, &cross, &squared, &queries, &self});
    {
        py::gil_scoped_release release;
        check_neighbours(chunk);
        local_stage(chunk, answers);
    }
    return flags;
}

inline void filled(const py::object& vectors_, const py::object& squares_, int kind, double gamma, double coef0,
                   int degree, Index start, Index stop, const py::object& out_) {
    const Argument vectors("vectors", vectors_), squares("squares", squares_), out("out", out_);
    const Storage storage = vectors.storage();
    const void* const atoms = vectors.memory({ANY, ANY});
    const Index n = vectors.extent(0), width = vectors.extent(1);
    between<Index>("start", start, 0, n - 1);
    between<Index>("stop", stop, start + 1, n);
    const bool wide = out.is_wide();
    const KernelShape shape = kernel_shape(kind, gamma, coef0, degree, wide);
    void* const target = wide ? static_cast<void*>(out.results<double>({n, n})) : out.results<float>({n, n});
    const void* const square =
        wide ? static_cast<const void*>(squares.values<double>({n})) : squares.values<float>({n});
    check_apart({&out}, {&vectors, &squares});
    py::gil_scoped_release release;
    kernel_rows(atoms, storage, square, wide, n, width, shape, start, stop, target);
}

inline void bind_stage(py::module_& m) {
    using namespace py::literals;
    m.def("local_stage", &solved, py::kw_only(), "rows"_a, "labels"_a, "n_classes"_a, "kernel"_a = py::none(),
          "vectors"_a = py::none(), "squares"_a = py::none(), "kind"_a = 0, "gamma"_a = 1.0, "coef0"_a = 0.0,
          "degree"_a = 1, "cross"_a = py::none(), "squared"_a = py::none(), "queries"_a = py::none(), "self"_a, "mu"_a,
          "gram_form"_a = false, "normalize"_a = true, "ratio"_a = true, "wide"_a = false, "coefficients"_a,
          "contributions"_a, "residuals"_a, "energy"_a, "winner"_a,
          "Fills in coefficients, contributions (B, K), residuals (B, C), energy and winner (B,) of the queries it\n"
          "solves and returns flags (B,): 0 coded, 1 unanimous, 2 nothing resembles it, 3 not solved.\n"
          "The kernel among neighbours comes from `kernel` (n, n) or from `vectors` and `squares`; the query's from\n"
          "`cross` (B, K), `squared` distances (B, K, rbf) or `queries` (B, d).");
    m.def("kernel_rows", &filled, py::kw_only(), "vectors"_a, "squares"_a, "kind"_a, "gamma"_a = 1.0, "coef0"_a = 0.0,
          "degree"_a = 1, "start"_a, "stop"_a, "out"_a,
          "Kernel of the vectors start … stop−1 with all before them and each other, into both halves of out (n, n):\n"
          "bit for bit what the local stage computes for the same pair.");
}

}  // namespace kcrc
