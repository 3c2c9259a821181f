// The compiled module: all that knows of Python. Compiled once and linked twice, with the arithmetic for any CPU and
// with that for AVX2 + FMA (setup.py); native.py loads the one this CPU can run.
#include <pybind11/pybind11.h>

#if defined(_MSC_VER) && defined(_M_X64)
#include <immintrin.h>
#include <intrin.h>
#endif

#include "coding.hpp"
#include "distances.hpp"
#include "search.hpp"
#include "single.hpp"
#include "stage.hpp"
#include "tuning.hpp"

namespace {

// The CPU has AVX2 and FMA, and the system keeps the wide registers.
bool cpu_has_avx2() {
#if defined(_MSC_VER) && defined(_M_X64)
    int leaf[4];
    __cpuid(leaf, 0);
    if (leaf[0] < 7) return false;
    __cpuid(leaf, 1);
    const bool fma = leaf[2] & (1 << 12), kept = leaf[2] & (1 << 27);
    if (!fma || !kept || (_xgetbv(0) & 6) != 6) return false;
    __cpuidex(leaf, 7, 0);
    return leaf[1] & (1 << 5);
#elif (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__))
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

void bind(py::module_& m) {
    m.attr("level") = kcrc::level();
    m.def("cpu_has_avx2", &cpu_has_avx2, "Whether this CPU can run the AVX2 + FMA build.");
    kcrc::bind_search(m);
    kcrc::bind_stage(m);
    kcrc::bind_single(m);
    kcrc::bind_tuning(m);
    kcrc::bind_coding(m);
    kcrc::bind_distances(m);
}

}  // namespace

PYBIND11_MODULE(_native, m) { bind(m); }
PYBIND11_MODULE(_native_avx2, m) { bind(m); }
