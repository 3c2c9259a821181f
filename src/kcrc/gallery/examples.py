"""One example of a gallery, the checks on new ones, and the table of contents."""

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
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array, as_python
from kcrc.errors import DataError, FileError
from kcrc.gallery.contract import ExampleRecord, Snapshot, Store
from kcrc.gallery.history import moment
from kcrc.gallery.settings import Settings

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
        The SHA-256 of its file, or of its vector if there is none.
    added_at : datetime or None
        When it was added; None if it is not known.
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
    """Read all examples in use."""
    records = reading.all(ExampleRecord)
    for record in records:
        named = 0 < len(record.label) <= LABEL_LIMIT and len(record.source) <= SOURCE_LIMIT
        if not (record.id > 0 and named and len(record.content) == 32 and 0 <= record.vector_crc < 1 << 32):
            raise FileError(f"Example {record.id} holds impossible values; the file is damaged.")
    return Contents(reading.settings().revision, tuple(record for record in records if record.removed_by is None))


def checked_ids(ids: Iterable[Any]) -> list[int]:
    """Return ids as integers, sorted, each once."""
    try:
        return sorted({int(example) for example in ids})
    except (TypeError, ValueError):
        raise DataError("Examples must be named by their ids, whole numbers.") from None


def live(reading: Snapshot, ids: Iterable[int]) -> list[ExampleRecord]:
    """Return the examples of these ids, by rising id; raise an error unless all are in the gallery."""
    numbers = checked_ids(ids)
    records = {record.id: record for record in reading.find(ExampleRecord, id=numbers, removed_by=None)}
    missing = [example for example in numbers if example not in records]
    if missing:
        more = f" (nor {len(missing) - 1} others)" if len(missing) > 1 else ""
        raise DataError(f"There is no example {missing[0]} in the gallery{more}. Nothing was changed.")
    return [records[example] for example in numbers]


def checked_label(label: Any) -> str:
    """Return a class name as it is stored: composed (NFC), so that one name typed in two ways is one class."""
    label = as_python(label)
    if not isinstance(label, str | int) or isinstance(label, bool):
        raise DataError(f"A class name must be text; got {type(label).__name__} {str(label)[:60]!r}.")
    name = unicodedata.normalize("NFC", sound_text(str(label)))
    if not name.strip() or "\0" in name or len(name) > LABEL_LIMIT:
        raise DataError(f"A class name must have 1 to {LABEL_LIMIT} characters, not all spaces; got {name[:60]!r}.")
    return name


def checked_source(source: Any) -> str:
    """Return the source of an example as text that any reader can decode."""
    text = sound_text(os.fspath(source) if not isinstance(source, str) else source).replace("\0", "\\0")
    return text if len(text) <= SOURCE_LIMIT else "…" + text[-SOURCE_LIMIT + 1 :]


def sound_text(text: str | bytes) -> str:
    """Return text without what UTF-8 cannot encode (a file name may hold any bytes)."""
    if isinstance(text, bytes):
        return text.decode("utf-8", "backslashreplace")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def checked_vectors(vectors: Any, *, dim: int, dtype: str, fingerprint: str) -> Array:
    """Return (n, dim) finite numbers in the gallery's type."""
    try:
        array = np.asarray(vectors)
        if array.dtype.kind not in "biuf":
            raise TypeError
    except (TypeError, ValueError):
        raise DataError("The vectors must be a table of numbers with one row per example.") from None
    if array.ndim == 1 and array.size == dim:
        array = array[None, :]
    if array.ndim != 2 or array.shape[1] != dim:
        raise DataError(
            f"The vectors must have {dim} numbers each ({fingerprint}); got an array of shape {array.shape}. "
            "Make them with the gallery's own feature."
        )
    with np.errstate(over="ignore"):
        array = np.ascontiguousarray(array, np.dtype(dtype).newbyteorder("<"))
    wrong = np.flatnonzero(~np.isfinite(array).all(axis=1))
    if wrong.size:
        raise DataError(f"Vector {wrong[0]} holds NaN or infinity ({wrong.size} of {len(array)} vectors do).")
    return array


def checked_thumbnail(data: Any, position: int) -> bytes | None:
    """Return a small JPEG, PNG or WebP as bytes without its metadata (place, time, camera), or None."""
    from kcrc.images.features.metadata import strip_metadata

    if data is None or len(data) == 0:
        return None
    content = bytes(data)
    small = len(content) <= THUMBNAIL_LIMIT and content.startswith(_PICTURES)
    picture = strip_metadata(content) if small else None
    if picture is None or len(picture) > THUMBNAIL_LIMIT:
        raise DataError(
            f"Thumbnail {position} is not a JPEG, PNG or WebP of at most {THUMBNAIL_LIMIT // 1024} kB "
            f"that can be read ({len(content)} bytes)."
        )
    return picture


def checked_contents(contents: Sequence[Any] | None, vectors: Array) -> list[bytes]:
    """Return the SHA-256 of each example's picture as given, or of its vector if there is no picture."""
    if contents is None:
        return [hashlib.sha256(row.data).digest() for row in vectors]
    digests = [bytes.fromhex(c) if isinstance(c, str) else bytes(c) for c in contents]
    for position, digest in enumerate(digests):
        if len(digest) != 32:
            raise DataError(f"Content hash {position} must have 32 bytes (SHA-256); got {len(digest)}.")
    return digests


def crc(data: bytes | memoryview | None) -> int | None:
    return None if data is None else zlib.crc32(data)


class StoredExamples:
    """The examples in a store: read when they are first needed, and again when they changed."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._contents: Contents | None = None
        self._vectors: tuple[int, Array] | None = None

    @property
    def path(self) -> Path | str:
        return self.store.address

    @property
    def settings(self) -> Settings:
        """Feature, fingerprint, width and parameters of now."""
        return self.store.read(lambda reading: reading.settings())

    @property
    def contents(self) -> Contents:
        def look(reading: Snapshot) -> Contents:
            if self._contents is None or self._contents.revision != reading.settings().revision:
                self._contents = read_contents(reading)
            return self._contents

        return self.store.read(look)

    def vectors(self) -> Array:
        """Return (n, dim), of the examples in ``contents`` if called in the same ``read``."""

        def look(_: Snapshot) -> Array:
            now = self.contents
            if self._vectors is None or self._vectors[0] != now.revision:
                self._vectors = (now.revision, self.store.vectors(now))
            return self._vectors[1]

        return self.store.read(look)

    def feature_state(self) -> dict[str, Any]:
        """Return the state of the fitted feature: plain values and arrays by name."""
        return self.store.read(lambda reading: {**reading.settings().values, **reading.feature_state()})

    def thumbnail(self, example: int) -> bytes | None:
        """Return the thumbnail of an example, if it has one."""
        return self.store.read(lambda reading: reading.thumbnail(*live(reading, [example])))

    def reset(self) -> None:
        """Drop what was read."""
        self._contents = self._vectors = None
