// What this build of the arithmetic may use of the CPU.
#include "kernels.hpp"
#include "simd.hpp"

namespace kcrc {

constexpr bool WIDE = KCRC_VECTOR_BYTES == 32;

const char* level() { return WIDE ? "avx2" : "portable"; }

}  // namespace kcrc
