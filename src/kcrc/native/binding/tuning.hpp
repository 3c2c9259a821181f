// The entries of tuning: dictionaries of left-out examples, and leave-one-out trials of many settings.
#pragma once
#include <pybind11/stl.h>

#include <optional>

#include "checks.hpp"

namespace kcrc {

inline py::array products_without(const py::object& values_, bool products, const py::object& rows_,
                                  const py::object& along_, const py::object& strength_, const py::object& scale_) {
    const Argument values("values", values_), rows("rows", rows_);
    const Argument along("along", along_), strength("strength", strength_), scale("scale", scale_);
    values.memory({ANY, ANY});
    const Index n = values.extent(0), width = values.extent(1);
    require(!products || n == width, "values", "is (n, n) where it holds products");
    const auto* const which = rows.values<Index>({ANY, ANY});
    const Index B = rows.extent(0), W = rows.extent(1);
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
        {
            py::gil_scoped_release release;  // not for the return: it counts references
            left_out_products<T>(from, width, products, which, B, static_cast<int>(W), u, b, s, to);
        }
        return out;
    });
}

inline py::array judged(const py::object& G_, const py::object& k_, const py::object& self_, const py::object& labels_,
                        const py::object& truth_, const py::object& sizes_, const py::object& mus_, bool gram_form,
                        std::optional<double> gamma, const py::object& squares_, bool normalize) {
    const Argument G("G", G_), k("k", k_), sizes("sizes", sizes_), mus("mus", mus_), squares("squares", squares_);
    G.memory({ANY, ANY, ANY});
    const Index B = G.extent(0), K = G.extent(1);
    const auto* const self = Argument("self", self_).values<double>({B});
    const auto* const labels = Argument("labels", labels_).values<std::int32_t>({B, K});
    const auto* const truth = Argument("truth", truth_).values<std::int32_t>({B});
    const auto* const wanted = sizes.values<std::int32_t>({ANY});
    const auto* const penalties = mus.values<double>({ANY});
    const Index n_sizes = sizes.extent(0), n_mus = mus.extent(0);
    check_within("sizes", wanted, n_sizes, 1, LONGEST);
    const Holds holds = !gamma ? Holds::kernel : !squares ? Holds::distances : Holds::products;
    const double width = gamma.value_or(0.0);
    require(std::isfinite(width), "gamma", "is finite");
    const Grid grid{wanted, n_sizes, penalties, static_cast<int>(n_mus), gram_form, normalize, holds, width};
    py::array_t<float> out({n_sizes, n_mus, Index(2), B});
    float* const to = out.mutable_data();
    by_precision(G, [&](auto zero) {
        using T = decltype(zero);
        const T *const Gs = G.values<T>({B, K, K}), *const ks = k.values<T>({B, K});
        const T* const squared = holds == Holds::products ? squares.values<T>({B, K}) : nullptr;
        if (out.size() == 0) return;
        py::gil_scoped_release release;
        judge<T>({Gs, ks, squared, self, labels, truth, B, static_cast<int>(K)}, grid, to);
    });
    return out;
}

inline void bind_tuning(py::module_& m) {
    using namespace py::literals;
    m.def("left_out_products", &products_without, "values"_a, "products"_a, "rows"_a, "along"_a = py::none(),
          "strength"_a = py::none(), "scale"_a = py::none(),
          "Dot products (B, W, W) among the rows (B, W) of values: vectors, or the products (n, n) of all of them.\n"
          "strength (B,) times the outer product of along (B, W) is added, then rows and columns are scaled.");
    const char* doc =
        "Margins (sizes, mus, 2, B) of the true class by the ratio and by the plain residual, for local kernel\n"
        "matrices G (B, K, K), k (B, K), k(y, y) (B,), class numbers (B, K) with -1 for padding, and the truth (B,).\n"
        "With gamma, k and G are squared distances and the kernel is exp(-gamma ...); with squares (B, K) too, G "
        "holds\n"
        "the atoms' dot products and squares their squared lengths. NaN where H + mu I has no Cholesky factor.";
    m.def("judge", &judged, doc, "G"_a, "k"_a, "self"_a, "labels"_a, "truth"_a, "sizes"_a, "mus"_a, "gram_form"_a,
          "gamma"_a = py::none(), "squares"_a = py::none(), "normalize"_a = true);
}

}  // namespace kcrc
