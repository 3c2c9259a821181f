"""The act that adds examples: duplicates are found, and all batches of one command are one entry of the history."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, ParameterError
from kcrc.gallery import examples, history
from kcrc.gallery.acts import now, record_act, set_summary
from kcrc.gallery.contract import ExampleRecord, Snapshot, Transaction
from kcrc.gallery.history import first_of
from kcrc.gallery.settings import Settings

if TYPE_CHECKING:
    from kcrc.gallery.gallery import Gallery

Duplicates = Literal["skip", "error", "keep"]


@dataclass(frozen=True)
class Duplicate:
    """An example that was not added, because one with the same content is in the gallery.

    Attributes
    ----------
    position : int
        Its place among the new examples.
    source : str
        Where it came from.
    label : str
        Its class as a new example.
    id : int
        The example that is in the gallery.
    existing_label : str
        The class of the stored one.
    """

    position: int
    source: str
    label: str
    id: int
    existing_label: str


@dataclass(frozen=True)
class Command:
    """What a command has added so far, in one batch or several: its first act, number of examples, classes."""

    act: int
    examples: int
    labels: frozenset[str]


@dataclass(frozen=True)
class Added:
    """What ``add`` or ``import_`` added.

    Attributes
    ----------
    ids : tuple of int
        The ids of the new examples, in order.
    duplicates : tuple of Duplicate
        What was skipped as already in the gallery.
    command : Command or None
        What the next batch of the same command continues; None if nothing was added yet.
    """

    ids: tuple[int, ...]
    duplicates: tuple[Duplicate, ...] = ()
    command: Command | None = None

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class NewExamples:
    """New examples, checked."""

    labels: Sequence[str]
    vectors: Array
    sources: Sequence[str]
    contents: Sequence[bytes]
    thumbnails: Sequence[bytes | None]


def checked_examples(
    had: Settings,
    labels: str | Sequence[str] | Array,
    vectors: Any,
    *,
    sources: Sequence[str] | None = None,
    contents: Sequence[bytes | str] | None = None,
    thumbnails: Sequence[bytes | None] | None = None,
    fingerprint: str | None = None,
) -> NewExamples:
    """Check examples for a gallery of these settings: a label each (or one for all), vectors (n, dim), sources, SHA-256
    of the contents, thumbnails; ``fingerprint`` names what made the vectors."""
    if fingerprint is not None and fingerprint != had.fingerprint:
        raise DataError(
            f"The gallery compares pictures in another way ('{_feature_name(had.fingerprint)}') than these examples "
            f"were made for ('{_feature_name(fingerprint)}'), so their numbers do not fit. Add their pictures with "
            "kcrc add, or build the other gallery again with kcrc build --like."
        )
    array = examples.checked_vectors(vectors, dim=had.dim, dtype=had.dtype, fingerprint=had.fingerprint)
    n = len(array)
    names = [labels] * n if isinstance(labels, str) else list(labels)
    lists = {"labels": names, "sources": sources, "contents": contents, "thumbnails": thumbnails}
    for name, values in lists.items():
        if values is not None and len(values) != n:
            raise DataError(f"{name} must have one value per vector; got {len(values)} for {n} vectors.")
    return NewExamples(
        labels=[examples.checked_label(name) for name in names],
        vectors=array,
        sources=[""] * n if sources is None else [examples.checked_source(source) for source in sources],
        contents=examples.checked_contents(contents, array),
        thumbnails=[None] * n
        if thumbnails is None
        else [examples.checked_thumbnail(data, position) for position, data in enumerate(thumbnails)],
    )


@dataclass(frozen=True)
class Add:
    """Add the examples of a batch; duplicates (same content) are skipped, refused or kept, as ``duplicates`` says."""

    batch: NewExamples
    duplicates: Duplicates = "skip"
    continued: Command | None = None
    """Earlier batches of the same command: all are one entry of the history, and undone as one."""

    def __call__(self, writing: Transaction) -> Added:
        batch = self.batch
        fresh, skipped = self._split_duplicates(writing)
        if not fresh:
            return Added((), tuple(skipped), self.continued)
        labels = frozenset(batch.labels[position] for position in fresh)
        had = writing.settings()
        ids = range(had.next_id, had.next_id + len(fresh))
        before = self._command_to_continue(writing)
        detail = None if before is None else {"part_of": before.act}
        summary = history.summarise_add(len(fresh), labels)
        act = record_act(writing, had, "add", summary, detail=detail, next_id=ids.stop)
        command = Command(act, len(fresh), labels)
        if before is not None:
            command = Command(before.act, before.examples + len(fresh), before.labels | labels)
            set_summary(writing, command.act, history.summarise_add(command.examples, command.labels))
        vectors = batch.vectors if len(fresh) == len(batch.labels) else batch.vectors[fresh]
        thumbnails = [batch.thumbnails[position] for position in fresh]
        added_at = now()
        records = [
            ExampleRecord(
                example,
                batch.labels[position],
                batch.sources[position],
                batch.contents[position],
                added_at=added_at,
                added_by=act,
                removed_by=None,
                vector_crc=zlib.crc32(vector.data.cast("B")),
                thumbnail_crc=None if picture is None else zlib.crc32(picture),
            )
            for example, position, vector, picture in zip(ids, fresh, vectors, thumbnails, strict=True)
        ]
        writing.insert_examples(records, vectors, thumbnails)
        return Added(tuple(ids), tuple(skipped), command)

    def _command_to_continue(self, reading: Snapshot) -> Command | None:
        """Return the command that this batch continues; None if something else happened since, so that a new one
        begins."""
        if self.continued is None:
            return None
        latest = next(act for act in reading.acts() if act.action != "first tune")
        is_latest = latest.action == "add" and latest.undone_by is None and first_of(latest) == self.continued.act
        return self.continued if is_latest else None

    def _split_duplicates(self, reading: Snapshot) -> tuple[list[int], list[Duplicate]]:
        """Return the positions of what is to be added, and the duplicates."""
        batch = self.batch
        if self.duplicates not in ("skip", "error", "keep"):
            raise ParameterError(f"duplicates must be 'skip', 'error' or 'keep'; got {self.duplicates!r}.")
        if self.duplicates == "keep":
            return list(range(len(batch.labels))), []
        seen: dict[bytes, tuple[int, str]] = {}
        stored = reading.find(ExampleRecord, content=sorted(set(batch.contents)), removed_by=None)
        for record in sorted(stored):
            seen.setdefault(record.content, (record.id, record.label))
        fresh: list[int] = []
        skipped: list[Duplicate] = []
        for position, content in enumerate(batch.contents):
            label, source = batch.labels[position], batch.sources[position]
            if content in seen:
                skipped.append(Duplicate(position, source, label, *seen[content]))
            else:
                seen[content] = (0, label)  # 0: a twin within this batch
                fresh.append(position)
        if skipped and self.duplicates == "error":
            first = skipped[0]
            raise DataError(
                f"{len(skipped)} of {len(batch.labels)} examples are in the gallery already, the first "
                f"'{first.source}' (as '{first.existing_label}'). Nothing was added; duplicates='skip' or 'keep' "
                "adds the others or all."
            )
        return fresh, skipped


# Near copies: examples that look the same as another one, resized or compressed again, by their thumbnails.
#
# New examples are compared with each other, and each with the stored one whose vector is nearest. A copy's vector is
# near that of its original, so adding one photograph need not look at every picture of a large gallery.

_AT_ONCE = 4_000_000  # distances in memory at a time


def near_copies(gallery: Gallery, new: Iterable[int]) -> list[tuple[int, int]]:
    """Return pairs (copy, other) of examples that look the same; the copy is one of the ``new`` ids."""
    from kcrc.images.look_alikes import fingerprint_of, similar_pairs  # needs SciPy, which adding does without

    ids, vectors, _ = gallery.vectors()
    is_new = np.isin(ids, list(new))
    if not is_new.any():
        return []
    rows = np.flatnonzero(is_new)
    if not is_new.all():
        stored = np.flatnonzero(~is_new)
        rows = np.union1d(rows, stored[_nearest(vectors[is_new], vectors[stored])])
    marks = {int(row): fingerprint_of(gallery.thumbnail, int(ids[row])) for row in rows}
    pictures = [(row, mark) for row, mark in marks.items() if mark is not None]
    if not pictures:
        return []
    bits, small = (
        np.array([mark.bits for _, mark in pictures], np.uint64),
        np.stack([mark.small for _, mark in pictures]),
    )
    pairs = similar_pairs(bits, small, np.arange(len(pictures)))  # whatever their labels
    both = [(pictures[b][0], pictures[a][0]) for a, b in pairs]
    return sorted((int(ids[b]), int(ids[a])) for b, a in both if is_new[b])


def _nearest(queries: Array, stored: Array) -> Array:
    """Return (n,) the position of the stored vector nearest to each query."""
    lengths = np.einsum("ij,ij->i", stored, stored)
    step = max(1, _AT_ONCE // len(stored))
    parts = (queries[start : start + step] @ stored.T for start in range(0, len(queries), step))
    return np.concatenate([(lengths - 2.0 * products).argmin(axis=1) for products in parts])


def _feature_name(fingerprint: str) -> str:
    """The name in a fingerprint, without its checksum."""
    return fingerprint.partition(":")[0]
