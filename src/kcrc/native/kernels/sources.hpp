// Where the kernel among a query's neighbours comes from: a stored n × n matrix, or the examples' vectors.
#pragma once
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "exp.hpp"
#include "kernels.hpp"
#include "panels.hpp"

namespace kcrc {

struct Half {  // IEEE half precision, only ever read
    std::uint16_t bits;
    KCRC_INLINE operator float() const {
        // Shift exponent and mantissa into a float and correct the exponent's offset by a product, which also
        // takes subnormal halves right. Stored vectors are finite, so infinities need no case of their own.
        const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
        const std::uint32_t wide =
            (static_cast<std::uint32_t>(bits & 0x7fffu) << 13) | sign;  // no branch: it vectorises
        float value;
        std::memcpy(&value, &wide, sizeof(value));
        return value * 5.192296858534828e33f;  // 2^112
    }
};

// What a stored value is read as.
template <class S>
struct Plain {
    using type = S;
};
template <>
struct Plain<Half> {
    using type = float;
};

// Memory that grows to what was needed once and then stays.
template <class T>
class Buffer {
  public:
    std::size_t bytes() const { return memory_.size() * sizeof(T); }
    T* get(std::size_t count) {
        if (memory_.size() < count + 64 / sizeof(T)) memory_.resize(count + 64 / sizeof(T));
        auto address = reinterpret_cast<std::uintptr_t>(memory_.data());
        return reinterpret_cast<T*>((address + 63) / 64 * 64);
    }

  private:
    std::vector<T> memory_;
};

// What one thread needs to work on a query; kept between calls, so that a single query allocates nothing.
template <class T>
struct Scratch {
    Buffer<T> matrix, factor, packed, converted, squares, vectors;
    Buffer<std::int64_t> rows;
    Buffer<std::int32_t> numbers, places;

    static Scratch& of_thread() {
        static thread_local Scratch scratch;
        return scratch;
    }
    void trim() {  // a thread keeps no more than this after a call with unusually many neighbours
        if (matrix.bytes() + factor.bytes() + packed.bytes() + converted.bytes() > (std::size_t(32) << 20)) *this = {};
    }
};

// work(float{}), work(double{}) or work(Half{}), as numbers are stored
template <class Work>
auto by_storage(Storage storage, Work&& work) {
    if (storage == Storage::single) return work(float{});
    if (storage == Storage::wide) return work(double{});
    return work(Half{});
}

template <class T>
KCRC_INLINE Vec<T> power(Vec<T> base, int degree) {
    Vec<T> result = base;
    for (int i = 1; i < degree; ++i) result = result * base;
    return result;
}
// k of the rbf from ‖a − b‖²
template <class T>
KCRC_INLINE Vec<T> of_squared(const KernelShape& shape, Vec<T> squared) {
    const Vec<T> zero{};
    return exp_of_negative<T>(splat<T>(T(-shape.gamma)) * where_above<T>(squared, zero, squared, zero));
}
// k from a·b and the squared norms
template <class T>
KCRC_INLINE Vec<T> of_products(const KernelShape& shape, Vec<T> dot, Vec<T> square_a, Vec<T> square_b) {
    if (shape.kind == Kind::linear) return dot;
    if (shape.kind == Kind::polynomial)
        return power<T>(splat<T>(T(shape.gamma)) * dot + splat<T>(T(shape.coef0)), shape.degree);
    return of_squared<T>(shape, (square_a + square_b) - (dot + dot));
}

template <class T>
struct Source {
    virtual ~Source() = default;
    // Kernel among ``rows`` (m) into panels: the lower half, or both if FULL; the padding as clear_padding leaves it.
    virtual void gram(const std::int64_t* rows, int m, const Panels<T>& out, bool full, Scratch<T>& scratch) const = 0;
    // The same for one query a lane (rows of query q at q·m), lower halves row by row; false where this source has no
    // direct way.
    virtual bool gram_side_by_side(const std::int32_t*, int, T*) const { return false; }
    // The same for one query, into panels; false where ``gram_side_by_side`` would be.
    virtual bool gram_one_lane(const std::int32_t*, int, const Panels<T>&) const { return false; }
};

// W values of a line at scattered places. Spelt out: the compiler's own gather instructions are slow on many CPUs.
template <class T, class S>
KCRC_INLINE Vec<T> scattered(const S* line, const std::int32_t* place) {
    if constexpr (lanes<T> == 8)
        return Vec<T>{T(line[place[0]]), T(line[place[1]]), T(line[place[2]]), T(line[place[3]]),
                      T(line[place[4]]), T(line[place[5]]), T(line[place[6]]), T(line[place[7]])};
    else return Vec<T>{T(line[place[0]]), T(line[place[1]]), T(line[place[2]]), T(line[place[3]])};
}

template <class T, class S>
class StoredKernel final : public Source<T> {
  public:
    StoredKernel(const S* values, std::int64_t n) : values_(values), n_(n) {}

