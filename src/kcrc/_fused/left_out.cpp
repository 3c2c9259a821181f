// Dot products inside the dictionaries of left-out examples, as they are after the example left the metric too.
//
// Removing an example from the within-class covariance adds β (u·z_i)(u·z_j) to z_i·z_j (kcrc/left_out/leverage.py);
// vectors of unit length are scaled anew after that.
#include "checks.hpp"
#include "module.hpp"
#include "sources.hpp"

namespace kcrc {
namespace {

// ``values`` holds vectors (n, width), or with ``products`` the dot products (n, n) of all of them.
template <class T>
void fill_products(const T* values, std::int64_t width, bool products, const std::int64_t* rows, std::int64_t B, int W,
                   const T* along, const T* strength, const T* scale, T* out) {
    Scratch<T>& scratch = Scratch<T>::of_thread();
    const VectorKernel<T, T> vectors(values, width, nullptr, KernelShape{Kind::linear, 1.0, 0.0, 1});
    const StoredKernel<T, T> stored(values, width);
    const Source<T>& source = products ? static_cast<const Source<T>&>(stored) : vectors;
    const Panels<T> local(scratch.matrix.get(Panels<T>::room(W)), W);
    for (std::int64_t q = 0; q < B; ++q) {
        source.gram(rows + q * W, W, local, false, scratch);
        T* const to = out + q * W * W;
        const T* const u = along == nullptr ? nullptr : along + q * W;
        const T* const s = scale == nullptr ? nullptr : scale + q * W;
        for (int i = 0; i < W; ++i) {
            const T* row = local.panel(i / MR<T>) + i % MR<T>;
            const T mine = u == nullptr ? T(0) : strength[q] * u[i];
            for (int j = 0; j <= i; ++j) {
                T value = row[static_cast<std::size_t>(j) * MR<T>];
                if (u != nullptr) value += mine * u[j];
                if (s != nullptr) value *= s[i] * s[j];
                to[static_cast<std::size_t>(i) * W + j] = value;
            }
        }
        constexpr int BLOCK = 32;  // the other half, block by block: both sides stay in cache
        for (int i0 = 0; i0 < W; i0 += BLOCK)
            for (int j0 = 0; j0 <= i0; j0 += BLOCK)
                for (int i = i0; i < std::min(W, i0 + BLOCK); ++i)
                    for (int j = j0; j < std::min(i, j0 + BLOCK); ++j)
                        to[static_cast<std::size_t>(j) * W + i] = to[static_cast<std::size_t>(i) * W + j];
    }
    scratch.trim();
}

py::array left_out_products(const py::object& values_, bool products, const py::object& rows_, const py::object& along_,
                            const py::object& strength_, const py::object& scale_) {
    const Argument values("values", values_), rows("rows", rows_);
    const Argument along("along", along_), strength("strength", strength_), scale("scale", scale_);
    values.memory({ANY, ANY});
    const std::int64_t n = values.extent(0), width = values.extent(1);
    require(!products || n == width, "values", "is (n, n) where it holds products");
    const auto* const which = rows.values<std::int64_t>({ANY, ANY});
    const std::int64_t B = rows.extent(0), W = rows.extent(1);
    check_within("rows", which, B * W, 0, n);
    require(static_cast<bool>(along) == static_cast<bool>(strength), "along", "and strength come together");
    return by_precision(values, [&](auto zero) -> py::array {
        using T = decltype(zero);
        const T* const from = values.values<T>({n, width});
        const T* const u = along ? along.values<T>({B, W}) : nullptr;
        const T* const b = strength ? strength.values<T>({B}) : nullptr;
        const T* const s = scale ? scale.values<T>({B, W}) : nullptr;
        py::array_t<T> out({B, W, W});
        T* const to = out.mutable_data();
        if (B == 0) return out;
        py::gil_scoped_release release;
        fill_products<T>(from, width, products, which, B, static_cast<int>(W), u, b, s, to);
        return out;
    });
}

}  // namespace
}  // namespace kcrc

void bind_left_out(py::module_& m) {
    using namespace py::literals;
    m.def("left_out_products", &kcrc::left_out_products, "values"_a, "products"_a, "rows"_a,
          "along"_a = py::none(), "strength"_a = py::none(), "scale"_a = py::none(),
          "Dot products (B, W, W) among the rows (B, W) of values: vectors, or the products (n, n) of all of them.\n"
          "strength (B,) times the outer product of along (B, W) is added, then rows and columns are scaled.");
}
