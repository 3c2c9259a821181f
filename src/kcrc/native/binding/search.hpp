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

inline void check_depth(Index depth) {
    require(depth >= 1 && depth <= MOST_CODED, "coordinates", "has between 1 and 65536 columns to be coded");
}

// Codes of ``depth`` coordinates for all examples, in some order of slots.
inline void take_codes(Examples& examples, const Argument& codes, const py::object& facts, const py::object& slots,
                       Index depth) {
    check_depth(depth);
    examples.codes = codes.values<std::uint8_t>({ANY, code_steps(depth), CODE_ROWS, CODE_STEP});
    const Index panels = codes.extent(0), places = panels * CODE_ROWS;
    require(places >= examples.n, "codes", "has a place for every example");
    examples.facts = Argument("facts", facts).values<float>({panels, FACTS, CODE_ROWS});
    examples.slots = Argument("slots", slots).values<std::int32_t>({places});
}

inline void encode_rows_(const py::object& coordinates_, Index first, const py::object& codes_,
                         const py::object& facts_) {
    const Argument coordinates("coordinates", coordinates_), codes("codes", codes_), facts("facts", facts_);
    const float* values = coordinates.values<float>({ANY, ANY});
    const Index count = coordinates.extent(0), depth = coordinates.extent(1);
    check_depth(depth);
    auto* coded = codes.results<std::uint8_t>({ANY, code_steps(depth), CODE_ROWS, CODE_STEP});
    const Index panels = codes.extent(0);
    auto* known = facts.results<float>({panels, FACTS, CODE_ROWS});
    between<Index>("first", first, 0, panels * CODE_ROWS - count);
    check_apart({&codes, &facts}, {&coordinates});
    py::gil_scoped_release release;
    encode_rows(values, count, static_cast<int>(depth), first, coded, known);
}

inline py::tuple nearest_scanned(const py::object& vectors_, const py::object& queries_, int k,
                                 const py::object& coordinates_, const py::object& square, const py::object& rounding,
                                 const py::object& slack, double scale, const py::object& codes_,
                                 const py::object& facts, const py::object& slots, const py::object& centre_) {
    const Argument vectors("vectors", vectors_), queries("queries", queries_), coordinates("coordinates", coordinates_);
    const Argument codes("codes", codes_), centre("centre", centre_);
    Examples examples{};
    Asked asked{};
    vectors.memory({ANY, ANY});
    queries.memory({ANY, vectors.extent(1)});
    const Index width = vectors.extent(1), batch = queries.extent(0);
    examples.n = vectors.extent(0);
    asked.coordinates = coordinates.values<float>({batch, ANY});
    const Index depth = coordinates.extent(1);
    asked.depth = static_cast<int>(depth);
    asked.square = Argument("square", square).values<double>({batch});
    asked.rounding = Argument("rounding", rounding).values<double>({batch});
    asked.slack = Argument("slack", slack).values<double>({batch});
    asked.scale = between("scale", scale, std::numeric_limits<double>::min(), std::numeric_limits<double>::max());
    if (codes) {
        take_codes(examples, codes, facts, slots, depth);
    } else {
        require(depth == width, "coordinates", "are all of them where there are no codes");
        examples.centre = vectors.holds<double>() ? static_cast<const void*>(centre.values<double>({width}))
                                                  : centre.values<float>({width});
    }
    return found(vectors, queries, k, examples, asked);
}

inline void bind_search(py::module_& m) {
    using namespace py::literals;
    m.attr("code_rows") = CODE_ROWS;
    m.attr("code_step") = CODE_STEP;
    m.attr("code_facts") = static_cast<int>(FACTS);
    m.attr("most_coded") = MOST_CODED;
    m.def(
        "encode_rows", &encode_rows_, py::kw_only(), "coordinates"_a, "first"_a, "codes"_a, "facts"_a,
        "Scan coordinates (m, depth) into the slots from ``first`` on, eight bits each, with what bounds their error.");
    m.def("nearest", &nearest_scanned, py::kw_only(), "vectors"_a, "queries"_a, "k"_a, "coordinates"_a, "square"_a,
          "rounding"_a, "slack"_a, "scale"_a, "codes"_a = py::none(), "facts"_a = py::none(), "slots"_a = py::none(),
          "centre"_a = py::none(),
          "Rows (B, k) and squared Euclidean distances (B, k) of the nearest vectors, ascending, ties by row.");
    m.def("nearest_measured", &nearest_measured, py::kw_only(), "vectors"_a, "queries"_a, "k"_a,
          "The same with every pair measured and nothing scanned: for any finite values.");
}

}  // namespace kcrc
