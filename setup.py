"""Builds the compiled path: the arithmetic (kernels/) once for any CPU and once for AVX2 + FMA, the binding once.

Without a compiler the package installs and runs its NumPy stages; why is kept in native/not_built.txt, which
`kcrc info --system` shows. A compiler too old stops the installation. KCRC_NATIVE=0 leaves the compiled path out;
KCRC_LEVELS=own builds for this CPU alone, in half the time; KCRC_SANITIZE=1 builds one that watches its own memory and
arithmetic, for `make sanitize`.
"""

import gzip
import os
import platform
import subprocess
import sys
import tarfile
from concurrent.futures import ThreadPoolExecutor
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist
from setuptools.errors import CCompilerError, ExecError, PlatformError

NATIVE = "src/kcrc/native"
BINDING = f"{NATIVE}/binding/module.cpp"
SLOWEST_FIRST = [f"{NATIVE}/kernels/{name}.cpp" for name in ("distances", "local", "search")]
KERNELS = [*SLOWEST_FIRST, *sorted(set(glob(f"{NATIVE}/kernels/*.cpp")) - set(SLOWEST_FIRST))]
MSVC = sys.platform == "win32"
COMMON = (
    ["/std:c++17", "/EHsc", "/bigobj", "/utf-8", "/O2", "/fp:precise"]
    if MSVC
    else ["-std=c++17", "-fvisibility=hidden", "-g0", "-O3", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi"]
)
LEVELS = {"_native": []}
if platform.machine().lower() in {"x86_64", "amd64"}:
    LEVELS["_native_avx2"] = ["/arch:AVX2"] if MSVC else ["-mavx2", "-mfma"]
    cpu = Path("/proc/cpuinfo")  # where there is none, both are built
    if os.environ.get("KCRC_LEVELS") == "own" and cpu.exists():
        del LEVELS["_native" if {"avx2", "fma"} <= set(cpu.read_text().split()) else "_native_avx2"]
SANITIZE = os.environ.get("KCRC_SANITIZE") == "1"
CHECKS = ["-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]
if SANITIZE:
    # -UNDEBUG: pybind11 then stops where references are counted without the interpreter's lock.
    COMMON += ["-O1", "-g1", "-UNDEBUG", "-fno-omit-frame-pointer", "-fno-wrapv", *CHECKS]


class BuildNative(build_ext):
    """Compiles each source once a level, all cores at work, and links a module a level."""

    def run(self) -> None:
        self.reason = ""
        super().run()
        folder = Path(NATIVE if self.inplace else f"{self.build_lib}/kcrc/native")
        for old in folder.glob("_native*"):  # of an earlier build with more levels: made of other sources, maybe
            if old.name.partition(".")[0] not in LEVELS:
                old.unlink()
        (folder / "not_built.txt").unlink(missing_ok=True)
        if self.reason:
            (folder / "not_built.txt").write_text(self.reason + "\n")
            print(f"kcrc: the compiled path is not built: {self.reason}", file=sys.stderr)

    def build_extensions(self) -> None:
        if os.environ.get("KCRC_NATIVE") == "0":
            self.reason = "KCRC_NATIVE=0 at installation"
            return
        try:
            self.refuse_an_old_compiler()
            objects = self.compiled()
            for extension in self.extensions:
                extension.extra_objects = [*objects["binding"], *objects[extension.name.rpartition(".")[2]]]
                extension.depends = extension.extra_objects  # else a module linked before would count as up to date
            super().build_extensions()
        except (CCompilerError, ExecError, PlatformError, OSError) as error:
            if SANITIZE:
                raise
            self.reason = f"no compiler that works ({error})"

    def refuse_an_old_compiler(self) -> None:
        """The kernels say themselves what they need; see kernels/simd.hpp."""
        if self.compiler.compiler_type != "unix":
            return
        command = [*self.compiler.compiler_so_cxx, "-std=c++17", "-fsyntax-only", f"{NATIVE}/kernels/level.cpp"]
        said = subprocess.run(command, capture_output=True, text=True).stderr
        for line in said.splitlines():
            if "#error" in line and "kcrc needs" in line:
                sentence = line.partition("#error")[2].strip(' "')
                sys.exit(
                    f"{sentence}. Name another by CXX=…, or set KCRC_NATIVE=0 to install without the compiled path."
                )

    def compiled(self) -> dict[str, list[str]]:
        """The object files of the binding and of each level."""
        import pybind11

        jobs = [("binding", BINDING, [])]
        jobs += [(level, kernel, flags) for kernel in KERNELS for level, flags in LEVELS.items()]

        def compile_one(job: tuple[str, str, list[str]]) -> list[str]:
            folder, source, flags = job
            return self.compiler.compile(
                [source],
                output_dir=f"{self.build_temp}/{folder}",
                include_dirs=[pybind11.get_include()] if source == BINDING else [],
                extra_postargs=COMMON + flags,
            )

        if hasattr(self.compiler, "initialize"):  # MSVC looks for itself once
            self.compiler.initialize()
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # one compiler a core
            made = list(pool.map(compile_one, jobs))
        objects: dict[str, list[str]] = {}
        for (folder, _, _), files in zip(jobs, made, strict=True):
            objects.setdefault(folder, []).extend(files)
        return objects


class DatedSdist(sdist):
    """The same bytes from the same sources: setuptools leaves the time of packing in the archive."""

    def make_archive(self, base_name, format, root_dir=None, base_dir=None, owner=None, group=None):
        stamp = os.environ.get("SOURCE_DATE_EPOCH")
        if stamp is None or format != "gztar":
            return super().make_archive(base_name, format, root_dir, base_dir, owner, group)

        def dated(member: tarfile.TarInfo) -> tarfile.TarInfo:
            member.mtime, member.uid, member.gid, member.uname, member.gname = int(stamp), 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            return member

        goal = f"{base_name}.tar.gz"
        with (
            gzip.GzipFile(goal, "wb", mtime=int(stamp)) as packed,
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
        ):
            for path in sorted([Path(base_dir), *Path(base_dir).rglob("*")]):
                archive.add(path, recursive=False, filter=dated)
        return goal


setup(
    ext_modules=[
        Extension(f"kcrc.native.{name}", [], language="c++", optional=True, extra_link_args=CHECKS if SANITIZE else [])
        for name in LEVELS
    ],
    cmdclass={"build_ext": BuildNative, "sdist": DatedSdist},
    options={"build": {"build_base": "build/sanitizer"}} if SANITIZE else {},
)
