// e^x of a register of numbers: x = n ln 2 + r, 2^n from the bits of n, e^r by its series.
#pragma once
#include "simd.hpp"

namespace kcrc {

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
