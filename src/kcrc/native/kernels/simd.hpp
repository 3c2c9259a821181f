// A vector of T that fills a register, and the few operations the kernels need.
// GCC and Clang have vectors in the language; elsewhere a small array stands in and the compiler does what it can.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#if defined(__SSE2__) || defined(_M_X64)
#include <immintrin.h>
#endif

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 12
#error "kcrc needs GCC 12 or newer (or Clang 14, or Visual Studio 2019)"
#elif defined(__clang__) && !defined(__apple_build_version__) && __clang_major__ < 14
#error "kcrc needs Clang 14 or newer (or GCC 12)"
#elif defined(_MSC_VER) && _MSC_VER < 1920
#error "kcrc needs Visual Studio 2019 or newer"
#endif

#if defined(__AVX2__)
#define KCRC_VECTOR_BYTES 32
#else
#define KCRC_VECTOR_BYTES 16
#endif

#if defined(__GNUC__) || defined(__clang__)
#define KCRC_INLINE inline __attribute__((always_inline))
#define KCRC_RESTRICT __restrict__
#define KCRC_PREFETCH(address) __builtin_prefetch(address)
#else
#define KCRC_INLINE inline
#define KCRC_RESTRICT __restrict
#define KCRC_PREFETCH(address) ((void)0)
#endif

namespace kcrc {

template <class T>
struct IntegerOf;
template <>
struct IntegerOf<float> {
    using type = std::int32_t;
};
template <>
struct IntegerOf<double> {
    using type = std::int64_t;
};

// At least four, in two registers where they do not fit one: tiles are four columns wide (panels.hpp).
template <class T>
constexpr int lanes = std::max(4, KCRC_VECTOR_BYTES / static_cast<int>(sizeof(T)));

#if defined(__GNUC__) || defined(__clang__)

template <class T>
struct VectorOf {
    typedef T type __attribute__((vector_size(lanes<T> * sizeof(T))));
};
template <class T>
using Vec = typename VectorOf<T>::type;

template <class T>
KCRC_INLINE Vec<T> load(const T* p) {
    Vec<T> v;
    std::memcpy(&v, p, sizeof(v));
    return v;
}
template <class T>
KCRC_INLINE void store(T* p, Vec<T> v) {
    std::memcpy(p, &v, sizeof(v));
}
template <class T>
KCRC_INLINE Vec<T> splat(T x) {
    return x - Vec<T>{};  // x − 0: one broadcast, no arithmetic left
}
// v where a == b, else 0
template <class T>
KCRC_INLINE Vec<T> where_equal(Vec<T> a, Vec<T> b, Vec<T> v) {
    using Mask = Vec<typename IntegerOf<T>::type>;
    const Mask mask = (Mask)(a == b);
    return (Vec<T>)((Mask)v & mask);
}
// v where a > b, else w
template <class T>
KCRC_INLINE Vec<T> where_above(Vec<T> a, Vec<T> b, Vec<T> v, Vec<T> w) {
    using Mask = Vec<typename IntegerOf<T>::type>;
    const Mask mask = (Mask)(a > b);
    return (Vec<T>)(((Mask)v & mask) | ((Mask)w & ~mask));
}
// |v|
template <class T>
KCRC_INLINE Vec<T> absolute(Vec<T> v) {
    using Bits = Vec<std::make_unsigned_t<typename IntegerOf<T>::type>>;
    return (Vec<T>)((Bits)v & ((Bits{} - 1) >> 1));
}
// As a comparison chooses: b where either is no number.
template <class T>
KCRC_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) {
    return a > b ? a : b;
}
template <class T>
KCRC_INLINE Vec<T> smaller(Vec<T> a, Vec<T> b) {
    return a < b ? a : b;
}
// 2^n where ``shifted`` holds n in its lowest mantissa bits
template <class T>
KCRC_INLINE Vec<T> power_of_two(Vec<T> shifted, typename IntegerOf<T>::type offset, int mantissa_bits) {
    using Integers = Vec<typename IntegerOf<T>::type>;
    return (Vec<T>)(((Integers)shifted - offset) << mantissa_bits);
}

// The W × W transpose of W vectors, by exchanging halves, quarters, …
template <int STEP, bool HIGH>
constexpr int exchanged(int lane, int width) {
    return HIGH ? ((lane & STEP) ? width + lane : lane + STEP) : ((lane & STEP) ? width + lane - STEP : lane);
}
template <class T, int STEP, std::size_t... L>
KCRC_INLINE void exchange(Vec<T>* row, std::index_sequence<L...>) {
    constexpr int W = lanes<T>;
    for (int i = 0; i < W; ++i) {
        if (i & STEP) continue;
        const Vec<T> a = row[i], b = row[i + STEP];
        row[i] = __builtin_shufflevector(a, b, exchanged<STEP, false>(static_cast<int>(L), W)...);
        row[i + STEP] = __builtin_shufflevector(a, b, exchanged<STEP, true>(static_cast<int>(L), W)...);
    }
}
template <class T>
KCRC_INLINE void transpose(Vec<T>* row) {
    using All = std::make_index_sequence<lanes<T>>;
    if constexpr (lanes<T> > 4) exchange<T, 4>(row, All{});
    if constexpr (lanes<T> > 2) exchange<T, 2>(row, All{});
    exchange<T, 1>(row, All{});
}

#else

