// Dot products inside the dictionaries of left-out examples, as they are after the example left the metric too.
//
// Removing an example from the within-class covariance adds β (u·z_i)(u·z_j) to z_i·z_j (kcrc/tuning/leverage.py);
// vectors of unit length are scaled anew after that.
#include "arrays.hpp"
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

py::array left_out_products(const py::array& values, bool products, const py::array& rows, const py::object& along,
                            const py::object& strength, const py::object& scale) {
    require(values.ndim() == 2 && is_plain(values), "values is 2-D, C-ordered");
    const bool wide = holds<double>(values);
    require(wide || holds<float>(values), "values is float32 or float64");
    const std::int64_t n = values.shape(0), width = values.shape(1);
    require(!products || n == width, "products is (n, n)");
    require(rows.ndim() == 2 && is_plain(rows) && holds<std::int64_t>(rows), "rows is (B, W), int64");
    const std::int64_t B = rows.shape(0), W = rows.shape(1);
    const auto* const which = static_cast<const std::int64_t*>(rows.data());
    for (std::int64_t i = 0; i < B * W; ++i) require(which[i] >= 0 && which[i] < n, "rows lie within the examples");
    const auto optional = [&](const py::object& given, std::initializer_list<std::int64_t> shape) -> const void* {
        if (given.is_none()) return nullptr;
        const auto array = py::reinterpret_borrow<py::array>(given);
        require((wide ? holds<double>(array) : holds<float>(array)) && has_shape(array, shape),
                "along and scale are (B, W), strength is (B,), in the precision of values");
        return array.data();
    };
    const void *const u = optional(along, {B, W}), *const b = optional(strength, {B}), *const s = optional(scale, {B, W});
    require((u == nullptr) == (b == nullptr), "along and strength come together");
    const auto run = [&](auto zero) -> py::array {
        using T = decltype(zero);
        py::array_t<T> out({B, W, W});
        T* const to = out.mutable_data();
        const T* const from = static_cast<const T*>(values.data());
        py::gil_scoped_release release;
        fill_products<T>(from, width, products, which, B, static_cast<int>(W), static_cast<const T*>(u),
                         static_cast<const T*>(b), static_cast<const T*>(s), to);
        return out;
    };
    return wide ? run(double{}) : run(float{});
}

}  // namespace
}  // namespace kcrc

void bind_left_out(py::module_& m) {
    using namespace py::literals;
    m.def("left_out_products", &kcrc::left_out_products, py::arg("values").noconvert(), "products"_a,
          py::arg("rows").noconvert(), "along"_a = py::none(), "strength"_a = py::none(), "scale"_a = py::none(),
          "Dot products (B, W, W) among the rows (B, W) of values: vectors, or the products (n, n) of all of them.\n"
          "strength (B,) times the outer product of along (B, W) is added, then rows and columns are scaled.");
}
