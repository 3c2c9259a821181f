// The entries of the search for the nearest examples.
#pragma once
#include "checks.hpp"

namespace kcrc {

// Checks what every search needs, makes room for the answers and searches without the interpreter.
inline py::tuple found(const Argument& vectors, const Argument& queries, int k, Examples examples, Asked asked) {
    examples.storage = vectors.storage();
    asked.wide = queries.is_wide();
    examples.vectors = vectors.memory({ANY, ANY});
    asked.queries = queries.memory({ANY, vectors.extent(1)});
    examples.n = vectors.extent(0);
    examples.width = vectors.extent(1);
    asked.batch = queries.extent(0);
    require(k >= 1 && k <= examples.n, "k", "lies between 1 and the number of examples");
    py::array_t<Index> rows({asked.batch, static_cast<Index>(k)});
    py::array_t<double> squared({asked.batch, static_cast<Index>(k)});
    asked.k = k;
    asked.rows = rows.mutable_data();
    asked.squared = squared.mutable_data();
    {
        py::gil_scoped_release release;
        nearest(examples, asked);
    }
    return py::make_tuple(rows, squared);
}

inline py::tuple nearest_measured(const py::object& vectors, const py::object& queries, int k) {
    return found({"vectors", vectors}, {"queries", queries}, k, Examples{}, Asked{});
}

inline py::tuple nearest_scanned(const py::object& vectors_, const py::object& queries_, int k,
                                 const py::object& coordinates_, const py::object& square, const py::object& rounding,
                                 const py::object& slack, double scale, const py::object& panels_,
                                 const py::object& halves, const py::object& slots, const py::object& centre_) {
    const Argument vectors("vectors", vectors_), queries("queries", queries_), coordinates("coordinates", coordinates_);
    const Argument panels("panels", panels_), centre("centre", centre_);
    Examples examples{};
    Asked asked{};
    vectors.memory({ANY, ANY});
    queries.memory({ANY, vectors.extent(1)});
    const Index n = vectors.extent(0), width = vectors.extent(1), batch = queries.extent(0);
    asked.coordinates = coordinates.values<float>({batch, ANY});
    const Index depth = coordinates.extent(1);
    asked.depth = static_cast<int>(depth);
    asked.square = Argument("square", square).values<double>({batch});
    asked.rounding = Argument("rounding", rounding).values<double>({batch});
    asked.slack = Argument("slack", slack).values<double>({batch});
    asked.scale = between("scale", scale, std::numeric_limits<double>::min(), std::numeric_limits<double>::max());
    if (panels) {
        const Index per_panel = scan_rows();
        examples.panels = panels.values<float>({ANY, depth, per_panel});
        const Index room = panels.extent(0) * per_panel;
        require(room >= n, "panels", "has a place for every example");
        examples.halves = Argument("halves", halves).values<float>({room});
        examples.slots = Argument("slots", slots).values<std::int32_t>({room});
    } else {
        require(depth == width, "coordinates", "are all of them where there are no panels");
        examples.centre = vectors.holds<double>() ? static_cast<const void*>(centre.values<double>({width}))
                                                  : centre.values<float>({width});
    }
    return found(vectors, queries, k, examples, asked);
}

inline void bind_search(py::module_& m) {
    using namespace py::literals;
    m.attr("scan_rows") = scan_rows();
    m.def("nearest", &nearest_scanned, py::kw_only(), "vectors"_a, "queries"_a, "k"_a, "coordinates"_a, "square"_a,
          "rounding"_a, "slack"_a, "scale"_a, "panels"_a = py::none(), "halves"_a = py::none(), "slots"_a = py::none(),
          "centre"_a = py::none(),
          "Rows (B, k) and squared Euclidean distances (B, k) of the nearest vectors, ascending, ties by row.");
    m.def("nearest_measured", &nearest_measured, py::kw_only(), "vectors"_a, "queries"_a, "k"_a,
          "The same with every pair measured and nothing scanned: for any finite values.");
}

}  // namespace kcrc
