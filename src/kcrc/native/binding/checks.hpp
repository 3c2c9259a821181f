// How every entry looks at what it is given, before the interpreter is let go: the one place that says what an argument
// must be. Whatever is not so is refused by a ValueError (TypeError: no array at all) that names the argument and says
// what came instead. Nothing is converted: arrays come C-ordered, aligned and in the machine's byte order.
//
// What a check has seen must stay so until the entry returns: memory that is written to is told apart from all that is
// read (`apart`). Another thread that changes an array meanwhile is not guarded against.
#pragma once
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "../kernels/kernels.hpp"

namespace py = pybind11;

namespace kcrc {

using Shape = std::initializer_list<Index>;

constexpr Index ANY = -1;                  // in a shape: as long as it is
constexpr Index LONGEST = Index(1) << 30;  // along one axis: places and row numbers fit 32 bits, rounded up or doubled

[[noreturn]] inline void refuse(const char* name, const std::string& what) {
    throw std::invalid_argument(std::string(name) + " " + what);
}
inline void require(bool holds, const char* name, const char* what) {
    if (!holds) refuse(name, what);
}

inline std::string written(const Index* extents, Index axes) {
    std::string text = "(";
    for (Index i = 0; i < axes; ++i)
        text += (i ? ", " : "") + (extents[i] == ANY ? std::string("any") : std::to_string(extents[i]));
    return text + (axes == 1 ? ",)" : ")");
}

// An array argument under its name; None is an argument that was not given.
class Argument {
  public:
    Argument(const char* name, const py::object& given) : name(name) {
        if (given.is_none()) return;
        if (!py::isinstance<py::array>(given)) throw py::type_error(std::string(name) + " is a NumPy array");
        given_ = given;
    }

    const char* const name;
    explicit operator bool() const { return static_cast<bool>(given_); }

    template <class T>
    bool holds() const {
        return given_ && py::isinstance<py::array_t<T>>(given_);
    }
    bool holds_half() const {
        if (!given_) return false;
        const py::dtype type = array().dtype();
        return type.kind() == 'f' && type.itemsize() == 2 && type.byteorder() == '=';
    }

    // Its memory, where it is laid out plainly in this shape; the caller knows what it holds.
    const void* memory(Shape shape) const {
        check_layout(shape);
        return array().data();
    }
    template <class T>
    const T* values(Shape shape) const {
        check_holds<T>();
        return static_cast<const T*>(memory(shape));
    }
    template <class T>
    T* results(Shape shape) const {
        check_holds<T>();
        check_layout(shape);
        if (!array().writeable()) refuse(name, "is written to, but is read-only");
        return static_cast<T*>(const_cast<void*>(array().data()));
    }
    // After one of these has seen the shape.
    Index extent(int axis) const { return array().shape(axis); }

    // float16, float32 or float64
    Storage storage() const {
        if (holds<float>()) return Storage::single;
        if (holds<double>()) return Storage::wide;
        if (holds_half()) return Storage::half;
        refuse(name, "is float16, float32 or float64; got " + described());
    }
    // float32 or float64: true where it is the wider
    bool is_wide() const {
        if (holds<double>()) return true;
        if (holds<float>()) return false;
        refuse(name, "is float32 or float64; got " + described());
    }

    const char* begin() const { return static_cast<const char*>(array().data()); }
    const char* end() const { return begin() + array().nbytes(); }

  private:
    py::object given_;

    py::array array() const { return py::reinterpret_borrow<py::array>(given_); }

    std::string described() const {
        if (!given_) return "nothing";
        const py::array array_ = array();
        std::string text = py::str(array_.dtype()).cast<std::string>() + " " + written(array_.shape(), array_.ndim());
        const int flags = array_.flags();
        if (!(flags & py::array::c_style)) text += ", not C-ordered";
        if (!(flags & py::detail::npy_api::NPY_ARRAY_ALIGNED_)) text += ", not aligned";
        return text;
    }
    template <class T>
    void check_holds() const {
        if (holds<T>()) return;
        refuse(name, "is " + py::str(py::dtype::of<T>()).template cast<std::string>() + "; got " + described());
    }
    void check_layout(Shape shape) const {
        constexpr int plain = py::array::c_style | py::detail::npy_api::NPY_ARRAY_ALIGNED_;
        const Index* const wanted = shape.begin();
        bool fits = static_cast<bool>(given_);
        if (fits) {
            const py::array array_ = array();
            fits = (array_.flags() & plain) == plain && array_.ndim() == static_cast<Index>(shape.size());
            for (Index i = 0; fits && i < array_.ndim(); ++i)
                fits = array_.shape(i) <= LONGEST && (wanted[i] == ANY || wanted[i] == array_.shape(i));
        }
        if (!fits)
            refuse(name, "is a C-ordered, aligned array of shape " + written(wanted, static_cast<Index>(shape.size())) +
                             ", no side longer than 2^30; got " + described());
    }
};

// work(float{}) or work(double{}), as the argument holds
template <class Work>
auto by_precision(const Argument& argument, Work&& work) {
    return argument.is_wide() ? work(double{}) : work(float{});
}

// Whole numbers that something is looked up by lie in low … end−1.
template <class T>
void check_within(const char* name, const T* values, Index count, Index low, Index end) {
    bool outside = false;
    for (Index i = 0; i < count; ++i) outside |= (values[i] < low) | (values[i] >= end);
    if (outside) refuse(name, "lie between " + std::to_string(low) + " and " + std::to_string(end - 1));
}
// Row numbers as NumPy reads them, negative ones from the end, of ``n`` rows -> counted from the start; IndexError.
inline std::vector<Index> from_start(const char* name, const Index* rows, Index count, Index n) {
    std::vector<Index> found(rows, rows + count);
    for (Index& row : found) {
        if (row < -n || row >= n)
            throw py::index_error(std::string(name) + " names row " + std::to_string(row) + " of " + std::to_string(n));
        if (row < 0) row += n;
    }
    return found;
}
// Places where parts begin, and where the last ends, among ``count`` things: none before the one before it.
inline void check_rising(const char* name, const Index* places, Index parts, Index count) {
    bool rising = parts < 0 || (places[0] >= 0 && places[parts] <= count);
    for (Index i = 0; i < parts; ++i) rising &= places[i] <= places[i + 1];
    require(rising, name, "rise from 0 or more to the number of things they divide at most");
}
template <class T>
void check_finite(const char* name, const T* values, Index count) {
    bool finite = true;
    for (Index i = 0; i < count; ++i) finite &= std::isfinite(values[i]);
    require(finite, name, "holds NaN or infinite values");
}
template <class T>
T between(const char* name, T value, T low, T high) {
    if (!(value >= low && value <= high))
        refuse(name, "lies between " + std::to_string(low) + " and " + std::to_string(high) + "; got " +
                         std::to_string(value));
    return value;
}

// No array that is written to shares memory with another, written to or read.
inline void check_apart(std::initializer_list<const Argument*> written, std::initializer_list<const Argument*> read) {
    const auto apart = [](const Argument& a, const Argument& b) {
        return !a || !b || a.begin() >= b.end() || b.begin() >= a.end();
    };
    for (const auto* one = written.begin(); one != written.end(); ++one) {
        for (const auto* other = written.begin(); other != one; ++other)
            require(apart(**one, **other), (*one)->name, "is written to and shares memory with another result");
        for (const Argument* other : read)
            require(apart(**one, *other), (*one)->name, "is written to and shares memory with what is read");
    }
}

}  // namespace kcrc
