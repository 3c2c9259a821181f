// A register of numbers worked on at once, by the compiler's vector extensions where it has them and by plain
// loops where it does not.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace kcrc {

#ifdef __AVX__
constexpr int kRegisterBytes = 32;
#else
constexpr int kRegisterBytes = 16;  // SSE2, NEON
#endif

#if defined(__GNUC__) || defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"  // every function here is inlined: no call passes a register by value
#define KCRC_INLINE inline __attribute__((always_inline))

template <class T> struct Word;
template <> struct Word<float> { using type = std::uint32_t; };
template <> struct Word<double> { using type = std::uint64_t; };

template <class T> struct Lanes {
    static constexpr int count = kRegisterBytes / sizeof(T);
    typedef T Values __attribute__((vector_size(kRegisterBytes)));
    typedef typename Word<T>::type Bits __attribute__((vector_size(kRegisterBytes)));
    Values v;

    static KCRC_INLINE Lanes zero() { return {Values{}}; }
    static KCRC_INLINE Lanes all(T x) { return {Values{} + x}; }
    static KCRC_INLINE Lanes load(const T* p) {
        Lanes r;
        std::memcpy(&r.v, p, sizeof(r.v));
        return r;
    }
    KCRC_INLINE void store(T* p) const { std::memcpy(p, &v, sizeof(v)); }
    KCRC_INLINE T operator[](int i) const { return v[i]; }
    KCRC_INLINE Lanes absolute() const {
        return {(Values)((Bits)v & ((Bits{} - 1) >> 1))};
    }
    // The first number replaced.
    KCRC_INLINE Lanes with_first(T x) const {
        Lanes r = *this;
        r.v[0] = x;
        return r;
    }
};
template <class T> KCRC_INLINE Lanes<T> operator+(Lanes<T> a, Lanes<T> b) { return {a.v + b.v}; }
template <class T> KCRC_INLINE Lanes<T> operator-(Lanes<T> a, Lanes<T> b) { return {a.v - b.v}; }
template <class T> KCRC_INLINE Lanes<T> operator*(Lanes<T> a, Lanes<T> b) { return {a.v * b.v}; }
template <class T> KCRC_INLINE Lanes<T> operator/(Lanes<T> a, Lanes<T> b) { return {a.v / b.v}; }
template <class T> KCRC_INLINE Lanes<T> larger(Lanes<T> a, Lanes<T> b) { return {a.v > b.v ? a.v : b.v}; }
template <class T> KCRC_INLINE Lanes<T> smaller(Lanes<T> a, Lanes<T> b) { return {a.v < b.v ? a.v : b.v}; }

#else
#define KCRC_INLINE inline

template <class T> struct Lanes {
    static constexpr int count = kRegisterBytes / sizeof(T);
    T v[count];

    static Lanes all(T x) {
        Lanes r;
        for (int i = 0; i < count; ++i) r.v[i] = x;
        return r;
    }
    static Lanes zero() { return all(T(0)); }
    static Lanes load(const T* p) {
        Lanes r;
        std::memcpy(r.v, p, sizeof(r.v));
        return r;
    }
    void store(T* p) const { std::memcpy(p, v, sizeof(v)); }
    T operator[](int i) const { return v[i]; }
    Lanes absolute() const {
        Lanes r;
        for (int i = 0; i < count; ++i) r.v[i] = v[i] < T(0) ? -v[i] : v[i];
        return r;
    }
    Lanes with_first(T x) const {
        Lanes r = *this;
        r.v[0] = x;
        return r;
    }
};
#define KCRC_LANEWISE(name, expression)                                \
    template <class T> Lanes<T> name(Lanes<T> a, Lanes<T> b) {         \
        Lanes<T> r;                                                    \
        for (int i = 0; i < Lanes<T>::count; ++i) {                    \
            const T x = a.v[i], y = b.v[i];                            \
            r.v[i] = (expression);                                     \
        }                                                              \
        return r;                                                      \
    }
KCRC_LANEWISE(operator+, x + y)
KCRC_LANEWISE(operator-, x - y)
KCRC_LANEWISE(operator*, x * y)
KCRC_LANEWISE(operator/, x / y)
KCRC_LANEWISE(larger, x > y ? x : y)
KCRC_LANEWISE(smaller, x < y ? x : y)
#undef KCRC_LANEWISE
#endif

// Sums and differences on the units that multiply, a·1 ± b, which is exact: beside additions and maxima those units
// stand idle, and the work is done in less time. Where the CPU has no fused unit they are plain sums and differences.
template <class T> struct Fused {
#ifdef __FMA__
    Lanes<T> one = Lanes<T>::all(T(1));
    KCRC_INLINE Fused() { asm("" : "+x"(one.v)); }  // a constant 1 would be optimised away, and the trick with it
    KCRC_INLINE Lanes<T> sum(Lanes<T> a, Lanes<T> b) const { return a * one + b; }
    KCRC_INLINE Lanes<T> difference(Lanes<T> a, Lanes<T> b) const { return a * one - b; }
#else
    KCRC_INLINE Lanes<T> sum(Lanes<T> a, Lanes<T> b) const { return a + b; }
    KCRC_INLINE Lanes<T> difference(Lanes<T> a, Lanes<T> b) const { return a - b; }
#endif
};

// Asks for memory that will be read soon.
template <class T> inline void fetch(const T* from, std::ptrdiff_t n) {
#if defined(__GNUC__) || defined(__clang__)
    for (std::ptrdiff_t p = 0; p < n; p += 64 / sizeof(T)) __builtin_prefetch(from + p, 0, 2);
#else
    (void)from, (void)n;
#endif
}

}  // namespace kcrc
