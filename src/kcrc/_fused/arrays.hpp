// What the doors to Python share: saying what an array must be, before the interpreter is let go.
#pragma once
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>

namespace py = pybind11;

namespace kcrc {

inline void require(bool holds, const char* what) {
    if (!holds) throw std::invalid_argument(what);
}

inline bool is_plain(const py::array& array) { return (array.flags() & py::array::c_style) != 0; }

template <class A>
bool holds(const py::array& array) {
    return py::isinstance<py::array_t<A>>(array);
}
inline bool holds_half(const py::array& array) { return array.dtype().kind() == 'f' && array.itemsize() == 2; }
inline bool holds_floats(const py::array& array) {
    return holds<float>(array) || holds<double>(array) || holds_half(array);
}

inline bool has_shape(const py::array& array, std::initializer_list<std::int64_t> shape) {
    return is_plain(array) && array.ndim() == static_cast<py::ssize_t>(shape.size()) &&
           std::equal(shape.begin(), shape.end(), array.shape());
}

enum class Storage { half, single, wide };

inline Storage storage_of(const py::array& array) {
    return holds<float>(array) ? Storage::single : holds<double>(array) ? Storage::wide : Storage::half;
}

inline py::array or_empty(const py::object& given) {
    if (given.is_none()) return py::array_t<double>(0);
    return py::reinterpret_borrow<py::array>(given);
}

}  // namespace kcrc
