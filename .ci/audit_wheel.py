"""What a Linux wheel asks of a machine, and what it shows to others: python .ci/audit_wheel.py WHEEL.

Fails where the wheel needs a newer glibc than NEWEST, and where a compiled file exports more than its PyInit_*
and weak copies of templates of the C++ library.
"""

import io
import re
import subprocess
import sys
import zipfile
from pathlib import Path

from elftools.elf.elffile import ELFFile

NEWEST = (2, 35)  # glibc: what g++ 12 on Debian 12 makes needs just this. The wheels of a release need 2.28.
# libstdc++ declares what is in std visible, whatever -fvisibility says, so each copy of a template of it is a weak
# symbol. Python opens modules so that others do not see them. The same goes for the types of plain functions.
_OF_STD = re.compile(r"_Z(?:T[ISV])?Z?N?K?(?:St|9__gnu_cxx)\w+|_ZT[IS]P?F[a-z]+E")


def wrong_symbols(library: bytes) -> list[str]:
    """The symbols that a compiled module should not export."""
    table = ELFFile(io.BytesIO(library)).get_section_by_name(".dynsym")
    found = []
    for symbol in table.iter_symbols():
        bind, name = symbol["st_info"]["bind"], symbol.name
        hidden = symbol["st_other"]["visibility"] in ("STV_HIDDEN", "STV_INTERNAL")
        if symbol["st_shndx"] == "SHN_UNDEF" or bind == "STB_LOCAL" or hidden or name.startswith("PyInit_"):
            continue
        if bind == "STB_GLOBAL" or not _OF_STD.fullmatch(name):
            found.append(name)
    return found


def wrong_tag(told: str) -> str | None:
    """Why the wheel is fit for too few machines, out of what auditwheel says of it; None where it is not."""
    tag = re.search(r'platform tag:\s+"(\w+)"', told)
    if tag is None:
        return "auditwheel names no platform tag"
    glibc = re.fullmatch(r"manylinux_(\d+)_(\d+)_\w+", tag[1])
    if glibc is None:
        return f"its tag is {tag[1]}, which is no manylinux"
    if (int(glibc[1]), int(glibc[2])) > NEWEST:
        return f"its tag is {tag[1]}; it should be fit for glibc {NEWEST[0]}.{NEWEST[1]}"
    return None


def main(wheel: Path) -> int:
    told = subprocess.run([sys.executable, "-m", "auditwheel", "show", wheel], capture_output=True, text=True)
    print(told.stdout or told.stderr)
    problems = [why] if (why := wrong_tag(told.stdout)) else []
    with zipfile.ZipFile(wheel) as archive:
        libraries = [name for name in archive.namelist() if name.endswith(".so")]
        for name in libraries:
            if wrong := wrong_symbols(archive.read(name)):
                problems.append(f"{name} exports {', '.join(wrong[:10])}: only its PyInit_* is for others")
    if not libraries:
        problems.append("it has no compiled module")
    for problem in problems:
        print(f"{wheel.name}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
