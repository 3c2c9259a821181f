// The entries of the distances: all pairs of two sets, chosen pairs, and among chosen rows, whatever a row is.
#pragma once
#include <pybind11/stl.h>

#include <string>
#include <tuple>

#include "checks.hpp"

namespace kcrc {

// Rows of numbers (n, width), or of pixels with FRAME numbers each (n, pixels, FRAME).
struct Form {
    bool frames;

    Index width(const Argument& set) const {
        if (!frames) set.memory({ANY, ANY});
        else set.memory({ANY, ANY, FRAME});
        return set.extent(1);
    }
    template <class T>
    Rows<T> rows(const Argument& set, Index width) const {
        const T* first = frames ? set.values<T>({ANY, width, FRAME}) : set.values<T>({ANY, width});
        return {first, set.extent(0), frames ? width * FRAME : width};
    }
};

constexpr Form PLAIN{false}, FRAMES{true};

// Calls work(a, b, out) of two sets of rows, for all pairs.
template <class Work>
py::array all_pairs(Form form, const py::object& a_, const py::object& b_, Work&& work) {
    const Argument a("a", a_), b("b", b_);
    const Index width = form.width(a);
    return by_precision(a, [&](auto zero) -> py::array {
        using T = decltype(zero);
        const Rows<T> left = form.rows<T>(a, width), right = form.rows<T>(b, width);
        py::array_t<T> out({left.count, right.count});
        T* to = out.mutable_data();
        {
            py::gil_scoped_release release;  // not for the return: it counts references
            work(left, right, to);
        }
        return out;
    });
}

// Calls work(a, b, rows, per query, out): row i of a with the rows rows[i] of b.
template <class Work>
py::array chosen_pairs(Form form, const py::object& a_, const py::object& b_, const py::object& rows_, Work&& work) {
    const Argument a("a", a_), b("b", b_), rows("rows", rows_);
    const Index width = form.width(a), count = a.extent(0);
    form.width(b);
    const Index* named = rows.values<Index>({count, ANY});
    const Index per_query = rows.extent(1);
    const std::vector<Index> wanted = from_start("rows", named, count * per_query, b.extent(0));
    return by_precision(a, [&](auto zero) -> py::array {
        using T = decltype(zero);
        const Rows<T> left = form.rows<T>(a, width), right = form.rows<T>(b, width);
        py::array_t<T> out({count, per_query});
        T* to = out.mutable_data();
        {
            py::gil_scoped_release release;  // not for the return: it counts references
            work(left, right, wanted.data(), per_query, to);
        }
        return out;
    });
}

// Calls work(b, rows, sets, size of a set, out): all pairs among the rows rows[i] of b.
template <class Work>
py::array among_chosen(Form form, const py::object& b_, const py::object& rows_, Work&& work) {
    const Argument b("b", b_), rows("rows", rows_);
    const Index width = form.width(b);
    const Index* named = rows.values<Index>({ANY, ANY});
    const Index sets = rows.extent(0), size = rows.extent(1);
    const std::vector<Index> wanted = from_start("rows", named, sets * size, b.extent(0));
    return by_precision(b, [&](auto zero) -> py::array {
        using T = decltype(zero);
        const Rows<T> right = form.rows<T>(b, width);
        py::array_t<T> out({sets, size, size});
        T* to = out.mutable_data();
        {
            py::gil_scoped_release release;  // not for the return: it counts references
            work(right, wanted.data(), sets, size, to);
        }
        return out;
    });
}

inline Measure measure_named(const std::string& name) {
    if (name == "manhattan") return Measure::manhattan;
    if (name == "chessboard") return Measure::chessboard;
    if (name == "sqeuclidean") return Measure::sqeuclidean;
    if (name == "chi2") return Measure::chi2;
    if (name == "common_mass") return Measure::common_mass;
    throw py::value_error("unknown measure '" + name + "'");
}

// One side: its arrays (samples, points, values) and how many points each sample has.
inline Shapes shapes(const py::object& points_, const py::object& contexts_, const py::object& patches_,
                     const py::object& count_, Index bins) {
    const Argument points("points", points_), contexts("contexts", contexts_), patches("patches", patches_);
    const Argument count("count", count_);
    const double* places = points.values<double>({ANY, ANY, 2});
    const Index rows = points.extent(0), capacity = points.extent(1);
    between<Index>("the room for points", capacity, 0, MOST_POINTS);
    const double* histograms = contexts.values<double>({rows, capacity, bins});
    const double* windows = patches.values<double>({rows, capacity, ANY});
    const Index* counts = count.values<Index>({rows});
    check_within("count", counts, rows, 0, capacity + 1);
    return {places, histograms, windows, counts, rows, capacity, bins, patches.extent(2)};
}

using Options = std::tuple<int, int, double, double, int, double, double, double>;

inline py::array matched(const py::object& points_a, const py::object& contexts_a, const py::object& patches_a,
                         const py::object& count_a, const py::object& points_b, const py::object& contexts_b,
                         const py::object& patches_b, const py::object& count_b, const py::object& first_,
                         const py::object& second_, const Options& options, double bending_weight,
                         double appearance_weight) {
    const Matching matching = std::apply([](auto... value) { return Matching{value...}; }, options);
    between("the number of radii", matching.radii, 1, 1 << 12);
    between("the number of angles", matching.angles, 1, 1 << 12);
    between("inner", matching.inner, 1 / FARTHEST, FARTHEST);
    require(matching.outer > matching.inner && matching.outer <= FARTHEST, "outer", "lies above inner");
    between("the number of iterations", matching.iterations, 0, 1 << 20);
    between("dummies", matching.dummies, 0.0, 1000.0);
    between("dummy_cost", matching.dummy_cost, 0.0, FARTHEST);
    const Index bins = static_cast<Index>(matching.radii) * matching.angles;
    const Shapes left = shapes(points_a, contexts_a, patches_a, count_a, bins);
    const Shapes right = shapes(points_b, contexts_b, patches_b, count_b, bins);
    require(left.window == right.window, "patches", "are as large on both sides");
    const Argument first("first", first_), second("second", second_);
    const Index* i = first.values<Index>({ANY});
    const Index pairs = first.extent(0);
    const Index* j = second.values<Index>({pairs});
    check_within("first", i, pairs, 0, left.rows);
    check_within("second", j, pairs, 0, right.rows);
    py::array_t<double> out(pairs);
    double* to = out.mutable_data();
    {
        py::gil_scoped_release release;
        shape_context(matching, left, right, i, j, pairs, {bending_weight, appearance_weight}, to);
    }
    return out;
}

inline void bind_distances(py::module_& m) {
    using namespace py::literals;
    using py::object;
    using std::string;
    m.def(
        "distances_pairwise",
        [](const string& measure, const object& a, const object& b) {
            const auto work = [&](auto left, auto right, auto* out) {
                distances_pairwise(measure_named(measure), left, right, out);
            };
            return all_pairs(PLAIN, a, b, work);
        },
        "measure"_a, "a"_a, "b"_a, "All distances (len(a), len(b)).");
    m.def(
        "distances_selected",
        [](const string& measure, const object& a, const object& b, const object& rows) {
            const auto work = [&](auto left, auto right, const Index* which, Index per_query, auto* out) {
                distances_selected(measure_named(measure), left, right, which, per_query, out);
            };
            return chosen_pairs(PLAIN, a, b, rows, work);
        },
        "measure"_a, "a"_a, "b"_a, "rows"_a, "Distances (B, K) of row i of a to the rows rows[i] of b.");
    m.def(
        "distances_within",
        [](const string& measure, const object& b, const object& rows) {
            const auto work = [&](auto right, const Index* which, Index sets, Index size, auto* out) {
                distances_within(measure_named(measure), right, which, sets, size, out);
            };
            return among_chosen(PLAIN, b, rows, work);
        },
        "measure"_a, "b"_a, "rows"_a, "Distances (B, K, K) among the rows rows[i] of b.");
    m.def(
        "tangent_pairwise",
        [](const object& a, const object& b, double ridge, bool both) {
            const auto work = [=](auto left, auto right, auto* out) {
                tangent_pairwise(left, right, {ridge, both}, out);
            };
            return all_pairs(FRAMES, a, b, work);
        },
        "a"_a, "b"_a, "ridge"_a, "both"_a, "All tangent distances (len(a), len(b)) of frames (n, pixels, 8).");
    m.def(
        "tangent_selected",
        [](const object& a, const object& b, const object& rows, double ridge, bool both) {
            const auto work = [=](auto left, auto right, const Index* which, Index per_query, auto* out) {
                tangent_selected(left, right, which, per_query, {ridge, both}, out);
            };
            return chosen_pairs(FRAMES, a, b, rows, work);
        },
        "a"_a, "b"_a, "rows"_a, "ridge"_a, "both"_a,
        "Tangent distances (B, K) of frame i of a to the frames rows[i] of b.");
    m.def(
        "tangent_within",
        [](const object& b, const object& rows, double ridge, bool both) {
            const auto work = [=](auto right, const Index* which, Index sets, Index size, auto* out) {
                tangent_within(right, which, sets, size, {ridge, both}, out);
            };
            return among_chosen(FRAMES, b, rows, work);
        },
        "b"_a, "rows"_a, "ridge"_a, "both"_a, "Tangent distances (B, K, K) among the frames rows[i] of b.");
    m.def("shape_context", &matched, "points_a"_a, "contexts_a"_a, "patches_a"_a, "count_a"_a, "points_b"_a,
          "contexts_b"_a, "patches_b"_a, "count_b"_a, "first"_a, "second"_a, "options"_a, "bending_weight"_a,
          "appearance_weight"_a, "Shape context distances of the pairs (first, second) of two sets of shapes.");
}

}  // namespace kcrc
