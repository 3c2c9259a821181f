// Tangent distances (Simard) between images with their tangents made ready: a frame of an image is, for every pixel,
// 8 numbers: the image itself, then 7 vectors that are orthonormal or zero and span its tangent plane.
//
// With r = x − y, U the tangents of x and V those of y, the squared two-sided distance is
//     min ‖r + Uα − Vβ‖² + ridge (‖α‖² + ‖β‖²)  =  ‖r‖² − gᵀ (WᵀW + ridge I)⁻¹ g,   W = [U V],  g = Wᵀ r,
// so that all a pair needs are the 64 products of (r, U) with (r, V). They are summed in registers pixel by pixel;
// what is left is an 8 × 8 elimination. One-sided, with the tangents of y alone, it is ‖r‖² − ‖Vᵀr‖² / (1 + ridge).
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "checks.hpp"
#include "lanes.hpp"
#include "module.hpp"

namespace {

using kcrc::ANY;
using kcrc::Argument;
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

// Where each frame begins, or each of those at some rows.
template <class T> std::vector<const T*> each(const T* frames, ptrdiff_t count, ptrdiff_t pixels) {
    std::vector<const T*> found(count);
    for (ptrdiff_t i = 0; i < count; ++i) found[i] = frames + i * pixels * W;
    return found;
}
template <class T>
std::vector<const T*> chosen(const T* frames, ptrdiff_t pixels, const std::vector<std::int64_t>& rows) {
    std::vector<const T*> found(rows.size());
    for (size_t i = 0; i < found.size(); ++i) found[i] = frames + rows[i] * pixels * W;
    return found;
}

py::array pairwise(const py::object& a_, const py::object& b_, double ridge, bool both) {
    const Argument a("a", a_), b("b", b_);
    a.memory({ANY, ANY, W});
    const ptrdiff_t pixels = a.extent(1);
    b.memory({ANY, pixels, W});
    return kcrc::by_precision(a, [&](auto zero) -> py::array {
        using T = decltype(zero);
        const std::vector<const T*> left = each(a.values<T>({ANY, pixels, W}), a.extent(0), pixels);
        const std::vector<const T*> right = each(b.values<T>({ANY, pixels, W}), b.extent(0), pixels);
        py::array_t<T> out({a.extent(0), b.extent(0)});
        T* values = out.mutable_data();
        const ptrdiff_t n = right.size();
        py::gil_scoped_release release;
        Pairs<T>{pixels, ridge, both}.all(left, right, false,
                                          [=](ptrdiff_t i, ptrdiff_t j, T value) { values[i * n + j] = value; });
        return out;
    });
}

py::array selected(const py::object& a_, const py::object& b_, const py::object& rows_, double ridge, bool both) {
    const Argument a("a", a_), b("b", b_), rows("rows", rows_);
    a.memory({ANY, ANY, W});
    const ptrdiff_t count = a.extent(0), pixels = a.extent(1);
    b.memory({ANY, pixels, W});
    const auto* named = rows.values<std::int64_t>({count, ANY});
    const ptrdiff_t per_query = rows.extent(1);
    const std::vector<std::int64_t> wanted = kcrc::from_start("rows", named, count * per_query, b.extent(0));
    return kcrc::by_precision(a, [&](auto zero) -> py::array {
        using T = decltype(zero);
        const std::vector<const T*> left = each(a.values<T>({count, pixels, W}), count, pixels);
        const std::vector<const T*> right = chosen(b.values<T>({ANY, pixels, W}), pixels, wanted);
        py::array_t<T> out({count, per_query});
        T* values = out.mutable_data();
        py::gil_scoped_release release;
        const Pairs<T> pairs{pixels, ridge, both};
        for (size_t i = 0; i < right.size(); ++i) values[i] = pairs(left[i / per_query], right[i]);
        return out;
    });
}

py::array within(const py::object& b_, const py::object& rows_, double ridge, bool both) {
    const Argument b("b", b_), rows("rows", rows_);
    b.memory({ANY, ANY, W});
    const ptrdiff_t pixels = b.extent(1);
    const auto* named = rows.values<std::int64_t>({ANY, ANY});
    const ptrdiff_t n_sets = rows.extent(0), size = rows.extent(1);
    const std::vector<std::int64_t> wanted = kcrc::from_start("rows", named, n_sets * size, b.extent(0));
    return kcrc::by_precision(b, [&](auto zero) -> py::array {
        using T = decltype(zero);
        const std::vector<const T*> right = chosen(b.values<T>({ANY, pixels, W}), pixels, wanted);
        py::array_t<T> out({n_sets, size, size});
        T* values = out.mutable_data();
        py::gil_scoped_release release;
        const Pairs<T> pairs{pixels, ridge, both};
        for (ptrdiff_t q = 0; q < n_sets; ++q, values += size * size) {
            const std::vector<const T*> local(right.begin() + q * size, right.begin() + (q + 1) * size);
            pairs.all(local, local, both, [=](ptrdiff_t i, ptrdiff_t j, T value) {
                values[i * size + j] = value;
                if (both) values[j * size + i] = value;
            });
        }
        return out;
    });
}

}  // namespace

void bind_tangent(py::module_& m) {
    using namespace py::literals;
    m.def("tangent_pairwise", &pairwise, "a"_a, "b"_a, "ridge"_a, "both"_a,
          "All tangent distances (len(a), len(b)) of frames (n, pixels, 8).");
    m.def("tangent_selected", &selected, "a"_a, "b"_a, "rows"_a, "ridge"_a, "both"_a,
          "Tangent distances (B, K) of frame i of a to the frames rows[i] of b.");
    m.def("tangent_within", &within, "b"_a, "rows"_a, "ridge"_a, "both"_a,
          "Tangent distances (B, K, K) among the frames rows[i] of b.");
}
