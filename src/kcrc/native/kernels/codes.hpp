// Scan coordinates in eight bits each, which bound a score from above: a quarter of the memory to read and, in whole
// numbers, more products a cycle. neighbours/codes.py says why nothing is lost.
//
// Example a = scale · c + rest with c in −127 … 127, query q = scale' · c' + rest' with c' in −64 … 64:
//
//     a·q − ‖a‖²/2  ≤  scale · scale' · (c·c') + ‖rest‖ ‖q‖ + ‖scale · c‖ ‖rest'‖ − ‖a‖²/2
//
// c·c' is exact. Of each example four facts are kept, SCALE, REST (‖rest‖), KEPT (‖scale · c‖) and HALF (‖a‖²/2), into
// which is counted what single precision rounds.
// A panel holds CODE_ROWS examples, four coordinates of each at a time: coordinate 4s + j of example r lies at
// (s · CODE_ROWS + r) · 4 + j, as c + 128.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels.hpp"
#include "panels.hpp"

namespace kcrc {

constexpr int CODE_VECTORS = CODE_ROWS / lanes<float>;  // with AVX2 2: sums of 2 × 4 vectors, and what they are made of
constexpr int ROW_MOST = 127;                           // the largest code of an example,
constexpr int CODE_ZERO = 128;                          // what 0 is stored as,
constexpr int QUERY_MOST = 64;  // and the largest code of a query: 2 · 255 · 64 fits the 16 bits of a pair
static_assert((std::int64_t(ROW_MOST + CODE_ZERO) * QUERY_MOST * MOST_CODED) >> 31 == 0);

inline float rounded_above(double value) {
    return std::nextafter(static_cast<float>(value), std::numeric_limits<float>::infinity());
}

// Codes up to ``most`` of values, their unit, and the lengths of the values, of what is kept and of the rest.
struct Coded {
    float scale;
    double whole, kept, rest;
};
inline Coded encode(const float* values, int depth, int most, std::int8_t* codes) {
    float largest = 0;
    for (int k = 0; k < depth; ++k) largest = std::max(largest, std::fabs(values[k]));
    const float unit = largest / static_cast<float>(most), scale = unit >= std::numeric_limits<float>::min() ? unit : 0;
    const float inverse = scale > 0 ? 1 / scale : 0, limit = static_cast<float>(most);
    for (int k = 0; k < depth; ++k)
        codes[k] = static_cast<std::int8_t>(std::max(-limit, std::min(limit, std::nearbyint(values[k] * inverse))));
    constexpr int SUMS = 4;  // running sums, which the compiler may keep in vectors without reordering any
    double whole[SUMS] = {}, kept[SUMS] = {}, rest[SUMS] = {};
    const auto add = [&](int k, int sum) {
        const double value = values[k], code = double(codes[k]) * scale, off = value - code;
        whole[sum] += value * value;
        kept[sum] += code * code;
        rest[sum] += off * off;
    };
    int k = 0;
    for (; k + SUMS <= depth; k += SUMS)
        for (int sum = 0; sum < SUMS; ++sum) add(k + sum, sum);
    for (; k < depth; ++k) add(k, 0);
    const auto length = [](const double* sums) {  // a length is never below the true one
        return std::sqrt((sums[0] + sums[1]) + (sums[2] + sums[3])) * (1 + 1e-10);
    };
    return {scale, length(whole), length(kept), length(rest)};
}

// One example into a panel; ``codes`` and ``facts`` are where its own begin there, ``own`` has room for its steps.
inline void encode_row(const float* values, int depth, std::int8_t* own, std::uint8_t* codes, float* facts) {
    const int steps = code_steps(depth);
    std::fill(own + depth, own + steps * CODE_STEP, std::int8_t(0));
    const Coded row = encode(values, depth, ROW_MOST, own);
    for (int s = 0; s < steps; ++s)
        for (int j = 0; j < CODE_STEP; ++j)
            codes[s * CODE_ROWS * CODE_STEP + j] = static_cast<std::uint8_t>(own[s * CODE_STEP + j] + CODE_ZERO);
    // A score is at most eight roundings of terms no larger than kept · ‖q‖, rest · ‖q‖, kept · ‖rest'‖ and half.
    constexpr double roundings = 16 * 0.5 * std::numeric_limits<float>::epsilon();
    facts[SCALE * CODE_ROWS] = row.scale;
    facts[REST * CODE_ROWS] = rounded_above(row.rest * (1 + roundings) + row.kept * roundings);
    facts[KEPT * CODE_ROWS] = rounded_above(row.kept * (1 + 2 * roundings));
    facts[HALF * CODE_ROWS] = -rounded_above(-0.5 * row.whole * row.whole * (1 - roundings));
}

// NR queries side by side, four codes of each at a time, and what a score needs of each.
struct CodedQueries {
    std::int32_t* columns;  // (steps, NR), zero for a query that is not there
    std::int32_t offset[NR] = {};
    float scale[NR] = {}, whole[NR] = {}, rest[NR] = {};

