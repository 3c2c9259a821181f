"""The files that SQLite keeps beside a gallery, looked at before SQLite acts on them.

SQLite believes its side files. A rollback journal may name one more file (a "super-journal"), and playing the journal
back deletes that file, wherever it is; a journal or log that is a link is written through; a log is taken into the
gallery. They are used before any table is read, so no audit of the gallery comes in time. What kcrc itself leaves when
it is killed is a plain journal of old pages of this one file. Anything else is refused, and nothing is touched.

A journal of that shape may be planted too, and cannot be told from a real one. It can change the pages of the gallery
and nothing else, as could the program that wrote the gallery; the audit and the checksums look at the outcome.

What is promised: files that lie there when the gallery is opened, or a transaction begins, do no harm. What is not:
SQLite opens the files by name a moment after this look, so someone who may write in the folder can exchange them in
between. Galleries belong into folders in which only those write whom one trusts.
"""

from __future__ import annotations

import contextlib
import glob
import os
import stat
import struct
import time
from collections.abc import Iterator
from pathlib import Path

from kcrc.errors import FileError
from kcrc.gallery.stores.sqlite import vector_file

ENDINGS = ("-journal", "-wal", "-shm")

_MAGIC = bytes.fromhex("d9d505f920a163d7")
_HEAD = struct.Struct(">8s5I")  # magic, records, nonce, pages of the file before, sector size, page size
_LOOKS, _PAUSE_SECONDS = 3, 0.02  # more, where the first finds fault


def check(gallery: str) -> None:
    """An error where something lies beside the gallery (its real path) that kcrc never writes."""
    for end in ENDINGS[1:]:
        if os.path.lexists(gallery + end):
            raise _refusal(gallery, end, "belongs to a write-ahead log, which kcrc never keeps")
    fault = _fault(gallery)
    for _ in range(_LOOKS):
        if fault is None:
            return
        time.sleep(_PAUSE_SECONDS)  # the journal of a writer at work changes under our eyes; a planted one does not
        fault = _fault(gallery)
    if fault is not None:
        raise _refusal(gallery, ENDINGS[0], fault)


def _refusal(gallery: str, end: str, fault: str) -> FileError:
    name = Path(gallery).name
    return FileError(
        f"Beside the gallery '{gallery}' lies '{name}{end}', which {fault}. Nothing was opened or changed. "
        "Move that file away; if someone gave you both, do not trust the gallery either."
    )


def _fault(gallery: str) -> str | None:
    """What is wrong with the journal, or None where there is none or it is as kcrc's own are."""
    journal = gallery + ENDINGS[0]
    try:
        there = os.lstat(journal)
        if not stat.S_ISREG(there.st_mode):
            return "is a link, a folder or a device, and not a journal that kcrc wrote"
        if there.st_nlink > 1:
            return "is another file under a second name, and not a journal that kcrc wrote"
        before = os.stat(gallery).st_size
        size, head, tail = _ends(journal)
        room = max(before, os.stat(gallery).st_size) + size
    except FileNotFoundError:
        return None
    except OSError as problem:
        return f"cannot be looked at ({problem.strerror})"
    if tail[-8:] == _MAGIC and size >= 16:
        return "names one more file, which would be deleted; kcrc never writes such a journal"
    if head[:8] not in (_MAGIC[: len(head)], bytes(min(len(head), 8))):
        return "is not a journal"
    if len(head) == _HEAD.size and head[:8] == _MAGIC:
        _, _, _, pages, sector, page = _HEAD.unpack(head)
        # A page more than there is room for: SQLite leaves out the one that its locks lie on.
        if not (_power(page, 512) and _power(sector, 32)) or pages * page > room + page:
            return "claims sizes that cannot be"
    return None


def _ends(journal: str) -> tuple[int, bytes, bytes]:
    """The size of the journal, its first bytes and its last. It is a file of its own: SQLite has no locks on it."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(journal, flags), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        head = file.read(_HEAD.size)
        file.seek(max(0, size - 8))
        return size, head, file.read(8)


def _power(number: int, least: int) -> bool:
    return least <= number <= 65536 and number & (number - 1) == 0


# Where examples of a gallery leave copies outside its file: the cache of vectors, and files that people make.

_OURS = b"KCRCVEC"  # how a cache begins


def drop_caches(gallery: Path) -> None:
    """Delete the vectors kept beside the gallery, and where KCRC_GALLERY_CACHE says; both can be made again.

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
