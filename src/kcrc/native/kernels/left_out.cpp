// Dot products inside the dictionaries of left-out examples, as they are after the example left the metric too.
//
// Removing an example from the within-class covariance adds β (u·z_i)(u·z_j) to z_i·z_j (kcrc/tuning/leverage.py);
// vectors of unit length are scaled again after that.
#include "kernels.hpp"
#include "sources.hpp"

namespace kcrc {

template <class T>
void left_out_products(const T* values, Index width, bool products, const Index* rows, Index B, int W, const T* along,
                       const T* strength, const T* scale, T* out) {
    Scratch<T>& scratch = Scratch<T>::of_thread();
    const VectorKernel<T, T> vectors(values, width, nullptr, KernelShape{Kind::linear, 1.0, 0.0, 1});
    const StoredKernel<T, T> stored(values, width);
    const Source<T>& source = products ? static_cast<const Source<T>&>(stored) : vectors;
    const Panels<T> local(scratch.matrix.get(Panels<T>::room(W)), W);
    for (Index q = 0; q < B; ++q) {
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

template void left_out_products(const float*, Index, bool, const Index*, Index, int, const float*, const float*,
                                const float*, float*);
template void left_out_products(const double*, Index, bool, const Index*, Index, int, const double*, const double*,
                                const double*, double*);

}  // namespace kcrc
