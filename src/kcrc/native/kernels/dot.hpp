// The dot product of two rows.
#pragma once
#include <cstddef>

#include "simd.hpp"

namespace kcrc {

// Eight running sums, which the compiler may keep in vector registers without reordering any sum itself.
template <class T>
T dot(const T* KCRC_RESTRICT a, const T* KCRC_RESTRICT b, std::size_t size) {
    T part[8] = {};
    std::size_t k = 0;
    for (; k + 8 <= size; k += 8)
        for (std::size_t lane = 0; lane < 8; ++lane) part[lane] += a[k + lane] * b[k + lane];
    T rest = 0;
    for (; k < size; ++k) rest += a[k] * b[k];
    return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7])) + rest;
}

}  // namespace kcrc
