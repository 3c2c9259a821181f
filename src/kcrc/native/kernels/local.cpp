// The local stage of a chunk of queries: which of them need solving, and their kernel values with their neighbours.
// What follows is in stage.hpp.
#include <memory>

#include "kernels.hpp"
#include "stage.hpp"

namespace kcrc {
namespace {

// a·b (or ‖a − b‖²) in an order that depends on the width alone
template <class T, class S, bool DIFFERENCE>
T pair_sum(const T* query, const S* atom, Index width) {
    constexpr int W = lanes<T>;
    Vec<T> sum[4] = {};
    Index k = 0;
    T piece[W];
    for (; k + 4 * W <= width; k += 4 * W)
        for (int u = 0; u < 4; ++u) {
            Vec<T> other;
            if constexpr (std::is_same_v<S, T>) {
                other = load<T>(atom + k + u * W);
            } else {
                for (int i = 0; i < W; ++i) piece[i] = static_cast<T>(static_cast<float>(atom[k + u * W + i]));
                other = load<T>(piece);
            }
            const Vec<T> mine = load<T>(query + k + u * W);
            const Vec<T> left = DIFFERENCE ? mine - other : mine, right = DIFFERENCE ? mine - other : other;
            sum[u] += left * right;
        }
    T rest = T(0);
    for (; k < width; ++k) {
        const T other = static_cast<T>(atom[k]);
        rest += DIFFERENCE ? (query[k] - other) * (query[k] - other) : query[k] * other;
    }
    return sum_of<T>((sum[0] + sum[1]) + (sum[2] + sum[3])) + rest;
}

template <class T>
void shaped(const KernelShape& shape, T* values, Index count, bool squared) {
    constexpr int W = lanes<T>;
    if (shape.kind == Kind::linear) return;
    for (Index i = 0; i < count; i += W) {
        T piece[W] = {};
        const int here = static_cast<int>(std::min<Index>(W, count - i));
        std::copy(values + i, values + i + here, piece);
        const Vec<T> v = load<T>(piece);
        store<T>(piece, squared ? of_squared<T>(shape, v) : of_products<T>(shape, v, v, v));
        std::copy(piece, piece + here, values + i);
    }
}

template <class T, class S>
void cross_from_vectors(const Chunk& chunk, const std::vector<Index>& open, T* k) {
    const Index K = chunk.K, width = chunk.width;
    const Index* rows = chunk.rows;
    const auto* atoms = static_cast<const S*>(chunk.vectors);
    const bool rbf = chunk.shape.kind == Kind::rbf;
    for (const Index query : open) {
        const T* y = static_cast<const T*>(chunk.queries) + query * width;
        T* mine = k + query * K;
        for (Index j = 0; j < K; ++j) {
            const Index row = rows[query * K + j];
            if (row < 0) mine[j] = T(0);
            else
                mine[j] = rbf ? pair_sum<T, S, true>(y, atoms + row * width, width)
                              : pair_sum<T, S, false>(y, atoms + row * width, width);
        }
        shaped<T>(chunk.shape, mine, K, rbf);
    }
}

template <class T>
std::unique_ptr<Source<T>> source_of(const Chunk& chunk) {
    if (chunk.kernel && chunk.kernel_storage == Storage::single)
        return std::make_unique<StoredKernel<T, float>>(static_cast<const float*>(chunk.kernel), chunk.n);
    if (chunk.kernel)
        return std::make_unique<StoredKernel<T, double>>(static_cast<const double*>(chunk.kernel), chunk.n);
    return by_storage(chunk.vector_storage, [&](auto stored) -> std::unique_ptr<Source<T>> {
        using S = decltype(stored);
        return std::make_unique<VectorKernel<T, S>>(static_cast<const S*>(chunk.vectors), chunk.width,
                                                    static_cast<const T*>(chunk.squares), chunk.shape);
    });
}

template <class T>
void solve_chunk(const Chunk& chunk, const Answers& answers) {
    const Index B = chunk.batch, K = chunk.K;
    const Index* rows = chunk.rows;
    const std::int32_t* labels = chunk.labels;
    std::vector<Index> open;
    open.reserve(B);
    for (Index query = 0; query < B; ++query) {
        const Index* mine = rows + query * K;
        std::int32_t first = -1;
        bool same = true;
        for (Index j = 0; j < K && same; ++j) {
            if (mine[j] < 0) continue;
            if (first < 0) first = labels[mine[j]];
            same = labels[mine[j]] == first;
        }
        answers.flags[query] = UNANIMOUS;
        if (!same) open.push_back(query);
    }
    if (open.empty()) return;
    std::vector<T> made;
    const T* k = static_cast<const T*>(chunk.cross);
    if (!k) {
        made.resize(B * K);
        k = made.data();
        if (chunk.squared) {
            for (const Index query : open) {
                for (Index j = query * K; j < (query + 1) * K; ++j) made[j] = rows[j] < 0 ? T(0) : T(chunk.squared[j]);
                shaped<T>(chunk.shape, made.data() + query * K, K, true);
            }
        } else {
            by_storage(chunk.vector_storage,
                       [&](auto stored) { cross_from_vectors<T, decltype(stored)>(chunk, open, made.data()); });
        }
    }
    const auto source = source_of<T>(chunk);
    Scratch<T>& scratch = Scratch<T>::of_thread();
    Stage<T> stage(*source, chunk.settings, answers, rows, labels, static_cast<int>(K), scratch);
    stage.run(open.data(), static_cast<Index>(open.size()), k, chunk.self);
    scratch.trim();
}

}  // namespace

void local_stage(const Chunk& chunk, const Answers& answers) {
    if (chunk.wide) solve_chunk<double>(chunk, answers);
    else solve_chunk<float>(chunk, answers);
}

}  // namespace kcrc
