"""The arrays of an ``.npz`` file, read without trust: no objects, no Python in headers, no memory out of nothing."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path

from kcrc._base.arrays import Array
from kcrc.errors import DataError, FileError
from kcrc.files.npy import from_npy

PACKED, SMALL = 200, 64 << 20  # what an archive may unpack to: so many times its size, and some megabytes


def read_npz(path: Path, *, wanted: Collection[str] | None = None) -> tuple[dict[str, Array], list[str]]:
    """(arrays, names): the arrays by name, all or those ``wanted``, and the names of all there are."""
    arrays: dict[str, Array] = {}
    try:
        room = PACKED * path.stat().st_size + SMALL
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            names = [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]
            for name in names:
                if wanted is not None and name not in wanted:
                    continue
                with archive.open(f"{name}.npy") as member:
                    content = member.read(room + 1)  # the size in the directory may lie
                room -= len(content)
                if room < 0:
                    raise DataError(f"{path} unpacks to more than {PACKED} times its size; it is not read.")
                arrays[name] = from_npy(content, what=f"array '{name[:60]}'")
    except FileError as problem:
        raise DataError(f"{path} cannot be read: {problem}") from None
    except DataError:
        raise
    except (
        OSError,
        ValueError,
        EOFError,
        KeyError,
        NotImplementedError,
        RuntimeError,
        zipfile.BadZipFile,
        zlib.error,
    ) as problem:
        raise DataError(f"{path} cannot be read: {problem}. It is damaged or incomplete; copy it again.") from problem
    return arrays, names
