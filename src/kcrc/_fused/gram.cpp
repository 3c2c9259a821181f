// The kernel matrix of all examples, for when it is stored.
#include "checks.hpp"
#include "module.hpp"
#include "sources.hpp"

namespace kcrc {
namespace {

template <class T, class S>
void fill_kernel(const S* vectors, const T* squares, std::int64_t n, std::int64_t width, const KernelShape& shape,
                 std::int64_t start, std::int64_t stop, T* out) {
    constexpr int M = MR<T>, W = lanes<T>;
    Scratch<T>& scratch = Scratch<T>::of_thread();
    std::vector<std::int64_t> rows(n);
    for (std::int64_t i = 0; i < n; ++i) rows[i] = i;
    const int own = static_cast<int>(stop - start);
    T* mine = scratch.packed.get(static_cast<std::size_t>(rounded_up(own, M)) * width);
    pack_rows<T, S>(vectors, width, rows.data() + start, own, mine, scratch.converted);
    T* theirs = scratch.factor.get(static_cast<std::size_t>(M) * width);
    for (std::int64_t first = 0; first < stop; first += M) {
        const int others = static_cast<int>(std::min<std::int64_t>(M, stop - first));
        pack_rows<T, S>(vectors, width, rows.data() + first, others, theirs, scratch.converted);
        for (std::int64_t p = std::max<std::int64_t>(0, (first - start) / M); p * M < own; ++p)
            for (int q = 0; q < others; q += NR) {
                Tile<T> tile;
                tile.clear();
                tile.template accumulate<false>(mine + p * M * width, theirs + q, static_cast<int>(width));
                for (int c = 0; c < std::min(NR, others - q); ++c) {
                    const std::int64_t j = first + q + c;
                    T square[M] = {}, value[M];
                    const int here = static_cast<int>(std::min<std::int64_t>(M, own - p * M));
                    for (int r = 0; r < here; ++r) square[r] = squares[start + p * M + r];
                    for (int v = 0; v < 3; ++v)
                        store<T>(value + v * W, shape.of_products<T>(tile.sum[c][v], load<T>(square + v * W),
                                                                      splat<T>(squares[j])));
                    for (int r = 0; r < here; ++r) {
                        const std::int64_t i = start + p * M + r;
                        if (j > i) continue;
                        const T k = i == j && shape.kind == Kind::rbf ? T(1) : value[r];
                        out[i * n + j] = out[j * n + i] = k;
                    }
                }
            }
    }
    scratch.trim();
}

void kernel_rows(const py::object& vectors_, const py::object& squares_, int kind, double gamma, double coef0, int degree,
                 std::int64_t start, std::int64_t stop, const py::object& out_) {
    const Argument vectors("vectors", vectors_), squares("squares", squares_), out("out", out_);
    const Storage storage = vectors.storage();
    const void* const atoms = vectors.memory({ANY, ANY});
    const std::int64_t n = vectors.extent(0), width = vectors.extent(1);
    between<std::int64_t>("start", start, 0, n - 1);
    between<std::int64_t>("stop", stop, start + 1, n);
    const bool wide = out.is_wide();
    const KernelShape shape = kernel_shape(kind, gamma, coef0, degree, wide);
    void* const target = wide ? static_cast<void*>(out.results<double>({n, n})) : out.results<float>({n, n});
    const void* const square = wide ? static_cast<const void*>(squares.values<double>({n})) : squares.values<float>({n});
    check_apart({&out}, {&vectors, &squares});
    py::gil_scoped_release release;
    const auto fill = [&](auto working, auto stored) {
        using T = decltype(working);
        using S = decltype(stored);
        fill_kernel<T, S>(static_cast<const S*>(atoms), static_cast<const T*>(square), n, width, shape, start, stop,
                          static_cast<T*>(target));
    };
    if (wide && storage == Storage::wide) fill(double{}, double{});
    else if (wide && storage == Storage::single) fill(double{}, float{});
    else if (wide) fill(double{}, Half{});
    else if (storage == Storage::wide) fill(float{}, double{});
    else if (storage == Storage::single) fill(float{}, float{});
    else fill(float{}, Half{});
}

}  // namespace
}  // namespace kcrc

void bind_gram(py::module_& m) {
    using namespace py::literals;
    m.def("kernel_rows", &kcrc::kernel_rows, py::kw_only(), "vectors"_a, "squares"_a, "kind"_a, "gamma"_a = 1.0,
          "coef0"_a = 0.0, "degree"_a = 1, "start"_a, "stop"_a, "out"_a,
          "Kernel of the vectors start … stop−1 with all before them and each other, into both halves of out (n, n):\n"
          "bit for bit what the local stage computes for the same pair.");
}
