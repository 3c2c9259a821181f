// A vector of T that fills one register, and the few operations the kernels need.
// GCC and Clang have vectors in the language; elsewhere a small array stands in and the compiler does what it can.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#if defined(__AVX__)
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
#define KCRC_RESTRICT
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

template <class T>
constexpr int lanes = KCRC_VECTOR_BYTES / static_cast<int>(sizeof(T));

#if defined(__GNUC__) || defined(__clang__)

template <class T>
struct VectorOf {
    typedef T type __attribute__((vector_size(KCRC_VECTOR_BYTES)));
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
// whether any lane of a, b or c is above the bar
template <class T>
KCRC_INLINE bool any_above(Vec<T> a, Vec<T> b, Vec<T> c, Vec<T> bar) {
    using Mask = Vec<typename IntegerOf<T>::type>;
    const Mask mask = (Mask)(a > bar) | (Mask)(b > bar) | (Mask)(c > bar);
    std::uint64_t bits[KCRC_VECTOR_BYTES / 8], any = 0;
    std::memcpy(bits, &mask, sizeof(bits));
    for (std::uint64_t part : bits) any |= part;
    return any != 0;
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
#define KCRC_LANEWISE(op)                                                                       \
    template <class T>                                                                          \
    KCRC_INLINE Vec<T> operator op(Vec<T> a, Vec<T> b) {                                        \
        for (int i = 0; i < lanes<T>; ++i) a.lane[i] = a.lane[i] op b.lane[i];                  \
        return a;                                                                               \
    }                                                                                           \
    template <class T>                                                                          \
    KCRC_INLINE Vec<T>& operator op##=(Vec<T>& a, Vec<T> b) { return a = a op b; }
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
KCRC_INLINE bool any_above(Vec<T> a, Vec<T> b, Vec<T> c, Vec<T> bar) {
    bool any = false;
    for (int i = 0; i < lanes<T>; ++i)
        any = any || a.lane[i] > bar.lane[i] || b.lane[i] > bar.lane[i] || c.lane[i] > bar.lane[i];
    return any;
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

// A number in a working precision: the largest there is instead of ∞, which would make no number of ∞ · 0.
template <class T>
KCRC_INLINE T narrowed(double value) {
    constexpr double most = std::numeric_limits<T>::max();
    return static_cast<T>(std::max(-most, std::min(most, value)));
}

template <class T>
struct ExpConstants;
template <>
struct ExpConstants<float> {
    static constexpr int mantissa_bits = 23, degree = 7;
    static constexpr float magic = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
    static constexpr float lowest = -87.0f, ln2_high = 0.693145751953125f, ln2_low = 1.42860682030941723212e-6f;
    static constexpr std::int32_t offset = 0x4B400000 - 127;
};
template <>
struct ExpConstants<double> {
    static constexpr int mantissa_bits = 52, degree = 13;
    static constexpr double magic = 6755399441055744.0;  // 1.5 * 2^52
    static constexpr double lowest = -708.0, ln2_high = 6.93147180369123816490e-01,
                            ln2_low = 1.90821492927058770002e-10;
    static constexpr std::int64_t offset = 0x4338000000000000LL - 1023;
};

// e^x for x ≤ 0, to about one unit in the last place; 0 where the value would be subnormal.
template <class T>
KCRC_INLINE Vec<T> exp_of_negative(Vec<T> x) {
    using C = ExpConstants<T>;
    const Vec<T> lowest = splat<T>(C::lowest), magic = splat<T>(C::magic);
    const Vec<T> safe = where_above<T>(x, lowest, x, lowest);
    const Vec<T> shifted = safe * splat<T>(T(1.44269504088896340736)) + magic;
    const Vec<T> n = shifted - magic;
    const Vec<T> r = (safe - n * splat<T>(C::ln2_high)) - n * splat<T>(C::ln2_low);
    T coefficient[C::degree + 1];
    coefficient[0] = T(1);
    for (int i = 1; i <= C::degree; ++i) coefficient[i] = coefficient[i - 1] / T(i);
    Vec<T> p = splat<T>(coefficient[C::degree]);
    for (int i = C::degree - 1; i >= 0; --i) p = p * r + splat<T>(coefficient[i]);
    p = p * power_of_two<T>(shifted, C::offset, C::mantissa_bits);
    return where_above<T>(x, lowest, p, splat<T>(T(0)));
}

}  // namespace kcrc
