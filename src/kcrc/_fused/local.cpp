// Python's door to the local stage: checks shapes and types once a chunk, then works without the interpreter.
#include <memory>

#include "arrays.hpp"
#include "module.hpp"
#include "stage.hpp"

namespace kcrc {
namespace {

// a·b (or ‖a − b‖²) in an order that depends on the width alone
template <class T, class S, bool DIFFERENCE>
T pair_sum(const T* query, const S* atom, std::int64_t width) {
    constexpr int W = lanes<T>;
    Vec<T> sum[4] = {};
    std::int64_t k = 0;
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
void shaped(const KernelShape& shape, T* values, std::int64_t count, bool squared) {
    constexpr int W = lanes<T>;
    if (shape.kind == Kind::linear) return;
    for (std::int64_t i = 0; i < count; i += W) {
        T piece[W] = {};
        const int here = static_cast<int>(std::min<std::int64_t>(W, count - i));
        std::copy(values + i, values + i + here, piece);
        const Vec<T> v = load<T>(piece);
        store<T>(piece, squared ? shape.of_squared<T>(v) : shape.of_products<T>(v, v, v));
        std::copy(piece, piece + here, values + i);
    }
}

// All that a chunk needs, as plain memory: nothing here belongs to the interpreter, which is let go meanwhile.
struct Chunk {
    const std::int64_t* rows;
    const std::int32_t* labels;
    const void *kernel, *vectors, *squares, *cross, *queries;  // null where not given
    const double *squared, *self;
    Storage kernel_storage, vector_storage;
    std::int64_t batch, K, n, width;
    KernelShape shape;
    Settings settings;
};

template <class T, class S>
void cross_from_vectors(const Chunk& chunk, const std::vector<std::int64_t>& open, T* k) {
    const std::int64_t K = chunk.K, width = chunk.width;
    const std::int64_t* rows = chunk.rows;
    const auto* atoms = static_cast<const S*>(chunk.vectors);
    const bool rbf = chunk.shape.kind == Kind::rbf;
    for (const std::int64_t query : open) {
        const T* y = static_cast<const T*>(chunk.queries) + query * width;
        T* mine = k + query * K;
        for (std::int64_t j = 0; j < K; ++j) {
            const std::int64_t row = rows[query * K + j];
            if (row < 0) mine[j] = T(0);
            else mine[j] = rbf ? pair_sum<T, S, true>(y, atoms + row * width, width)
                               : pair_sum<T, S, false>(y, atoms + row * width, width);
        }
        shaped<T>(chunk.shape, mine, K, rbf);
    }
}

template <class T, class S>
std::unique_ptr<Source<T>> vector_source(const Chunk& chunk) {
    return std::make_unique<VectorKernel<T, S>>(static_cast<const S*>(chunk.vectors), chunk.width,
                                                static_cast<const T*>(chunk.squares), chunk.shape);
}

template <class T>
std::unique_ptr<Source<T>> source_of(const Chunk& chunk) {
    if (chunk.kernel && chunk.kernel_storage == Storage::single)
        return std::make_unique<StoredKernel<T, float>>(static_cast<const float*>(chunk.kernel), chunk.n);
    if (chunk.kernel) return std::make_unique<StoredKernel<T, double>>(static_cast<const double*>(chunk.kernel), chunk.n);
    if (chunk.vector_storage == Storage::single) return vector_source<T, float>(chunk);
    if (chunk.vector_storage == Storage::wide) return vector_source<T, double>(chunk);
    return vector_source<T, Half>(chunk);
}

template <class T>
void solve_chunk(const Chunk& chunk, const Answers& answers) {
    const std::int64_t B = chunk.batch, K = chunk.K;
    const std::int64_t* rows = chunk.rows;
    const std::int32_t* labels = chunk.labels;
    std::vector<std::int64_t> open;
    open.reserve(B);
    for (std::int64_t query = 0; query < B; ++query) {
        const std::int64_t* mine = rows + query * K;
        std::int32_t first = -1;
        bool same = true;
        for (std::int64_t j = 0; j < K && same; ++j) {
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
            for (const std::int64_t query : open) {
                for (std::int64_t j = query * K; j < (query + 1) * K; ++j)
                    made[j] = rows[j] < 0 ? T(0) : T(chunk.squared[j]);
                shaped<T>(chunk.shape, made.data() + query * K, K, true);
            }
        } else if (chunk.vector_storage == Storage::single) {
            cross_from_vectors<T, float>(chunk, open, made.data());
        } else if (chunk.vector_storage == Storage::wide) {
            cross_from_vectors<T, double>(chunk, open, made.data());
        } else {
            cross_from_vectors<T, Half>(chunk, open, made.data());
        }
    }
    const auto source = source_of<T>(chunk);
    Scratch<T>& scratch = Scratch<T>::of_thread();
    Stage<T> stage(*source, chunk.settings, answers, rows, labels, static_cast<int>(K), scratch);
    stage.run(open.data(), static_cast<std::int64_t>(open.size()), k, chunk.self);
    scratch.trim();
}

using Doubles = py::array_t<double>;

py::array local_stage(const py::array& rows, const py::array& labels, int n_classes, const py::object& kernel_,
                      const py::object& vectors_, const py::object& squares_, int kind, double gamma, double coef0,
                      int degree, const py::object& cross_, const py::object& squared_, const py::object& queries_,
                      const py::array& self, double mu, bool gram_form, bool normalize, bool ratio, bool wide,
                      Doubles coefficients, Doubles contributions, Doubles residuals, Doubles energy,
                      py::array_t<std::int64_t> winner) {
    const py::array kernel = or_empty(kernel_), vectors = or_empty(vectors_), squares = or_empty(squares_);
    const py::array cross = or_empty(cross_), squared = or_empty(squared_), queries = or_empty(queries_);
    const bool stored = !kernel_.is_none();
    const bool by_cross = !cross_.is_none(), by_squared = !by_cross && !squared_.is_none();
    const bool by_queries = !by_cross && !by_squared;
    const auto is_working = [wide](const py::array& a) { return wide ? holds<double>(a) : holds<float>(a); };
    require(rows.ndim() == 2 && holds<std::int64_t>(rows) && is_plain(rows), "rows is a C-ordered int64 matrix");
    require(labels.ndim() == 1 && holds<std::int32_t>(labels) && is_plain(labels), "labels is a plain int32 vector");
    const std::int64_t B = rows.shape(0), K = rows.shape(1), n = labels.shape(0);
    require(K > 0 && K < (1 << 20), "rows names between 1 and a million neighbours");
    require(n < (std::int64_t(1) << 31), "there are fewer than 2^31 examples");
    require(self.ndim() == 1 && self.shape(0) == B && holds<double>(self) && is_plain(self), "self is float64 (B,)");
    if (stored) {
        require(kernel.ndim() == 2 && kernel.shape(0) == n && kernel.shape(1) == n && is_plain(kernel),
                "kernel is (n, n), C-ordered");
        require(holds<float>(kernel) || holds<double>(kernel), "kernel is float32 or float64");
    }
    require(kind >= 0 && kind <= 2 && degree >= 1, "kind is 0, 1 or 2 and degree 1 or more");
    if (!stored || by_queries) {
        require(vectors.ndim() == 2 && vectors.shape(0) == n && is_plain(vectors), "vectors is (n, d), C-ordered");
        require(holds_floats(vectors),
                "vectors is float16, float32 or float64");
    }
    if (!stored)
        require(squares.ndim() == 1 && squares.shape(0) == n && is_working(squares) && is_plain(squares),
                "squares is (n,) of the working precision");
    const py::array& k = by_cross ? cross : by_squared ? squared : queries;
    require(k.ndim() == 2 && k.shape(0) == B && is_plain(k), "cross, squared or queries is C-ordered with a line a query");
    require(by_squared ? holds<double>(k) : is_working(k), "squared is float64, cross and queries of the working precision");
    require(k.shape(1) == (by_queries ? vectors.shape(1) : K), "cross and squared are (B, K), queries (B, d)");
    require(!by_squared || static_cast<Kind>(kind) == Kind::rbf, "squared distances serve the rbf kernel only");
    const Chunk chunk{static_cast<const std::int64_t*>(rows.data()), static_cast<const std::int32_t*>(labels.data()),
                      stored ? kernel.data() : nullptr, vectors.data(), squares.data(),
                      by_cross ? cross.data() : nullptr, queries.data(),
                      by_squared ? static_cast<const double*>(squared.data()) : nullptr,
                      static_cast<const double*>(self.data()), storage_of(kernel), storage_of(vectors), B, K, n,
                      vectors.ndim() == 2 ? vectors.shape(1) : 0,
                      {static_cast<Kind>(kind), gamma, coef0, degree},
                      {mu, gram_form, normalize, ratio, n_classes}};

    const std::int64_t C = n_classes;
    require(has_shape(coefficients, {B, K}) && has_shape(contributions, {B, K}), "coefficients, contributions are (B, K)");
    require(has_shape(residuals, {B, C}) && has_shape(energy, {B}) && has_shape(winner, {B}),
            "residuals is (B, C), energy and winner are (B,)");
    py::array_t<std::int8_t> flags(B);
    const Answers answers{coefficients.mutable_data(), contributions.mutable_data(), residuals.mutable_data(),
                          energy.mutable_data(), winner.mutable_data(), flags.mutable_data()};
    bool in_range = true;
    {
        py::gil_scoped_release release;
        const std::int64_t* row = chunk.rows;
        const std::int32_t* label = chunk.labels;
        for (std::int64_t i = 0; i < B * K; ++i)
            in_range = in_range && row[i] < n && (row[i] < 0 || (label[row[i]] >= 0 && label[row[i]] < n_classes));
        if (in_range) {
            if (wide) solve_chunk<double>(chunk, answers);
            else solve_chunk<float>(chunk, answers);
        }
    }
    require(in_range, "rows point outside labels, or labels outside the classes");
    return flags;
}

}  // namespace
}  // namespace kcrc

void bind_local(py::module_& m) {
    using namespace py::literals;
    m.def("local_stage", &kcrc::local_stage, py::kw_only(), "rows"_a, "labels"_a, "n_classes"_a, "kernel"_a = py::none(),
          "vectors"_a = py::none(), "squares"_a = py::none(), "kind"_a = 0, "gamma"_a = 1.0, "coef0"_a = 0.0,
          "degree"_a = 1, "cross"_a = py::none(), "squared"_a = py::none(), "queries"_a = py::none(), "self"_a,
          "mu"_a, "gram_form"_a = false, "normalize"_a = true, "ratio"_a = true, "wide"_a = false,
          py::arg("coefficients").noconvert(), py::arg("contributions").noconvert(), py::arg("residuals").noconvert(),
          py::arg("energy").noconvert(), py::arg("winner").noconvert(),
          "Fills in coefficients, contributions (B, K), residuals (B, C), energy and winner (B,) of the queries it\n"
          "solves and returns flags (B,): 0 coded, 1 unanimous, 2 nothing resembles it, 3 not solved.\n"
          "The kernel among neighbours comes from `kernel` (n, n) or from `vectors` and `squares`; the query's from\n"
          "`cross` (B, K), `squared` distances (B, K, rbf) or `queries` (B, d).");
}
