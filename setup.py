"""Builds the compiled path: the same sources once for any CPU and once for AVX2 + FMA.

The extensions are optional: without a compiler the package installs and runs its NumPy stages. With KCRC_SANITIZE=1
there is one that watches its own memory and arithmetic, for `make sanitize`.
"""

import os
import platform
import sys
from glob import glob

from pybind11.setup_helpers import ParallelCompile, Pybind11Extension
from setuptools import setup

SOURCES = sorted(glob("src/kcrc/_fused/*.cpp"))
X86 = platform.machine().lower() in {"x86_64", "amd64"}
COMMON = ["/O2", "/fp:precise"] if sys.platform == "win32" else ["-O3", "-fno-math-errno", "-fno-trapping-math"]
LEVELS = {"_native": []}
if X86:
    LEVELS["_native_avx2"] = ["/arch:AVX2"] if sys.platform == "win32" else ["-march=x86-64-v3"]
SANITIZE = os.environ.get("KCRC_SANITIZE") == "1"
CHECKS = ["-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]
if SANITIZE:
    # The level that has the most code of its own, under the name that is looked for first.
    LEVELS = {"_native": LEVELS.get("_native_avx2", [])}
    COMMON += ["-O1", "-g1", "-fno-omit-frame-pointer", "-fno-wrapv", *CHECKS]


def extension(name: str, flags: list[str]) -> Pybind11Extension:
    built = Pybind11Extension(
        f"kcrc._fused.{name}",
        SOURCES,
        cxx_std=17,
        extra_compile_args=COMMON + flags,
        extra_link_args=CHECKS if SANITIZE else [],
        define_macros=[("KCRC_MODULE", name)],
        depends=sorted(glob("src/kcrc/_fused/*.hpp")),
    )
    built.optional = not SANITIZE
    return built


ParallelCompile(default=0).install()  # one compiler a core
setup(
    ext_modules=[extension(name, flags) for name, flags in LEVELS.items()],
    options={"build": {"build_base": "build/sanitizer"}} if SANITIZE else {},
)
