// A model that is looked at once, and the entry that answers one query by it.
#pragma once
#include "../kernels/single.hpp"
#include "search.hpp"
#include "stage.hpp"

namespace kcrc {

// Keeps the arrays it was made of. What was checked stays so as long as it lives: these arrays do not change, except
// that examples come into slots behind those there are.
struct PreparedSingle {
    SingleModel model{};
    bool wide = false;  // queries are double
    std::vector<py::object> kept;
};

inline PreparedSingle prepared_single(const py::object& vectors_, int k, bool wide_queries, const py::object& labels_,
                                      const py::object& ids_, int n_classes, bool root, bool by_distance,
                                      const py::object& kernel_, const py::object& squares_, int kind, double gamma,
                                      double coef0, int degree, double mu, bool gram_form, bool normalize, bool ratio,
                                      bool wide, const py::object& codes_, const py::object& facts_,
                                      const py::object& slots_, const py::object& centre_, const py::object& basis_,
                                      double scale, double reach, double rounding, double slack, double farthest) {
    const Argument vectors("vectors", vectors_), labels("labels", labels_), ids("ids", ids_), kernel("kernel", kernel_);
    const Argument squares("squares", squares_), codes("codes", codes_);
    PreparedSingle made;
    made.wide = wide_queries;
    made.kept = {vectors_, labels_, ids_, kernel_, squares_, codes_, facts_, slots_, centre_, basis_};
    SingleModel& model = made.model;
    Examples& examples = model.examples;
    Chunk& chunk = model.chunk;
    examples.vectors = vectors.memory({ANY, ANY});
    examples.storage = vectors.storage();
    const Index n = examples.n = vectors.extent(0), width = examples.width = vectors.extent(1);
    between<Index>("k", k, 1, std::min(n, MOST_NEIGHBOURS));
    between("n_classes", n_classes, 1, static_cast<int>(LONGEST));
    require(wide || !wide_queries, "wide", "is the precision of the queries or more");
    chunk.labels = labels.values<std::int32_t>({n});
    check_within("labels", chunk.labels, n, 0, n_classes);
    model.ids = ids.values<Index>({n});
    model.root = root;
    model.by_distance = by_distance;
    chunk.batch = 1;
    chunk.K = k;
    chunk.n = n;
    chunk.width = width;
    chunk.wide = wide;
    chunk.vectors = examples.vectors;
    chunk.vector_storage = examples.storage;
    chunk.shape = kernel_shape(kind, gamma, coef0, degree, wide);
    chunk.settings = {mu, gram_form, normalize, ratio, n_classes};
    require(!by_distance || chunk.shape.kind == Kind::rbf, "by_distance", "is for the rbf kernel only");
    if (kernel) {
        chunk.kernel_storage = kernel.is_wide() ? Storage::wide : Storage::single;
        chunk.kernel = kernel.memory({n, n});
    } else {
        chunk.squares = wide ? static_cast<const void*>(squares.values<double>({n})) : squares.values<float>({n});
    }
    if (codes) {
        const Argument basis("basis", basis_);
        Index depth = width;
        if (basis) {
            model.basis = basis.values<double>({width, ANY});
            depth = basis.extent(1) + 1;
        }
        take_codes(examples, codes, facts_, slots_, depth);
        model.depth = static_cast<int>(depth);
        model.centre = Argument("centre", centre_).values<double>({width});
        model.scale = between("scale", scale, std::numeric_limits<double>::min(), std::numeric_limits<double>::max());
        model.reach = reach;
        model.rounding = rounding;
        model.slack = slack;
        model.farthest = farthest;
    }
    return made;
}

// The arrays of the evidence in the order it names them, or None: see kernels/single.hpp.
inline py::object answered_single(const PreparedSingle& prepared, const py::object& query_, double self) {
    const SingleModel& model = prepared.model;
    const Argument query("query", query_);
    const Shape shape{1, model.examples.width};
    const void* const asked =
        prepared.wide ? static_cast<const void*>(query.values<double>(shape)) : query.values<float>(shape);
    const Index K = model.chunk.K, C = model.chunk.settings.n_classes;
    py::array_t<Index> winner(1), rows({Index(1), K}), labels({Index(1), K}), rounds(1);
    py::array_t<double> residuals({Index(1), C}), energy(1), distances({Index(1), K}), coefficients({Index(1), K}),
        contributions({Index(1), K});
    py::array_t<std::int8_t> how(1);
    py::array_t<bool> converged(1);
    const SingleAnswer out{rows.mutable_data(),
                           distances.mutable_data(),
                           labels.mutable_data(),
                           {coefficients.mutable_data(), contributions.mutable_data(), residuals.mutable_data(),
                            energy.mutable_data(), winner.mutable_data(), how.mutable_data()}};
    bool said;
    {
        py::gil_scoped_release release;
        said = answer_single(model, asked, prepared.wide, self, out);
    }
    if (!said) return py::none();
    *converged.mutable_data() = true;
    *rounds.mutable_data() = *how.data() != UNANIMOUS;
    return py::make_tuple(winner, residuals, energy, rows, distances, labels, coefficients, contributions, how,
                          converged, rounds);
}

inline void bind_single(py::module_& m) {
    using namespace py::literals;
    // Both builds may be loaded in one process, each with a class of its own.
    py::class_<PreparedSingle>(m, "PreparedSingle", py::module_local(), "A model, ready for answer_single.")
        .def(py::init(&prepared_single), py::kw_only(), "vectors"_a, "k"_a, "wide_queries"_a, "labels"_a, "ids"_a,
             "n_classes"_a, "root"_a, "by_distance"_a, "kernel"_a = py::none(), "squares"_a = py::none(), "kind"_a = 0,
             "gamma"_a = 1.0, "coef0"_a = 0.0, "degree"_a = 1, "mu"_a, "gram_form"_a = false, "normalize"_a = true,
             "ratio"_a = true, "wide"_a = false, "codes"_a = py::none(), "facts"_a = py::none(), "slots"_a = py::none(),
             "centre"_a = py::none(), "basis"_a = py::none(), "scale"_a = 1.0, "reach"_a = 0.0, "rounding"_a = 0.0,
             "slack"_a = 0.0, "farthest"_a = 0.0);
    m.def("answer_single", &answered_single, "prepared"_a, "query"_a, "self"_a,
          "The answer to a query (1, d), whose k with itself is self: winner, residuals, energy, rows, distances,\n"
          "neighbour_labels, coefficients, contributions, how, converged, n_iter; None where it is to be had by the\n"
          "readable stages alone.");
}

}  // namespace kcrc
