// Python's door to the local stage: checks shapes and types once a chunk, then works without the interpreter.
#include <memory>

#include "checks.hpp"
#include "module.hpp"
#include "stage.hpp"

namespace kcrc {
namespace {

constexpr std::int64_t MOST_NEIGHBOURS = (1 << 20) - 1;

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

py::array local_stage(const py::object& rows_, const py::object& labels_, int n_classes, const py::object& kernel_,
                      const py::object& vectors_, const py::object& squares_, int kind, double gamma, double coef0,
                      int degree, const py::object& cross_, const py::object& squared_, const py::object& queries_,
                      const py::object& self_, double mu, bool gram_form, bool normalize, bool ratio, bool wide,
                      const py::object& coefficients_, const py::object& contributions_, const py::object& residuals_,
                      const py::object& energy_, const py::object& winner_) {
    const Argument rows("rows", rows_), labels("labels", labels_), kernel("kernel", kernel_), vectors("vectors", vectors_);
    const Argument squares("squares", squares_), cross("cross", cross_), squared("squared", squared_);
    const Argument queries("queries", queries_), self("self", self_);
    const Argument coefficients("coefficients", coefficients_), contributions("contributions", contributions_);
    const Argument residuals("residuals", residuals_), energy("energy", energy_), winner("winner", winner_);
    const auto working = [wide](const Argument& one, Shape shape) -> const void* {
        return wide ? static_cast<const void*>(one.values<double>(shape)) : one.values<float>(shape);
    };
    Chunk chunk{};
    chunk.rows = rows.values<std::int64_t>({ANY, ANY});
    chunk.labels = labels.values<std::int32_t>({ANY});
    const std::int64_t B = chunk.batch = rows.extent(0), K = chunk.K = rows.extent(1), n = chunk.n = labels.extent(0);
    between<std::int64_t>("the width of rows", K, 1, MOST_NEIGHBOURS);
    between("n_classes", n_classes, 1, static_cast<int>(LONGEST));
    chunk.self = self.values<double>({B});
    chunk.shape = kernel_shape(kind, gamma, coef0, degree, wide);
    chunk.settings = {mu, gram_form, normalize, ratio, n_classes};
    if (kernel) {
        chunk.kernel_storage = kernel.is_wide() ? Storage::wide : Storage::single;
        chunk.kernel = kernel.memory({n, n});
    }
    if (!kernel || !(cross || squared)) {
        chunk.vector_storage = vectors.storage();
        chunk.vectors = vectors.memory({n, ANY});
        chunk.width = vectors.extent(1);
    }
    if (!kernel) chunk.squares = working(squares, {n});
    if (cross) {
        chunk.cross = working(cross, {B, K});
    } else if (squared) {
        require(chunk.shape.kind == Kind::rbf, "squared", "distances serve the rbf kernel only");
        chunk.squared = squared.values<double>({B, K});
    } else {
        chunk.queries = working(queries, {B, chunk.width});
    }
    const std::int64_t C = n_classes;
    py::array_t<std::int8_t> flags(B);
    const Answers answers{coefficients.results<double>({B, K}), contributions.results<double>({B, K}),
                          residuals.results<double>({B, C}),    energy.results<double>({B}),
                          winner.results<std::int64_t>({B}),    flags.mutable_data()};
    check_apart({&coefficients, &contributions, &residuals, &energy, &winner},
                {&rows, &labels, &kernel, &vectors, &squares, &cross, &squared, &queries, &self});
    {
        py::gil_scoped_release release;
        bool in_range = true;
        for (std::int64_t i = 0; i < B * K; ++i) {
            const std::int64_t row = chunk.rows[i];
            in_range = in_range && row < n && (row < 0 || (chunk.labels[row] >= 0 && chunk.labels[row] < n_classes));
        }
        require(in_range, "rows", "point outside labels, or labels outside the classes");
        if (wide) solve_chunk<double>(chunk, answers);
        else solve_chunk<float>(chunk, answers);
    }
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
          "coefficients"_a, "contributions"_a, "residuals"_a, "energy"_a, "winner"_a,
          "Fills in coefficients, contributions (B, K), residuals (B, C), energy and winner (B,) of the queries it\n"
          "solves and returns flags (B,): 0 coded, 1 unanimous, 2 nothing resembles it, 3 not solved.\n"
          "The kernel among neighbours comes from `kernel` (n, n) or from `vectors` and `squares`; the query's from\n"
          "`cross` (B, K), `squared` distances (B, K, rbf) or `queries` (B, d).");
}
