"""A file of plain arrays and a JSON header that is safe to read, from any source: a zip of ``.npy`` members, no pickle.

The whole file is checked before any of it is used: members are stored uncompressed (so nothing unpacks to more than the
file holds), their names are plain words, each has a crc32, and ``from_npy`` accepts only numbers and text.
``numpy.load`` opens it too.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from kcrc._base.arrays import BLOCK, Array
from kcrc._base.mapped import allocate
from kcrc.errors import DataError, FileError
from kcrc.files.atomic import atomic_write
from kcrc.files.plain_files import read_json

# Arrays as ``.npy`` bytes of untrusted origin: no objects, and no more memory than there are bytes.
#
# ``numpy.load`` allocates what the header claims before it looks at how much follows, so 128 bytes can claim all the
# memory, and it parses the header as Python. Here one pattern matches what NumPy writes, and the claim is compared with
# the bytes first.

PLAIN_KINDS = "biufU"  # bool, integers, floats, text: nothing that could hold an object
_NPY_HEADER_LIMIT = 10_000  # bytes; headers that NumPy writes have 128 or little more
HEADER_BYTES = 12 + _NPY_HEADER_LIMIT  # as many bytes from the start of a file contain the whole header
_NPY_HEADER = re.compile(
    rb"\{'descr': '(?P<dtype>[<>|=](?:b1|[iu][1248]|f[248]|U[1-9]\d{0,6}))', 'fortran_order': (?P<fortran>True|False), "
    rb"'shape': \((?P<shape>(?:\d{1,18}(?:, \d{1,18}){0,7},?)?)\), \}\s*\n"
)


def to_npy(array: Array) -> bytes:
    """Return the ``.npy`` bytes of a plain array (C order)."""
    out = io.BytesIO()
    write_npy(out, plain(array))
    return out.getvalue()


def plain(array: Array) -> Array:
    """Return the array in C order; raise a DataError if its type cannot be stored."""
    array = np.asarray(array)
    if array.dtype.kind not in PLAIN_KINDS:
        raise DataError(f"An array of {array.dtype} cannot be stored. Give numbers, truth values or text.")
    return np.ascontiguousarray(array).reshape(array.shape)


def write_npy(file: IO[bytes], array: Array) -> None:
    """Write the ``.npy`` bytes of a ``plain`` array in pieces, without a copy of the whole."""
    np.lib.format.write_array(file, array, allow_pickle=False)


def from_npy(data: bytes | memoryview, *, what: str = "array") -> Array:
    """Return the array in ``.npy`` bytes, read-only, in this machine's byte order; errors call it ``what``."""
    header = npy_header(data[:HEADER_BYTES], what=what)
    dtype, shape = header.dtype, header.shape
    body = memoryview(data)[header.begin :]
    claimed = math.prod(shape) * dtype.itemsize
    if claimed != len(body):
        raise FileError(f"The {what} claims shape {shape} of {dtype}, {claimed} bytes, but has {len(body)}.")
    flat = np.frombuffer(body, dtype)
    codes = np.frombuffer(body, np.dtype("u4").newbyteorder(dtype.byteorder)) if dtype.kind == "U" else None
    if codes is not None and codes.max(initial=0) > 0x10FFFF:
        raise FileError(f"The {what} contains invalid characters.")
    array: Array = flat.reshape(shape[::-1]).T if header.fortran else flat.reshape(shape)
    array = array.astype(dtype.newbyteorder("="), copy=False)  # it may come from a machine of the other byte order
    array.flags.writeable = False
    return array


