// Tangent distances (Simard) between images with their tangents made ready: a frame of an image is, for every pixel,
// 8 numbers: the image itself, then 7 vectors that are orthonormal or zero and span its tangent plane.
//
// With r = x − y, U the tangents of x and V those of y, the squared two-sided distance is
//     min ‖r + Uα − Vβ‖² + ridge (‖α‖² + ‖β‖²)  =  ‖r‖² − gᵀ (WᵀW + ridge I)⁻¹ g,   W = [U V],  g = Wᵀ r,
// so that all a pair needs are the 64 products of (r, U) with (r, V). They are summed in registers pixel by pixel;
// what is left is an 8 × 8 elimination. One-sided, with the tangents of y alone, it is ‖r‖² − ‖Vᵀr‖² / (1 + ridge).
#include <pybind11/numpy.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lanes.hpp"
#include "module.hpp"

namespace py = pybind11;

namespace {

using kcrc::Lanes;
using std::ptrdiff_t;

constexpr int W = 8;                  // numbers a pixel
constexpr ptrdiff_t kChunk = 64;      // pixels of two frames that stay in the first-level cache between passes
constexpr ptrdiff_t kTile = 1 << 17;  // bytes of frames a side of a tile of pairs, for the second-level cache

// products[i][j] += Σ over pixels of (r, U)ᵢ (r, V)ⱼ, for `Rows` of the i from First on.
template <class T, int First, int Rows> void products_of(const T* a, const T* b, ptrdiff_t pixels, double* products) {
    constexpr int registers = W / Lanes<T>::count;
    Lanes<T> sum[Rows][registers];
    for (auto& row : sum)
        for (auto& part : row) part = Lanes<T>::zero();
    for (ptrdiff_t p = 0; p < pixels; ++p, a += W, b += W) {
        const T r = a[0] - b[0];
        Lanes<T> right[registers];
        for (int k = 0; k < registers; ++k) right[k] = Lanes<T>::load(b + k * Lanes<T>::count);
        right[0] = right[0].with_first(r);
        for (int i = 0; i < Rows; ++i) {
            const Lanes<T> left = Lanes<T>::all(First + i == 0 ? r : a[First + i]);
            for (int k = 0; k < registers; ++k) sum[i][k] = sum[i][k] + left * right[k];
        }
    }
    for (int i = 0; i < Rows; ++i)
        for (int j = 0; j < W; ++j)
            products[(First + i) * W + j] += sum[i][j / Lanes<T>::count][j % Lanes<T>::count];
}

// As many rows of products at a time as fit the registers.
template <class T, int First = 0> void all_products(const T* a, const T* b, ptrdiff_t pixels, double* products) {
    constexpr int rows = Lanes<T>::count;
    products_of<T, First, rows>(a, b, pixels, products);
    if constexpr (First + rows < W) all_products<T, First + rows>(a, b, pixels, products);
}

// The squared distance from the products: what is left of ‖r‖² when U, then V, have been eliminated.
template <class T> double eliminated(const double* products, double ridge) {
    const double weight = 1.0 + ridge;
    // UᵀV has no singular value above 1, so no pivot lies below this but by rounding. Without a ridge it is 0, and
    // a direction that V shares with U is left out.
    const double least = weight - 1.0 / weight, shared = 64 * std::numeric_limits<T>::epsilon();
    double left[W][W];
    for (int i = 0; i < W; ++i)
        for (int j = 0; j < W; ++j) left[i][j] = i == 0 ? products[j] : j == 0 ? products[i] : i == j ? weight : 0.0;
    for (int u = 1; u < W; ++u) {
        const double* row = products + u * W;
        for (int i = 0; i < W; ++i) {
            const double factor = row[i] / weight;
            for (int j = 0; j < W; ++j) left[i][j] -= factor * row[j];
        }
    }
    for (int v = W - 1; v > 0; --v) {
        const double pivot = std::max(left[v][v], least);
        if (pivot <= shared) continue;
        for (int i = 0; i < v; ++i) {
            const double factor = left[v][i] / pivot;
            for (int j = 0; j < v; ++j) left[i][j] -= factor * left[v][j];
        }
    }
    return left[0][0];
}

template <class T> T two_sided(const T* a, const T* b, ptrdiff_t pixels, double ridge) {
    double products[W * W] = {};
    for (ptrdiff_t from = 0; from < pixels; from += kChunk)
        all_products<T>(a + from * W, b + from * W, std::min(kChunk, pixels - from), products);
    return T(std::sqrt(std::max(0.0, eliminated<T>(products, ridge))));
}

template <class T> T one_sided(const T* a, const T* b, ptrdiff_t pixels, double ridge) {
    double products[W] = {};
    for (ptrdiff_t from = 0; from < pixels; from += kChunk)
        products_of<T, 0, 1>(a + from * W, b + from * W, std::min(kChunk, pixels - from), products);
    double explained = 0;
    for (int j = 1; j < W; ++j) explained += products[j] * products[j];
    return T(std::sqrt(std::max(0.0, products[0] - explained / (1.0 + ridge))));
}

template <class T> struct Pairs {
    ptrdiff_t pixels;
    double ridge;
    bool both;
    T operator()(const T* a, const T* b) const {
        return both ? two_sided(a, b, pixels, ridge) : one_sided(a, b, pixels, ridge);
    }
    // All pairs of two lists of frames, in tiles that stay in cache.
    template <class Emit>
    void all(const std::vector<const T*>& a, const std::vector<const T*>& b, bool upper, Emit emit) const {
        const ptrdiff_t n_a = a.size(), n_b = b.size();
        const ptrdiff_t side = std::max<ptrdiff_t>(1, kTile / std::max<ptrdiff_t>(1, pixels * W * sizeof(T)));
        for (ptrdiff_t i0 = 0; i0 < n_a; i0 += side)
            for (ptrdiff_t j0 = 0; j0 < n_b; j0 += side)
                for (ptrdiff_t i = i0; i < std::min(n_a, i0 + side); ++i)
                    for (ptrdiff_t j = upper ? std::max(i, j0) : j0; j < std::min(n_b, j0 + side); ++j)
                        emit(i, j, (*this)(a[i], b[j]));
    }
};

template <class T> using Frames = py::array_t<T, py::array::c_style>;
using Indices = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

template <class T> std::vector<const T*> each(const Frames<T>& frames) {
    if (frames.ndim() != 3 || frames.shape(2) != W) throw py::value_error("frames are (n, pixels, 8)");
    std::vector<const T*> rows(frames.shape(0));
    for (size_t i = 0; i < rows.size(); ++i) rows[i] = frames.data() + i * frames.shape(1) * W;
    return rows;
}

// The frames at some rows, which are read as NumPy reads them: negative ones count from the end.
template <class T> std::vector<const T*> chosen(const Frames<T>& frames, const Indices& rows) {
    if (rows.ndim() != 2) throw py::value_error("rows are a matrix (B, K)");
    const std::vector<const T*> all = each(frames);
    const std::int64_t n = all.size();
    std::vector<const T*> out(rows.size());
    for (size_t i = 0; i < out.size(); ++i) {
        const std::int64_t row = rows.data()[i];
        if (row < -n || row >= n) throw py::index_error("row " + std::to_string(row) + " of " + std::to_string(n));
        out[i] = all[row < 0 ? row + n : row];
    }
    return out;
}

template <class T> Pairs<T> pairs_of(const Frames<T>& a, const Frames<T>& b, double ridge, bool both) {
    if (a.shape(1) != b.shape(1)) throw py::value_error("the two sets differ in pixels");
    return {a.shape(1), ridge, both};
}

template <class T> Frames<T> pairwise(const Frames<T>& a, const Frames<T>& b, double ridge, bool both) {
    const std::vector<const T*> left = each(a), right = each(b);
    const Pairs<T> pairs = pairs_of(a, b, ridge, both);
    Frames<T> out({a.shape(0), b.shape(0)});
    T* values = out.mutable_data();
    const ptrdiff_t n = right.size();
    py::gil_scoped_release release;
    pairs.all(left, right, false, [=](ptrdiff_t i, ptrdiff_t j, T value) { values[i * n + j] = value; });
    return out;
}

template <class T>
Frames<T> selected(const Frames<T>& a, const Frames<T>& b, const Indices& rows, double ridge, bool both) {
    const std::vector<const T*> left = each(a), right = chosen(b, rows);
    const Pairs<T> pairs = pairs_of(a, b, ridge, both);
    if (rows.shape(0) != a.shape(0)) throw py::value_error("one row of indices a query");
    const ptrdiff_t per_query = rows.shape(1);
    Frames<T> out({a.shape(0), per_query});
    T* values = out.mutable_data();
    py::gil_scoped_release release;
    for (size_t i = 0; i < right.size(); ++i) values[i] = pairs(left[i / per_query], right[i]);
    return out;
}

template <class T> Frames<T> within(const Frames<T>& b, const Indices& rows, double ridge, bool both) {
    const std::vector<const T*> right = chosen(b, rows);
    const Pairs<T> pairs = pairs_of(b, b, ridge, both);
    const ptrdiff_t n_sets = rows.shape(0), size = rows.shape(1);
    Frames<T> out({n_sets, size, size});
    T* values = out.mutable_data();
    py::gil_scoped_release release;
    for (ptrdiff_t q = 0; q < n_sets; ++q, values += size * size) {
        const std::vector<const T*> local(right.begin() + q * size, right.begin() + (q + 1) * size);
        pairs.all(local, local, both, [=](ptrdiff_t i, ptrdiff_t j, T value) {
            values[i * size + j] = value;
            if (both) values[j * size + i] = value;
        });
    }
    return out;
}

template <class T> void bind(py::module_& m) {
    using namespace py::literals;
    m.def("tangent_pairwise", &pairwise<T>, py::arg("a").noconvert(), py::arg("b").noconvert(), "ridge"_a, "both"_a,
          "All tangent distances (len(a), len(b)) of frames (n, pixels, 8).");
    m.def("tangent_selected", &selected<T>, py::arg("a").noconvert(), py::arg("b").noconvert(), "rows"_a, "ridge"_a,
          "both"_a, "Tangent distances (B, K) of frame i of a to the frames rows[i] of b.");
    m.def("tangent_within", &within<T>, py::arg("b").noconvert(), "rows"_a, "ridge"_a, "both"_a,
          "Tangent distances (B, K, K) among the frames rows[i] of b.");
}

}  // namespace

void bind_tangent(py::module_& m) {
    bind<float>(m);
    bind<double>(m);
}
