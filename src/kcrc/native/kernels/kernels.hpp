// What the arithmetic offers: plain memory in, plain memory out. Nothing behind this header knows of Python, and
// nothing of it looks at what it is given: the binding has (binding/checks.hpp). A function template is there for float
// and double. Each of these is compiled once for any CPU and once for AVX2 + FMA (setup.py).
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>

namespace kcrc {

using Index = std::int64_t;

// What these were compiled for: "avx2", or "portable" for any CPU.
const char* level();

// How numbers are stored: float16, float32 or float64.
enum class Storage { half, single, wide };

// A number in a working precision: the largest there is instead of ∞, which would make no number of ∞ · 0.
template <class T>
inline T narrowed(double value) {
    constexpr double most = std::numeric_limits<T>::max();
    return static_cast<T>(std::max(-most, std::min(most, value)));
}

// k(a, b) = a·b, (γ a·b + c)^degree, or exp(−γ‖a − b‖²)
enum class Kind : int { linear = 0, polynomial = 1, rbf = 2 };
constexpr int HIGHEST_DEGREE = 64;  // of a polynomial; as many products

struct KernelShape {
    Kind kind;
    double gamma, coef0;
    int degree;
};

// ---- search.cpp: the k nearest examples
// ------------------------------------------------------------------------------

struct Examples {
    const void* vectors;  // (n, width)
    Storage storage;
    Index n, width;
    // Where their scan coordinates are: all null where every example is to be measured.
    const std::uint8_t* codes;  // stored: codes.hpp says how they lie
    const float* facts;
    const std::int32_t* slots;
    const void* centre;  // to be made
};

struct Asked {            // the queries of one call
    const void* queries;  // (B, width), float, or double where wide
    bool wide;
    const float* coordinates;                 // (B, depth)
    const double *square, *rounding, *slack;  // (B,)
    double scale;
    int depth, k;
    Index batch;
    Index* rows;      // (B, k) out
    double* squared;  // (B, k) out
};

// Codes of scan coordinates, eight bits each: arrays (panels, code_steps, CODE_ROWS, CODE_STEP) and their facts
// (panels, FACTS, CODE_ROWS). codes.hpp says what they are.
constexpr int CODE_ROWS = 16;        // examples a panel holds
constexpr int CODE_STEP = 4;         // coordinates that one 32-bit lane sums
constexpr int MOST_CODED = 1 << 16;  // scan coordinates: a sum of their products fits 31 bits
enum Fact { SCALE, REST, KEPT, HALF, FACTS };
constexpr int code_steps(Index depth) { return static_cast<int>((depth + CODE_STEP - 1) / CODE_STEP); }
// ``count`` rows of scan coordinates into the slots from ``first`` on.
void encode_rows(const float* coordinates, Index count, int depth, Index first, std::uint8_t* codes, float* facts);
void nearest(const Examples& examples, const Asked& asked);

// ---- local.cpp: the local stage
// --------------------------------------------------------------------------------------

constexpr Index MOST_NEIGHBOURS = (1 << 20) - 1;
enum Flag : std::int8_t {
    CODED = 0,
    UNANIMOUS = 1,
    NEAREST = 2,
    NOT_POSITIVE = 3
};  // the first three as in evidence.py

struct Settings {
    double mu;
    bool gram_form, normalize, ratio;
    int n_classes;
};

struct Chunk {                   // queries, their neighbours, and where kernel values come from
    const Index* rows;           // (B, K), −1 for no neighbour
    const std::int32_t* labels;  // (n,)
    const void *kernel, *vectors, *squares, *cross, *queries;  // null where not given
    const double *squared, *self;
    Storage kernel_storage, vector_storage;
    bool wide;  // the working precision, of squares, cross and queries
    Index batch, K, n, width;
    KernelShape shape;
    Settings settings;
};

struct Answers {            // where the answers of the chunk go; all row-major, untouched where a query is not solved
    double* coefficients;   // (B, K)
    double* contributions;  // (B, K)
    double* residuals;      // (B, C)
    double* energy;         // (B,)
    Index* winner;          // (B,)
    std::int8_t* flags;     // (B,)
};

void local_stage(const Chunk& chunk, const Answers& answers);

// ---- gram.cpp: the kernel matrix of all examples
// ---------------------------------------------------------------------

// Rows start … stop−1 with all before them, into both halves of ``out`` (n, n); ``squares`` and ``out`` in the working
// precision.
void kernel_rows(const void* vectors, Storage storage, const void* squares, bool wide, Index n, Index width,
                 const KernelShape& shape, Index start, Index stop, void* out);

// ---- left_out.cpp: dot products of left-out examples' dictionaries
// ---------------------------------------------------

// ``values`` holds vectors (n, width), or with ``products`` the dot products (n, n) of all of them; ``along`` (B, W)
// with
// ``strength`` (B,), and ``scale`` (B, W), may be null.
template <class T>
void left_out_products(const T* values, Index width, bool products, const Index* rows, Index B, int W, const T* along,
                       const T* strength, const T* scale, T* out);

// ---- judge.cpp: leave-one-out trials
// ---------------------------------------------------------------------------------

enum class Holds { kernel, distances, products };  // what a matrix of a trial holds

template <class T>
struct Trials {
    const T *G, *k, *squares;            // (B, K, K), (B, K), and (B, K) or null
    const double* self;                  // (B,)
    const std::int32_t *labels, *truth;  // (B, K), (B,)
    Index B;
    int K;
};

struct Grid {  // of settings
    const std::int32_t* sizes;
    Index n_sizes;
    const double* mus;
    int n_mus;
    bool gram_form, normalize;
    Holds holds;
    double gamma;
};

template <class T>
void judge(const Trials<T>& trials, const Grid& grid, float* out);  // (sizes, mus, 2, B)

// ---- omp.cpp: learning a dictionary
// ----------------------------------------------------------------------------------

// Of ``n`` signals: atoms (n, sparsity), −1 where unused, and their values.
template <class T>
void batch_omp(const T* gram, const T* correlations, Index n_atoms, Index n, Index sparsity, T tolerance, Index* atoms,
               T* values);

// One pass of K-SVD over atoms (n_atoms, size), in place. slots[ends[k] .. ends[k+1]] are the places in ``values``
// (N, width, flat) that hold atom k's coefficients; ``residual`` is (N, size).
template <class T>
void update_atoms(T* atoms, T* residual, T* values, const Index* slots, const Index* ends, Index n_atoms, Index size,
                  Index width, T zero);

// ---- sparse.cpp: the lasso
// -------------------------------------------------------------------------------------------

template <class T>
struct Targets {
    const T *gram, *b;           // (D, K, K), (B, K)
    const unsigned char* real;   // (D, K)
    const Index* which;          // (B,): the Gram matrix of each
    const double *energy, *lam;  // (B,)
    Index B, K;
};

// x (B, K) holds the start and is overwritten; facts (B, 5), rounds (B,).
template <class T>
void lasso(const Targets<T>& targets, double tol, int max_iter, double* x, double* facts, Index* rounds);

// ---- distances.cpp: sums and maxima over coordinates
// -----------------------------------------------------------------

enum class Measure { manhattan, chessboard, sqeuclidean, chi2, common_mass };

template <class T>
struct Rows {
    const T* first;
    Index count, width;
};

template <class T>
void distances_pairwise(Measure measure, Rows<T> a, Rows<T> b, T* out);
template <class T>
void distances_selected(Measure measure, Rows<T> a, Rows<T> b, const Index* rows, Index per_query, T* out);
template <class T>
void distances_within(Measure measure, Rows<T> b, const Index* rows, Index n_sets, Index size, T* out);

// ---- tangent.cpp: tangent distances
// ----------------------------------------------------------------------------------

constexpr int FRAME = 8;  // numbers a pixel

struct Plane {
    double ridge;
    bool both;  // of two planes; else from an image to a plane
};

// Frames are rows of FRAME · pixels numbers.
template <class T>
void tangent_pairwise(Rows<T> a, Rows<T> b, Plane plane, T* out);
template <class T>
void tangent_selected(Rows<T> a, Rows<T> b, const Index* rows, Index per_query, Plane plane, T* out);
template <class T>
void tangent_within(Rows<T> b, const Index* rows, Index n_sets, Index size, Plane plane, T* out);

// ---- shape_context.cpp: shape context distances
// ----------------------------------------------------------------------

constexpr Index MOST_POINTS = 1 << 14;  // a table of all pairs of them is counted by an int
constexpr double FARTHEST = 1e100;      // a cost or a place beyond this counts as this, and so does what is no number

struct Matching {
    int radii, angles;
    double inner, outer;
    int iterations;
    double dummies, dummy_cost, stiffness;
};

struct Shapes {  // points (rows, capacity, 2), contexts (rows, capacity, bins), patches (rows, capacity, window)
    const double *points, *contexts, *patches;
    const Index* count;
    Index rows, capacity, bins, window;
};

struct Weights {
    double bending, appearance;
};

void shape_context(const Matching& matching, const Shapes& left, const Shapes& right, const Index* first,
                   const Index* second, Index pairs, Weights weights, double* out);

}  // namespace kcrc