    void put(int q, const float* values, int depth, std::int8_t* own) {
        const int steps = code_steps(depth);
        std::fill(own + depth, own + steps * CODE_STEP, std::int8_t(0));
        const Coded query = encode(values, depth, QUERY_MOST, own);
        for (int s = 0; s < steps; ++s) std::memcpy(columns + s * NR + q, own + s * CODE_STEP, CODE_STEP);
        std::int32_t total = 0;
        for (int k = 0; k < depth; ++k) total += own[k];
        offset[q] = -CODE_ZERO * total;
        scale[q] = query.scale;
        whole[q] = rounded_above(query.whole);
        rest[q] = rounded_above(query.rest);
    }
};

#if defined(__AVX2__)
using Whole = __m256i;
KCRC_INLINE Whole whole_of(std::int32_t value) { return _mm256_set1_epi32(value); }
KCRC_INLINE Whole codes_at(const std::uint8_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
KCRC_INLINE Whole with_products(Whole sum, Whole codes, Whole query) {
    const __m256i pairs = _mm256_maddubs_epi16(codes, query);
    return _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
}
KCRC_INLINE Vec<float> as_floats(Whole sum) { return (Vec<float>)_mm256_cvtepi32_ps(sum); }
#elif defined(__SSE2__) || defined(_M_X64)
using Whole = __m128i;
KCRC_INLINE Whole whole_of(std::int32_t value) { return _mm_set1_epi32(value); }
KCRC_INLINE Whole codes_at(const std::uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
KCRC_INLINE Whole with_products(Whole sum, Whole codes, Whole query) {
    const __m128i zero = _mm_setzero_si128();
    const __m128i wide = _mm_unpacklo_epi8(query, _mm_cmpgt_epi8(zero, query));  // the same four codes twice
    const __m128 low = _mm_castsi128_ps(_mm_madd_epi16(_mm_unpacklo_epi8(codes, zero), wide));
    const __m128 high = _mm_castsi128_ps(_mm_madd_epi16(_mm_unpackhi_epi8(codes, zero), wide));
    const __m128i even = _mm_castps_si128(_mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
    const __m128i odd = _mm_castps_si128(_mm_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1)));
    return _mm_add_epi32(sum, _mm_add_epi32(even, odd));
}
KCRC_INLINE Vec<float> as_floats(Whole sum) {
    float values[lanes<float>];
    _mm_storeu_ps(values, _mm_cvtepi32_ps(sum));
    return load<float>(values);
}
#else
struct Whole {
    std::int32_t lane[lanes<float>];
};
KCRC_INLINE Whole whole_of(std::int32_t value) {
    Whole all;
    for (std::int32_t& lane : all.lane) lane = value;
    return all;
}
KCRC_INLINE Whole codes_at(const std::uint8_t* from) {
    Whole codes;
    std::memcpy(codes.lane, from, sizeof(codes.lane));
    return codes;
}
KCRC_INLINE Whole with_products(Whole sum, Whole codes, Whole query) {
    std::uint8_t a[sizeof(Whole)];
    std::int8_t b[sizeof(Whole)];
    std::memcpy(a, codes.lane, sizeof(a));
    std::memcpy(b, query.lane, sizeof(b));
    for (int i = 0; i < lanes<float>; ++i)
        for (int j = 0; j < CODE_STEP; ++j) sum.lane[i] += a[i * CODE_STEP + j] * b[i * CODE_STEP + j];
    return sum;
}
KCRC_INLINE Vec<float> as_floats(Whole sum) {
    float values[lanes<float>];
    for (int i = 0; i < lanes<float>; ++i) values[i] = static_cast<float>(sum.lane[i]);
    return load<float>(values);
}
#endif

// The scores' upper bounds of one panel for the first COUNT of NR queries.
template <int COUNT>
KCRC_INLINE void code_scores(const std::uint8_t* codes, const float* facts, int steps, const CodedQueries& queries,
                             Vec<float> (*score)[CODE_VECTORS]) {
    constexpr int W = lanes<float>;
    Whole sum[COUNT][CODE_VECTORS];
    for (int q = 0; q < COUNT; ++q)
        for (int v = 0; v < CODE_VECTORS; ++v) sum[q][v] = whole_of(queries.offset[q]);
    const std::int32_t* columns = queries.columns;
    for (int s = 0; s < steps; ++s, codes += CODE_ROWS * CODE_STEP, columns += NR) {
        Whole a[CODE_VECTORS];
        for (int v = 0; v < CODE_VECTORS; ++v) a[v] = codes_at(codes + v * W * CODE_STEP);
        for (int q = 0; q < COUNT; ++q) {
            const Whole b = whole_of(columns[q]);
            for (int v = 0; v < CODE_VECTORS; ++v) sum[q][v] = with_products(sum[q][v], a[v], b);
        }
    }
    for (int v = 0; v < CODE_VECTORS; ++v) {
        const auto fact = [&](Fact which) { return load<float>(facts + which * CODE_ROWS + v * W); };
        const Vec<float> scale = fact(SCALE), rest = fact(REST), kept = fact(KEPT), half = fact(HALF);
        for (int q = 0; q < COUNT; ++q) {
            const Vec<float> off = rest * splat<float>(queries.whole[q]) + kept * splat<float>(queries.rest[q]);
            score[q][v] = as_floats(sum[q][v]) * (scale * splat<float>(queries.scale[q])) + off - half;
        }
    }
}

}  // namespace kcrc
