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

#include "kernels.hpp"
#include "rows.hpp"
#include "simd.hpp"

namespace kcrc {
namespace {

using std::ptrdiff_t;

constexpr int W = FRAME;
constexpr ptrdiff_t kChunk = 64;      // pixels of two frames that stay in the first-level cache between passes
constexpr ptrdiff_t kTile = 1 << 17;  // bytes of frames a side of a tile of pairs, for the second-level cache

// products[i][j] += Σ over pixels of (r, U)ᵢ (r, V)ⱼ, for `Rows` of the i from First on.
template <class T, int First, int Rows>
void products_of(const T* a, const T* b, ptrdiff_t pixels, double* products) {
    constexpr int registers = W / lanes<T>;
    Vec<T> sum[Rows][registers];
    for (auto& row : sum)
        for (auto& part : row) part = Vec<T>{};
    for (ptrdiff_t p = 0; p < pixels; ++p, a += W, b += W) {
        const T r = a[0] - b[0];
        Vec<T> right[registers];
        for (int k = 0; k < registers; ++k) right[k] = load<T>(b + k * lanes<T>);
        right[0][0] = r;
        for (int i = 0; i < Rows; ++i) {
            const Vec<T> left = splat<T>(First + i == 0 ? r : a[First + i]);
            for (int k = 0; k < registers; ++k) sum[i][k] = sum[i][k] + left * right[k];
        }
    }
    for (int i = 0; i < Rows; ++i)
        for (int j = 0; j < W; ++j) products[(First + i) * W + j] += sum[i][j / lanes<T>][j % lanes<T>];
}

// As many rows of products at a time as fit the registers.
template <class T, int First = 0>
void all_products(const T* a, const T* b, ptrdiff_t pixels, double* products) {
    constexpr int rows = lanes<T>;
    products_of<T, First, rows>(a, b, pixels, products);
    if constexpr (First + rows < W) all_products<T, First + rows>(a, b, pixels, products);
}

// The squared distance from the products: what is left of ‖r‖² when U, then V, have been eliminated.
template <class T>
double eliminated(const double* products, double ridge) {
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

template <class T>
T two_sided(const T* a, const T* b, ptrdiff_t pixels, double ridge) {
    double products[W * W] = {};
    for (ptrdiff_t from = 0; from < pixels; from += kChunk)
        all_products<T>(a + from * W, b + from * W, std::min(kChunk, pixels - from), products);
    return T(std::sqrt(std::max(0.0, eliminated<T>(products, ridge))));
}

template <class T>
T one_sided(const T* a, const T* b, ptrdiff_t pixels, double ridge) {
    double products[W] = {};
    for (ptrdiff_t from = 0; from < pixels; from += kChunk)
        products_of<T, 0, 1>(a + from * W, b + from * W, std::min(kChunk, pixels - from), products);
    double explained = 0;
    for (int j = 1; j < W; ++j) explained += products[j] * products[j];
    return T(std::sqrt(std::max(0.0, products[0] - explained / (1.0 + ridge))));
}

template <class T>
struct Pairs {
    ptrdiff_t pixels;
    Plane plane;
    T operator()(const T* a, const T* b) const {
        return plane.both ? two_sided(a, b, pixels, plane.ridge) : one_sided(a, b, pixels, plane.ridge);
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

}  // namespace

template <class T>
void tangent_pairwise(Rows<T> a, Rows<T> b, Plane plane, T* out) {
    const auto emit = [=](ptrdiff_t i, ptrdiff_t j, T value) { out[i * b.count + j] = value; };
    Pairs<T>{a.width / W, plane}.all(each(a), each(b), false, emit);
}

template <class T>
void tangent_selected(Rows<T> a, Rows<T> b, const Index* rows, Index per_query, Plane plane, T* out) {
    const Pairs<T> pair{a.width / W, plane};
    for (Index i = 0; i < a.count * per_query; ++i)
        out[i] = pair(a.first + i / per_query * a.width, b.first + rows[i] * b.width);
}

template <class T>
void tangent_within(Rows<T> b, const Index* rows, Index n_sets, Index size, Plane plane, T* out) {
    const Pairs<T> pairs{b.width / W, plane};
    for (Index q = 0; q < n_sets; ++q, rows += size, out += size * size) {
        const std::vector<const T*> local = chosen(b, rows, size);
        pairs.all(local, local, plane.both, [=](ptrdiff_t i, ptrdiff_t j, T value) {
            out[i * size + j] = value;
            if (plane.both) out[j * size + i] = value;
        });
    }
}

template void tangent_pairwise(Rows<float>, Rows<float>, Plane, float*);
template void tangent_pairwise(Rows<double>, Rows<double>, Plane, double*);
template void tangent_selected(Rows<float>, Rows<float>, const Index*, Index, Plane, float*);
template void tangent_selected(Rows<double>, Rows<double>, const Index*, Index, Plane, double*);
template void tangent_within(Rows<float>, const Index*, Index, Index, Plane, float*);
template void tangent_within(Rows<double>, const Index*, Index, Index, Plane, double*);

}  // namespace kcrc