@dataclass(frozen=True)
class NpyHeader:
    """What an ``.npy`` file claims to contain: the type, the shape, whether columns come first; where data begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    begin: int


def npy_header(data: bytes | memoryview, *, what: str = "array") -> NpyHeader:
    """Parse the header in the first ``HEADER_BYTES`` of an ``.npy`` file; errors call the file ``what``."""
    start = bytes(data[:12])
    wide = start[6:7] == b"\x02"  # version 2 has four bytes for the length of the header, version 1 two
    begin = 12 if wide else 10
    length = int.from_bytes(start[8:begin], "little")
    header = _NPY_HEADER.fullmatch(bytes(data[begin : begin + min(length, _NPY_HEADER_LIMIT)]))
    if start[:6] != b"\x93NUMPY" or start[6:8] not in (b"\x01\x00", b"\x02\x00") or header is None:
        raise FileError(f"The {what} is not an .npy array of numbers, truth values or text.")
    dtype = np.dtype(header["dtype"].decode())
    shape = tuple(int(extent) for extent in header["shape"].replace(b",", b" ").split())
    return NpyHeader(dtype, shape, header["fortran"] == b"True", begin + length)


_HEADER = "header.json"
_HEADER_LIMIT = 10_000_000  # bytes of JSON, for writing and reading
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}\Z")
_DATE = (1980, 1, 1, 0, 0, 0)  # a fixed date, so that the same content gives the same bytes


def write_archive(
    path: str | os.PathLike[str], kind: str, header: Mapping[str, Any], arrays: Mapping[str, Array]
) -> None:
    """Write ``arrays`` and ``header`` as one file; ``kind`` says what it contains, and reading requires the same."""
    try:
        text = json.dumps({**header, "kind": kind}, sort_keys=True, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as problem:
        raise DataError(f"The {kind} contains a value that cannot be stored: {problem}.") from None
    described = text.encode("utf-8", "backslashreplace")
    if len(described) > _HEADER_LIMIT:
        raise DataError(f"The description of the {kind} has {len(described)} bytes; at most {_HEADER_LIMIT} are read.")
    members: dict[str, Array] = {}
    for name, array in arrays.items():
        if not _NAME.match(name):
            raise DataError(f"An array cannot be stored under the name {name[:60]!r}.")
        members[f"{name}.npy"] = plain(array)
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(_HEADER, _DATE), described)
        for name, array in members.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.file_size = array.nbytes  # decides whether the archive needs 64-bit sizes
            with archive.open(info, mode="w") as member:
                write_npy(member, array)


def read_archive(
    path: str | os.PathLike[str], kind: str, *, version: int | None = None, mapped: bool = False
) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return (header, arrays) of a file that ``write_archive`` made; anything else is a ``FileError``.

    With ``version``, a file of another version is refused before more than its header is read. With ``mapped``, the
    arrays are put into mapped files of their own."""
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not zipfile.is_zipfile(file):
                raise FileError(f"'{path}' is not a {kind} file.")
            file.seek(0)
            with zipfile.ZipFile(file) as archive:
                header = _header(archive, path)
                if header.pop("kind", None) != kind:
                    raise FileError(f"'{path}' is not a {kind} file.")
                if version is not None:
                    check_version(header.get("version"), version, path)
                members = _check_members(archive, size, path)
                del members[_HEADER]
                arrays = {
                    name.removesuffix(".npy"): from_npy(
                        _content(archive, member, mapped), what=f"array '{name}' of '{path}'"
                    )
                    for name, member in members.items()
                }
                return header, arrays
    except OSError as problem:
        raise FileError(f"'{path}' cannot be read: {problem.strerror or problem}.") from None
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, ValueError, io.UnsupportedOperation) as p:
        if isinstance(p, FileError):
            raise
        raise FileError(f"'{path}' is damaged ({p}).") from None


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo, mapped: bool) -> bytes | memoryview:
    """Return the bytes of a member; reading checks its crc32."""
    if not mapped:
        return archive.read(member)
    content = allocate((member.file_size, 1), np.uint8, mapped=True).reshape(-1).data
    with archive.open(member) as stream:
        for start in range(0, len(content), BLOCK):
            piece = content[start : start + BLOCK]
            if stream.readinto(piece) != len(piece):  # type: ignore[attr-defined]  # it fills what it is given
                raise EOFError("it ends too early")
    return content


def _check_members(archive: zipfile.ZipFile, size: int, path: object) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    for member in archive.infolist():
        name = member.filename
        plain = name == _HEADER or (name.endswith(".npy") and _NAME.match(name))
        if not plain or not _is_stored(member) or name in members:
            raise FileError(f"'{path}' has a part {name[:60]!r} that kcrc did not write; nothing was used.")
        members[name] = member
    if sum(member.file_size for member in members.values()) > size:
        raise FileError(f"'{path}' claims more bytes than it has; it is damaged.")
    return members


def check_version(version: object, newest: int, path: object) -> None:
    """Raise a ``FileError`` if a file's version is invalid or newer than ``newest``."""
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise FileError(f"'{path}' has the unknown file version {str(version)[:60]!r}; it is damaged.")
    if version > newest:
        raise FileError(
            f"'{path}' was written by a newer kcrc (file version {str(version)[:20]}, this one reads up to {newest}). "
            "Upgrade kcrc to open it."
        )


def _header(archive: zipfile.ZipFile, path: object) -> dict[str, Any]:
    members = [member for member in archive.infolist() if member.filename == _HEADER]
    if len(members) != 1 or not _is_stored(members[0]) or members[0].file_size > _HEADER_LIMIT:
        raise FileError(f"'{path}' has no header that kcrc wrote.")
    try:
        header = read_json(archive.read(members[0]))
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise FileError(f"The header of '{path}' is not readable.")
    return header


def _is_stored(member: zipfile.ZipInfo) -> bool:
    """Return whether a member is neither compressed nor encrypted, and as long in the file as it claims."""
    plain = member.compress_type == zipfile.ZIP_STORED and not member.flag_bits & 0x1
    return plain and member.file_size == member.compress_size


# An archive may unpack to PACKED times its size plus SMALL bytes.
PACKED, SMALL = 200, 64 << 20


def read_npz(path: Path, *, wanted: Collection[str] | None = None) -> tuple[dict[str, Array], list[str]]:
    """Return (arrays, names) of an ``.npz`` file of untrusted origin: the arrays by name, all or those ``wanted``, and
    the names of all."""
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
