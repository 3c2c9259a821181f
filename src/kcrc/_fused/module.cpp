// The compiled module: one bind_* function a source file. Built once for any CPU and once for AVX2 + FMA
// (setup.py); native.py picks the one this CPU can run.
#include <pybind11/pybind11.h>

#include "module.hpp"

#define KCRC_STRINGIZE(x) #x
#define KCRC_BUILD_NAME(x) KCRC_STRINGIZE(x)

static bool cpu_has_avx2() {
#if (defined(__x86_64__) || defined(__i386__)) && (defined(__GNUC__) || defined(__clang__))
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return false;
#endif
}

PYBIND11_MODULE(KCRC_MODULE, m) {
    m.attr("build") = KCRC_BUILD_NAME(KCRC_MODULE);
    m.def("cpu_has_avx2", &cpu_has_avx2, "Whether this CPU can run the AVX2 + FMA build.");
    bind_omp(m);
    bind_shape_context(m);
    bind_local(m);
    bind_judge(m);
    bind_left_out(m);
    bind_sparse(m);
    bind_distances(m);
    bind_tangent(m);
    bind_search(m);
    bind_gram(m);
}
