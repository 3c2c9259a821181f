"""Labels made elsewhere, into a gallery: new images are added, those that are in already can get their new labels.

An image is known again by its SHA-256, by the first 16 digits of it at the end of its name (as ``outgoing`` writes
them), or by its source. Of others the file is looked for below one folder; names that lead out of it, and addresses,
are not used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kcrc._base.words import file_name
from kcrc.errors import DataError, FileError, KCRCError
from kcrc.files.folders import inside
from kcrc.gallery.building import Intake, add_images
from kcrc.gallery.examples import checked_label
from kcrc.gallery.exchange import format_of
from kcrc.gallery.exchange.contract import Labelled, counted

if TYPE_CHECKING:
    from kcrc.gallery.gallery import Gallery

_MARKED = re.compile(r"-([0-9a-f]{16})(?:\.\d+)?(?:\.\w+)?\Z")


@dataclass
class Received:
    """What became of the rows: ids ``added`` and ``relabelled``; ``same`` were in with that label; ``other`` (id, its
    label, that of the file) kept theirs; ``unlabelled`` had none; ``problems`` could not be used."""

    added: list[int] = field(default_factory=list)
    relabelled: tuple[int, ...] = ()
    same: int = 0
    other: list[tuple[int, str, str]] = field(default_factory=list)
    unlabelled: int = 0
    problems: list[str] = field(default_factory=list)


def receive(
    gallery: Gallery,
    path: str | os.PathLike[str],
    *,
    form: str,
    images: str | os.PathLike[str] | None = None,
    relabel: bool = False,
) -> Received:
    """Bring the labels of a file or folder in a format of ``exchange.names()``, all as one change.

    ``images`` is the folder that names of images are below (None: that of the file). ``relabel`` gives images that are
    in already the label of the file; else theirs stays."""
    where = Path(path)
    root = Path(images) if images is not None else where if where.is_dir() else where.parent
    told, wanted, known = Received(), _Wanted(), _Known(gallery)
    for row in counted(format_of(form).read(where), path):
        if not row.label.strip():
            told.unlabelled += 1
            continue
        label, example = checked_label(row.label), known.example(row)
        if example is not None:
            wanted.label(example, label)
            continue
        try:
            file = _file(root, row.image)
        except KCRCError as problem:
            told.problems.append(str(problem))
        else:
            wanted.file(file, label)
    with gallery.changing():
        _change(gallery, told, wanted, relabel=relabel)
    return told


@dataclass
class _Wanted:
    """Labels by id of what is in, and by file of what is new."""

    labels: dict[int, str] = field(default_factory=dict)
    files: dict[Path, str] = field(default_factory=dict)

    def label(self, example: int, label: str) -> None:
        _agreed(self.labels.setdefault(example, label), label, f"example {example}")

    def file(self, path: Path, label: str) -> None:
        _agreed(self.files.setdefault(path, label), label, f"'{path}'")


def _agreed(label: str, other: str, what: str) -> None:
    if label != other:
        raise DataError(f"There are two labels for {what}: '{label}' and '{other}'. Nothing was relabelled.")


class _Known:
    """The examples of a gallery, by what they are known again by; what two of them share tells nothing."""

    def __init__(self, gallery: Gallery) -> None:
        rows = gallery.contents.rows
        self._by_hash = _told_apart((row.content.hex(), row.id) for row in rows)
        self._by_mark = _told_apart((row.content.hex()[:16], row.id) for row in rows)
        self._by_source = _told_apart((row.source, row.id) for row in rows if row.source)

    def example(self, row: Labelled) -> int | None:
        if len(row.sha256) == 64:
            return self._by_hash.get(row.sha256)
        mark = _MARKED.search(file_name(row.image))
        found = None if mark is None else self._by_mark.get(mark[1])
        return found if found is not None else self._by_source.get(row.image)


def _told_apart(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    twice: set[str] = set()
    for key, example in pairs:
        if key in found:
            twice.add(key)
        found[key] = example
    return {key: example for key, example in found.items() if key not in twice}


def _file(root: Path, image: str) -> Path:
    """The file of an image below a folder."""
    if "://" in image or image.startswith("data:"):
        raise FileError(f"'{image[:200]}' is an address, and nothing is fetched.")
    path = inside(root, image)
    if not os.path.isfile(path):  # False too where no file can have such a name
        raise FileError(f"'{image[:200]}' is not a file below '{root}'; --images names another folder.")
    return path


def _change(gallery: Gallery, told: Received, wanted: _Wanted, *, relabel: bool) -> None:
    """Add what is new, then correct what is in."""
    came = Intake()
    if wanted.files:
        feature = gallery.answering.feature()
        paths, labels = list(wanted.files), list(wanted.files.values())
        add_images(gallery, feature, paths, labels, on_error="skip", told=came)
    told.added = came.added
    told.problems += map(str, came.problems)
    for twin in came.duplicates:
        if twin.id:  # 0 is a twin among the new ones
            wanted.label(twin.id, twin.label)
    has = {row.id: row.label for row in gallery.contents.rows}
    other = {example: label for example, label in wanted.labels.items() if has[example] != label}
    told.same = len(wanted.labels) - len(other)
    if relabel:
        seen = {example: has[example] for example in other}
        told.relabelled = gallery.correct(other, seen=seen, continuing=came.last).relabelled
    else:
        told.other = [(example, has[example], label) for example, label in sorted(other.items())]
