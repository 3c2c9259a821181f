// The kernel matrix of all examples, for when it is stored.
#include "kernels.hpp"
#include "sources.hpp"

namespace kcrc {
namespace {

template <class T, class S>
void fill_kernel(const S* vectors, const T* squares, Index n, Index width, const KernelShape& shape, Index start,
                 Index stop, T* out) {
    constexpr int M = MR<T>, W = lanes<T>;
    Scratch<T>& scratch = Scratch<T>::of_thread();
    std::vector<Index> rows(n);
    for (Index i = 0; i < n; ++i) rows[i] = i;
    const int own = static_cast<int>(stop - start);
    T* mine = scratch.packed.get(static_cast<std::size_t>(rounded_up(own, M)) * width);
    pack_rows<T, S>(vectors, width, rows.data() + start, own, mine, scratch.converted);
    T* theirs = scratch.factor.get(static_cast<std::size_t>(M) * width);
    for (Index first = 0; first < stop; first += M) {
        const int others = static_cast<int>(std::min<Index>(M, stop - first));
        pack_rows<T, S>(vectors, width, rows.data() + first, others, theirs, scratch.converted);
        for (Index p = std::max<Index>(0, (first - start) / M); p * M < own; ++p)
            for (int q = 0; q < others; q += NR) {
                Tile<T> tile;
                tile.clear();
                tile.template accumulate<false>(mine + p * M * width, theirs + q, static_cast<int>(width));
                for (int c = 0; c < std::min(NR, others - q); ++c) {
                    const Index j = first + q + c;
                    T square[M] = {}, value[M];
                    const int here = static_cast<int>(std::min<Index>(M, own - p * M));
                    for (int r = 0; r < here; ++r) square[r] = squares[start + p * M + r];
                    for (int v = 0; v < 3; ++v)
                        store<T>(value + v * W,
                                 of_products<T>(shape, tile.sum[c][v], load<T>(square + v * W), splat<T>(squares[j])));
                    for (int r = 0; r < here; ++r) {
                        const Index i = start + p * M + r;
                        if (j > i) continue;
                        const T k = i == j && shape.kind == Kind::rbf ? T(1) : value[r];
                        out[i * n + j] = out[j * n + i] = k;
                    }
                }
            }
    }
    scratch.trim();
}

}  // namespace

void kernel_rows(const void* vectors, Storage storage, const void* squares, bool wide, Index n, Index width,
                 const KernelShape& shape, Index start, Index stop, void* out) {
    by_storage(storage, [&](auto stored) {
        using S = decltype(stored);
        const auto fill = [&](auto working) {
            using T = decltype(working);
            fill_kernel<T, S>(static_cast<const S*>(vectors), static_cast<const T*>(squares), n, width, shape, start,
                              stop, static_cast<T*>(out));
        };
        if (wide) fill(double{});
        else fill(float{});
    });
}

}  // namespace kcrc
