"""Files in object stores, by fsspec: only those that somebody named on the command line or that lie below them."""

from __future__ import annotations

import contextlib
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import Any

from kcrc.errors import DataError, KCRCError, ParameterError, StateError
from kcrc.images.decoding.accepted import EXTENSION_FORMATS, Content, ImageError, Limits, too_many_bytes

# what is raised of archives and tables that are damaged or none
UNFIT = (ValueError, zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError)


def is_remote(name: str) -> bool:
    return "://" in name


def file_system(address: str) -> tuple[Any, str]:
    """The file system that an address is in, and the path there."""
    try:
        import fsspec
    except ImportError:
        raise ParameterError(f"Reading '{address}' needs fsspec. Install it: pip install 'kcrc[remote]'.") from None
    with refusals(address):
        try:
            system, path = fsspec.core.url_to_fs(address)
        except ImportError as problem:  # the package for this kind of address; fsspec says which
            raise StateError(f"'{address}' cannot be read: {problem}") from None
        except (ValueError, TypeError) as problem:  # TypeError: an address that says too little
            raise ParameterError(f"'{address}' cannot be read: {problem}.") from None
    return system, path


def files_below(address: str) -> list[str]:
    """The image files of a folder, by address, in the order of their names; the address itself where it is a file."""
    system, path = file_system(address)
    with refusals(address):
        if not system.isdir(path):
            return [address]
        inside = sorted(system.find(path))
    pictures = [name for name in inside if any(name.lower().endswith(ending) for ending in EXTENSION_FORMATS)]
    if not pictures:
        raise DataError(f"The folder '{address}' has no image files.")
    return [system.unstrip_protocol(name) for name in pictures]


def state(address: str) -> str:
    """What tells a file from what it is later: its size and its time, or the mark its store gives it."""
    if not is_remote(address):
        try:
            found = os.stat(address)
        except OSError:
            return "missing"  # which is said of it when its turn comes
        return f"{found.st_size} {found.st_mtime_ns}"
    system, path = file_system(address)
    with refusals(address):
        return f"{system.size(path)} {system.ukey(path)}"


def fetched(address: str) -> Content | ImageError:
    """The bytes of a picture, and no more than a picture may have; or why not."""
    limits = Limits.usual()
    try:
        system, path = file_system(address)
        with refusals(address):
            size = system.size(path)
            if size is not None and size > limits.max_bytes:
                return too_many_bytes(address, size, limits)
            with system.open(path, "rb") as file:
                data: bytes = file.read(limits.max_bytes + 1)
    except DataError as problem:
        return ImageError(address, "unreadable", str(problem))
    return too_many_bytes(address, len(data), limits) if len(data) > limits.max_bytes else Content(address, data)


@contextlib.contextmanager
def refusals(address: str, kinds: tuple[type[Exception], ...] = (Exception,)) -> Iterator[None]:
    """What a store refuses, as an error of ours.

    Every store has errors of its own, and some trip over an address that says too little: all ``kinds`` are its.
    """
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"'{address}' is not there.") from None
    except OSError as problem:
        raise DataError(f"'{address}' cannot be read: {problem.strerror or problem}.") from None
    except (KCRCError, MemoryError):
        raise
    except kinds as problem:
        said = str(problem) or type(problem).__name__
        raise DataError(f"'{address}' cannot be read: {said.rstrip('.')}.") from None