template <class T>
struct Vec {
    T lane[lanes<T>];
    T operator[](int i) const { return lane[i]; }
    T& operator[](int i) { return lane[i]; }
};
#define KCRC_LANEWISE(op)                                                      \
    template <class T>                                                         \
    KCRC_INLINE Vec<T> operator op(Vec<T> a, Vec<T> b) {                       \
        for (int i = 0; i < lanes<T>; ++i) a.lane[i] = a.lane[i] op b.lane[i]; \
        return a;                                                              \
    }                                                                          \
    template <class T>                                                         \
    KCRC_INLINE Vec<T>& operator op## = (Vec<T> & a, Vec<T> b) {               \
        return a = a op b;                                                     \
    }
KCRC_LANEWISE(+)
KCRC_LANEWISE(-)
KCRC_LANEWISE(*)
KCRC_LANEWISE(/)
#undef KCRC_LANEWISE
template <class T>
KCRC_INLINE Vec<T> load(const T* p) {
    Vec<T> v;
    std::memcpy(v.lane, p, sizeof(v.lane));
    return v;
}
template <class T>
KCRC_INLINE void store(T* p, Vec<T> v) {
    std::memcpy(p, v.lane, sizeof(v.lane));
}
template <class T>
KCRC_INLINE Vec<T> splat(T x) {
    Vec<T> v;
    for (int i = 0; i < lanes<T>; ++i) v.lane[i] = x;
    return v;
}
template <class T>
KCRC_INLINE Vec<T> where_equal(Vec<T> a, Vec<T> b, Vec<T> v) {
    for (int i = 0; i < lanes<T>; ++i) v.lane[i] = a.lane[i] == b.lane[i] ? v.lane[i] : T(0);
    return v;
}
template <class T>
KCRC_INLINE Vec<T> where_above(Vec<T> a, Vec<T> b, Vec<T> v, Vec<T> w) {
    for (int i = 0; i < lanes<T>; ++i) v.lane[i] = a.lane[i] > b.lane[i] ? v.lane[i] : w.lane[i];
    return v;
}
template <class T>
KCRC_INLINE Vec<T> absolute(Vec<T> v) {
    for (int i = 0; i < lanes<T>; ++i) v.lane[i] = v.lane[i] < T(0) ? -v.lane[i] : v.lane[i];
    return v;
}
template <class T>
KCRC_INLINE Vec<T> larger(Vec<T> a, Vec<T> b) {
    return where_above<T>(a, b, a, b);
}
template <class T>
KCRC_INLINE Vec<T> smaller(Vec<T> a, Vec<T> b) {
    return where_above<T>(b, a, a, b);
}
template <class T>
KCRC_INLINE Vec<T> power_of_two(Vec<T> shifted, typename IntegerOf<T>::type offset, int mantissa_bits) {
    for (int i = 0; i < lanes<T>; ++i) {
        typename IntegerOf<T>::type bits;
        std::memcpy(&bits, &shifted.lane[i], sizeof(bits));
        bits = (bits - offset) << mantissa_bits;
        std::memcpy(&shifted.lane[i], &bits, sizeof(bits));
    }
    return shifted;
}

template <class T>
KCRC_INLINE void transpose(Vec<T>* row) {
    for (int i = 0; i < lanes<T>; ++i)
        for (int j = 0; j < i; ++j) std::swap(row[i].lane[j], row[j].lane[i]);
}

#endif

template <class T>
KCRC_INLINE T sum_of(Vec<T> v) {
    T total = v[0];
    for (int i = 1; i < lanes<T>; ++i) total += v[i];
    return total;
}

template <class T>
KCRC_INLINE Vec<T> square_root(Vec<T> v) {
    for (int i = 0; i < lanes<T>; ++i) v[i] = std::sqrt(v[i]);
    return v;
}

// Sums and differences on the units that multiply, a·1 ± b, which is exact: beside additions and maxima those units
// stand idle, and the work is done in less time. Where the CPU has no fused unit they are plain sums and differences.
template <class T>
struct Fused {
#if defined(__FMA__) && (defined(__GNUC__) || defined(__clang__))
    Vec<T> one = splat<T>(T(1));
    KCRC_INLINE Fused() { asm("" : "+x"(one)); }  // a constant 1 would be optimised away, and the trick with it
    KCRC_INLINE Vec<T> sum(Vec<T> a, Vec<T> b) const { return a * one + b; }
    KCRC_INLINE Vec<T> difference(Vec<T> a, Vec<T> b) const { return a * one - b; }
#else
    KCRC_INLINE Vec<T> sum(Vec<T> a, Vec<T> b) const { return a + b; }
    KCRC_INLINE Vec<T> difference(Vec<T> a, Vec<T> b) const { return a - b; }
#endif
};

// A bit for each lane of COUNT vectors that is above the bar.
template <int COUNT>
KCRC_INLINE unsigned lanes_above(const Vec<float>* v, Vec<float> bar) {
    static_assert(COUNT * lanes<float> <= 32);
    unsigned bits = 0;
    for (int j = 0; j < COUNT; ++j) {
#if defined(__AVX2__)
        const __m256i mask = (__m256i)(v[j] > bar);
        bits |= static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(mask))) << (j * lanes<float>);
#else
        for (int i = 0; i < lanes<float>; ++i)
            bits |= static_cast<unsigned>(v[j][i] > bar[i]) << (j * lanes<float> + i);
#endif
    }
    return bits;
}
KCRC_INLINE int lowest_bit(unsigned bits) {
#if defined(__GNUC__) || defined(__clang__)
    return __builtin_ctz(bits);
#else
    int place = 0;
    while (!(bits >> place & 1)) ++place;
    return place;
#endif
}

// Asks for memory that will be read soon.
inline void fetch(const void* from, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 64) KCRC_PREFETCH(static_cast<const char*>(from) + at);
}

}  // namespace kcrc
