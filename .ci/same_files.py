"""Compare two folders of built files, name by name and byte by byte: python .ci/same_files.py FIRST SECOND.

``--without TEXT WHEEL`` fails where a file of a wheel holds a text.
"""

import hashlib
import sys
import tarfile
import zipfile
from pathlib import Path


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def members(path: Path) -> dict[str, str]:
    """The content of an archive, to say what differs."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as archive:
            return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}
    found = {}
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            content = archive.extractfile(member)
            found[member.name] = f"{member.mtime} {hashlib.sha256(content.read() if content else b'').hexdigest()}"
    return found


def main(first: Path, second: Path) -> int:
    names = sorted(path.name for path in first.iterdir())
    if names != sorted(path.name for path in second.iterdir()) or len(names) != 2:
        print(f"not the same two files: {names} and {sorted(path.name for path in second.iterdir())}")
        return 1
    for name in names:
        if digest(first / name) != digest(second / name):
            a, b = members(first / name), members(second / name)
            print(f"{name} differs: {[m for m in sorted(a | b) if a.get(m) != b.get(m)] or 'in how it is packed'}")
            return 1
        print(f"{digest(first / name)}  {name}")
    return 0


def without(text: str, wheel: Path) -> int:
    """That no file of a wheel holds a text."""
    with zipfile.ZipFile(wheel) as archive:
        found = [name for name in archive.namelist() if text.encode() in archive.read(name)]
    if found:
        print(f"{wheel.name} names {text} in {', '.join(found)}")
    return 1 if found else 0


if __name__ == "__main__":
    if sys.argv[1] == "--without":
        sys.exit(without(sys.argv[2], Path(sys.argv[3])))
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