    void gram(const std::int64_t* rows, int m, const Panels<T>& out, bool full, Scratch<T>& scratch) const override {
        constexpr int W = lanes<T>;
        std::int32_t* place = scratch.places.get(out.columns);
        for (int i = 0; i < out.columns; ++i) place[i] = static_cast<std::int32_t>(rows[i < m ? i : 0]);
        for (int j = 0; j < m; ++j) {
            const S* line = values_ + rows[j] * n_;
            for (int i = full ? 0 : j / W * W; i < m; i += W) {
                T* at = out.panel(i / MR<T>) + static_cast<std::size_t>(j) * MR<T> + i % MR<T>;
                store<T>(at, scattered<T, S>(line, place + i));
            }
        }
        clear_padding<T>(out);
    }

    bool gram_side_by_side(const std::int32_t* rows, int m, T* out) const override {
        constexpr int W = lanes<T>;
        for (int i = 0; i < m; ++i) {
            const S* line[W];
            for (int q = 0; q < W; ++q) line[q] = values_ + static_cast<std::int64_t>(rows[q * m + i]) * n_;
            int j = 0;
            for (; j + W <= i + 1; j += W, out += W * W) {
                Vec<T> block[W];
                for (int q = 0; q < W; ++q) block[q] = scattered<T, S>(line[q], rows + q * m + j);
                transpose<T>(block);
                for (int c = 0; c < W; ++c) store<T>(out + c * W, block[c]);
            }
            for (; j <= i; ++j, out += W)
                for (int q = 0; q < W; ++q) out[q] = static_cast<T>(line[q][rows[q * m + j]]);
        }
        return true;
    }

    bool gram_one_lane(const std::int32_t* rows, int m, const Panels<T>& out) const override {
        for (int i = 0; i < m; ++i) {
            const S* line = values_ + static_cast<std::int64_t>(rows[i]) * n_;
            T* to = &out.at(i, 0);
            for (int j = 0; j <= i; ++j, to += MR<T>) *to = static_cast<T>(line[rows[j]]);
        }
        clear_padding<T>(out);
        return true;
    }

  private:
    const S* values_;
    std::int64_t n_;
};

// Rows of S as panels of T with ``width`` columns; rows beyond m are zero.
template <class T, class S>
void pack_rows(const S* values, std::int64_t width, const std::int64_t* rows, int m, T* packed, Buffer<T>& converted) {
    constexpr int W = lanes<T>;
    T* wide = std::is_same_v<S, T> ? nullptr : converted.get(static_cast<std::size_t>(MR<T>) * width);
    for (int first = 0; first < m; first += MR<T>, packed += width * MR<T>) {
        const T* line[MR<T>];
        const int here = std::min(MR<T>, m - first);
        for (int r = 0; r < here; ++r) {
            const S* row = values + rows[first + r] * width;
            if constexpr (std::is_same_v<S, T>) {
                line[r] = row;
            } else {
                T* copy = wide + r * width;
                for (std::int64_t k = 0; k < width; ++k) copy[k] = static_cast<T>(static_cast<float>(row[k]));
                line[r] = copy;
            }
        }
        for (int group = 0; group < MR<T>; group += W) {
            std::int64_t k = 0;
            if (group + W <= here)
                for (; k + W <= width; k += W) {
                    Vec<T> block[W];
                    for (int r = 0; r < W; ++r) block[r] = load<T>(line[group + r] + k);
                    transpose<T>(block);
                    for (int c = 0; c < W; ++c) store<T>(packed + (k + c) * MR<T> + group, block[c]);
                }
            for (; k < width; ++k)
                for (int r = group; r < group + W; ++r) packed[k * MR<T> + r] = r < here ? line[r][k] : T(0);
        }
    }
}

template <class T, class S>
class VectorKernel final : public Source<T> {
  public:
    VectorKernel(const S* vectors, std::int64_t width, const T* squares, KernelShape shape)
        : vectors_(vectors), width_(width), squares_(squares), shape_(shape) {}

    void gram(const std::int64_t* rows, int m, const Panels<T>& out, bool full, Scratch<T>& scratch) const override {
        constexpr int W = lanes<T>;
        T* packed = scratch.packed.get(static_cast<std::size_t>(out.columns) * width_);
        pack_rows<T, S>(vectors_, width_, rows, m, packed, scratch.converted);
        product_with_itself<T>(packed, static_cast<int>(width_), static_cast<int>(width_), out);
        if (shape_.kind != Kind::linear) {
            T* squares = scratch.squares.get(out.columns);
            for (int i = 0; i < out.columns; ++i) squares[i] = i < m ? squares_[rows[i]] : T(0);
            for (int p = 0; p < out.count(); ++p)
                for (int j = 0; j < std::min(m, (p + 1) * MR<T>); ++j) {
                    T* column = out.panel(p) + static_cast<std::size_t>(j) * MR<T>;
                    const Vec<T> own = splat<T>(squares[j]);
                    for (int v = 0; v < 3; ++v) {
                        const Vec<T> others = load<T>(squares + p * MR<T> + v * W);
                        store<T>(column + v * W, of_products<T>(shape_, load<T>(column + v * W), others, own));
                    }
                }
            if (shape_.kind == Kind::rbf)  // the three-term sum is 0 only up to rounding
                for (int j = 0; j < m; ++j) out.at(j, j) = T(1);
        }
        if (full)
            for (int j = 0; j < m; ++j)
                for (int i = j + 1; i < m; ++i) out.at(j, i) = out.at(i, j);
        clear_padding<T>(out);
    }

  private:
    const S* vectors_;
    std::int64_t width_;
    const T* squares_;
    KernelShape shape_;
};

}  // namespace kcrc
