// A small problem of one query in panels: what sidebyside.hpp does for several, every sum in the same order, so that an
// answer does not depend on how many queries stand beside it. The factor is that of panels.hpp, which sums alike.
#pragma once
#include <cstdint>

#include "panels.hpp"

namespace kcrc {

// x ← L⁻ᵀ L⁻¹ x
template <class T>
void one_lane_solve(const Panels<T>& L, const T* inverse, T* x) {
    for (int i = 0; i < L.size; ++i) {
        const T* row = &L.at(i, 0);
        T a = x[i], b = T(0), c = T(0), d = T(0);
        int k = 0;
        for (; k + 4 <= i; k += 4, row += 4 * MR<T>) {
            a -= row[0] * x[k];
            b -= row[MR<T>] * x[k + 1];
            c -= row[2 * MR<T>] * x[k + 2];
            d -= row[3 * MR<T>] * x[k + 3];
        }
        for (; k < i; ++k, row += MR<T>) a -= row[0] * x[k];
        x[i] = ((a + b) + (c + d)) * inverse[i];
    }
    for (int i = L.size - 1; i >= 0; --i) {
        const T* row = &L.at(i, 0);
        const T known = x[i] * inverse[i];
        x[i] = known;
        for (int k = 0; k < i; ++k, row += MR<T>) x[k] -= *row * known;
    }
}

// work(i, first, last) for every atom i: first … last are those of its class up to itself. ``member`` (m) names the
// atoms class by class, each class in ascending order.
template <class Work>
KCRC_INLINE void each_with_its_class(const std::int32_t* member, const std::int32_t* label, int m, Work&& work) {
    for (int a = 0, first = 0; a < m; ++a) {
        const int i = member[a];
        if (label[i] != label[member[first]]) first = a;
        work(i, member + first, member + a);
    }
}

// The entries of H that own_i is made of, in the order it reads them.
template <class T>
void keep_class_entries(const Panels<T>& H, const std::int32_t* member, const std::int32_t* label, int m, T* kept) {
    each_with_its_class(member, label, m, [&](int i, const std::int32_t* k, const std::int32_t* last) {
        const T* row = &H.at(i, 0);
        for (; k <= last; ++k) *kept++ = row[static_cast<std::size_t>(*k) * MR<T>];
    });
}

// own_i = Σ over l of the same class H_il x_l
template <class T>
void one_lane_own_class(const T* kept, const std::int32_t* member, const std::int32_t* label, int m, const T* x,
                        T* own) {
    each_with_its_class(member, label, m, [&](int i, const std::int32_t* k, const std::int32_t* last) {
        const T mine = x[i];
        T sum = kept[last - k] * mine;
        for (; k < last; ++k, ++kept) {
            sum += *kept * x[*k];
            own[*k] += *kept * mine;
        }
        ++kept;
        own[i] = sum;
    });
}

}  // namespace kcrc
