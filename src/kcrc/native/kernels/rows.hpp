// Where each row of a set begins, or each of those at some places of it.
#pragma once
#include <vector>

#include "kernels.hpp"

namespace kcrc {

template <class T>
std::vector<const T*> each(const Rows<T>& rows) {
    std::vector<const T*> found(rows.count);
    for (Index i = 0; i < rows.count; ++i) found[i] = rows.first + i * rows.width;
    return found;
}
template <class T>
std::vector<const T*> chosen(const Rows<T>& rows, const Index* places, Index count) {
    std::vector<const T*> found(count);
    for (Index i = 0; i < count; ++i) found[i] = rows.first + places[i] * rows.width;
    return found;
}

}  // namespace kcrc
