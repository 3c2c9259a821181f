"""Where examples of a gallery leave copies outside its file: the cache of vectors, and files that people make."""

from __future__ import annotations

import contextlib
import glob
from collections.abc import Iterator
from pathlib import Path

from kcrc.errors import FileError
from kcrc.gallery.stores.sqlite import vector_file

_OURS = b"KCRCVEC"  # how a cache begins


def drop_caches(gallery: Path) -> None:
    """Delete the vectors kept beside the gallery, and where KCRC_GALLERY_CACHE says; both can be made anew.

    In the folder beside, caches of galleries that are no longer there go too: it may be this one's former name.
    """
    for path in set(_caches(gallery.absolute())):
        try:
            path.unlink(missing_ok=True)
        except OSError as problem:
            raise FileError(
                f"The cache '{path}' holds vectors of the gallery and cannot be deleted ({problem.strerror}). "
                "Nothing was erased; delete it and try again."
            ) from None


def _caches(gallery: Path) -> Iterator[Path]:
    beside = gallery.parent / vector_file.FOLDER
    own = [beside / f"{gallery.name}.vectors", vector_file.cache_path(gallery)]
    for path in own:
        if path is not None and not path.parent.is_symlink():
            yield path
            yield from path.parent.glob(f"{glob.escape(path.name)}.*.new")
    if beside.is_dir() and not beside.is_symlink():
        for path in beside.iterdir():
            name = path.name.partition(".vectors")[0]
            if not (gallery.parent / name).exists() and path.is_file() and not path.is_symlink() and _is_cache(path):
                yield path


def _is_cache(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(len(_OURS))
    except OSError:
        return False
    return head == _OURS or (path.suffix == ".new" and not head.strip(b"\0"))  # its head is written last


def beside(gallery: Path) -> tuple[Path, ...]:
    """Files in the gallery's folder whose names say that they come of it: copies, exports, a build that was killed."""
    found: set[Path] = set()
    for own in {
        gallery.absolute(),
        gallery.resolve(),
    }:  # a migration leaves its copy beside the file, not beside a link
        stem = own.name.removesuffix(own.suffix).lstrip(".")
        with contextlib.suppress(OSError):  # a folder that may not be listed
            for path in own.parent.iterdir():
                name = path.name.lstrip(".")
                related = name.startswith(f"{stem}.") or (name.startswith(stem) and ".kcrc" in name)
                if related and path.name not in (own.name, f"{own.name}-journal") and path.is_file():
                    found.add(path)
    return tuple(sorted(found - {gallery.absolute(), gallery.resolve()}))
