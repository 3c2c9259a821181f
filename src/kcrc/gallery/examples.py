"""One example as a gallery knows it, the checks on what comes in, and the table of contents."""

from __future__ import annotations

import datetime
import hashlib
import os
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kcrc._base.arrays import Array, as_python
from kcrc.errors import DataError, FileError
from kcrc.gallery.contract import ExampleRecord, Snapshot
from kcrc.gallery.history import moment

LABEL_LIMIT = 500
SOURCE_LIMIT = 4_000
THUMBNAIL_LIMIT = 256 * 1024
_PICTURES = (b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"RIFF")


@dataclass(frozen=True)
class Example:
    """One stored example, without its vector and picture.

    Attributes
    ----------
    id : int
        Its id, for good.
    label : str
        Its class.
    source : str
        Where it came from: a path, or what was given.
    content : bytes
        The SHA-256 of its file, or of its vector where there is none.
    added_at : datetime or None
        When it was added; None where it is not known.
    """

    id: int
    label: str
    source: str
    content: bytes
    added_at: datetime.datetime | None


@dataclass(frozen=True, eq=False)
class Contents:
    """The examples in the gallery at one moment, by rising id."""

    revision: int
    rows: tuple[ExampleRecord, ...]

    def __len__(self) -> int:
        return len(self.rows)

    @cached_property
    def ids(self) -> Array:
        return np.array([row.id for row in self.rows], np.int64)

    @cached_property
    def labels(self) -> Array:
        return np.array([row.label for row in self.rows], dtype=str) if self.rows else np.zeros(0, "<U1")

    @cached_property
    def vector_crcs(self) -> Array:
        return np.array([row.vector_crc for row in self.rows], np.uint32)

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many examples each class has, classes sorted."""
        return dict(sorted(Counter(row.label for row in self.rows).items()))

    def example(self, position: int) -> Example:
        return as_example(self.rows[position])


def as_example(record: ExampleRecord) -> Example:
    return Example(record.id, record.label, record.source, record.content, moment(record.added_at))


def read_contents(reading: Snapshot) -> Contents:
    """All examples that are in."""
    records = reading.all(ExampleRecord)
    for record in records:
        named = 0 < len(record.label) <= LABEL_LIMIT and len(record.source) <= SOURCE_LIMIT
        if not (record.id > 0 and named and len(record.content) == 32 and 0 <= record.vector_crc < 1 << 32):
            raise FileError(f"Example {record.id} holds impossible values; the file is damaged.")
    return Contents(reading.settings().revision, tuple(record for record in records if record.removed_by is None))


def checked_ids(ids: Iterable[Any]) -> list[int]:
    """Ids as they were given, sorted, each once."""
    try:
        return sorted({int(example) for example in ids})
    except (TypeError, ValueError):
        raise DataError("Examples are named by their ids, whole numbers.") from None


def checked_label(label: Any) -> str:
    """A class name as it is stored: text, composed (NFC), so that one name typed in two ways is one class."""
    label = as_python(label)
    if not isinstance(label, str | int) or isinstance(label, bool):
        raise DataError(f"A class name is text; given {type(label).__name__} {str(label)[:60]!r}.")
    name = unicodedata.normalize("NFC", sound_text(str(label)))
    if not name.strip() or "\0" in name or len(name) > LABEL_LIMIT:
        raise DataError(f"A class name has 1 to {LABEL_LIMIT} characters that are not all spaces; given {name[:60]!r}.")
    return name


def checked_source(source: Any) -> str:
    """Where an example came from, as text that any reader can decode."""
    text = sound_text(os.fspath(source) if not isinstance(source, str) else source).replace("\0", "\\0")
    return text if len(text) <= SOURCE_LIMIT else "…" + text[-SOURCE_LIMIT + 1 :]


def sound_text(text: str | bytes) -> str:
    """Text without what UTF-8 cannot say (a file name may hold any bytes)."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "backslashreplace")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def checked_vectors(vectors: Any, *, dim: int, dtype: str, fingerprint: str) -> Array:
    """(n, dim) finite numbers in the gallery's type."""
    try:
        array = np.asarray(vectors)
        if array.dtype.kind not in "biuf":
            raise TypeError
    except (TypeError, ValueError):
        raise DataError("The vectors are not a table of numbers with one row an example.") from None
    if array.ndim == 1 and array.size == dim:
        array = array[None, :]
    if array.ndim != 2 or array.shape[1] != dim:
        raise DataError(
            f"The gallery holds vectors of {dim} numbers ({fingerprint}); given an array of shape "
            f"{array.shape}. Make them with the gallery's own feature."
        )
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(array, np.dtype(dtype).newbyteorder("<"))
    wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if wrong.size:
        raise DataError(f"Vector {wrong[0]} holds NaN or infinity ({wrong.size} of {len(array)} vectors do).")
    return array


def checked_thumbnail(data: Any, position: int) -> bytes | None:
    """A small JPEG, PNG or WebP as bytes, without what else its file said (place, time, camera), or none."""
    from kcrc.images.features.metadata import strip_metadata

    if data is None or len(data) == 0:
        return None
    given = bytes(data)
    small = len(given) <= THUMBNAIL_LIMIT and given.startswith(_PICTURES)
    picture = strip_metadata(given) if small else None
    if picture is None or len(picture) > THUMBNAIL_LIMIT:
        raise DataError(
            f"Thumbnail {position} is not a JPEG, PNG or WebP of at most {THUMBNAIL_LIMIT // 1024} kB "
            f"that can be read ({len(given)} bytes)."
        )
    return picture


def checked_contents(contents: Sequence[Any] | None, vectors: Array) -> list[bytes]:
    """The SHA-256 of each example's picture as it was given, or of its vector where there is no picture."""
    if contents is None:
        return [hashlib.sha256(row.data).digest() for row in vectors]
    digests = [bytes.fromhex(c) if isinstance(c, str) else bytes(c) for c in contents]
    for position, digest in enumerate(digests):
        if len(digest) != 32:
            raise DataError(f"Content hash {position} has {len(digest)} bytes; SHA-256 has 32.")
    return digests


def crc(data: bytes | memoryview | None) -> int | None:
    return None if data is None else zlib.crc32(data)
