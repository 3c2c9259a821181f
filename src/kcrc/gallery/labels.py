"""The labels of a gallery for another program, and labels made elsewhere into a gallery: new images are added, those
that are in already can get their new labels.

An image is known again by its SHA-256, by the first 16 digits of it at the end of its name (as exported pictures are
named), or by its source. Of others the file is looked for below one folder; names that lead out of it, and addresses,
are not used.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from kcrc._base.words import file_name
from kcrc.errors import DataError, KCRCError
from kcrc.gallery.building import Intake, add_images
from kcrc.gallery.examples import checked_label
from kcrc.gallery.exchange import format_of
from kcrc.gallery.exchange.contract import Labelled, limit_rows
from kcrc.gallery.exchange.picture_files import find_file
from kcrc.gallery.listing import facts_of, list_examples
from kcrc.images.decoding.limits import Content
from kcrc.images.decoding.reading import fetch
from kcrc.images.features.metadata import strip_metadata

if TYPE_CHECKING:
    from kcrc.gallery.gallery import Gallery

_MARKED = re.compile(r"-([0-9a-f]{16})(?:\.\d+)?(?:\.\w+)?\Z")


@dataclass
class ExportCounts:
    """How many examples were written, and with which pictures: whole originals, or the small ones that a gallery keeps.
    ``without`` had no picture where one is needed, and were left out; ``lost`` are the sources of originals that were
    not found."""

    examples: int = 0
    originals: int = 0
    small: int = 0
    without: int = 0
    lost: list[str] = field(default_factory=list)


def export_labels(
    gallery: Gallery,
    path: str | os.PathLike[str],
    *,
    form: str,
    originals: bool = False,
    file_names: bool = False,
    images: str | os.PathLike[str] | None = None,
) -> ExportCounts:
    """Write the examples in a format of ``exchange.names()``.

    Formats with pictures get those the gallery keeps: small, and of pixels alone. ``originals`` copies the photographs
    they came from, as far as they are still where they were, byte for byte; ``file_names`` leaves their folders out."""
    counts, sources, rows = ExportCounts(), dict[str, str](), list[Labelled]()
    for example in list_examples(gallery):
        facts = facts_of(example)
        sources[facts["sha256"]] = example.source
        name = file_name(example.source) if file_names else example.source
        rows.append(Labelled(example.label, name, facts["sha256"], example.id, facts["added_at"] or ""))

    beside = [gallery.path.parent] if isinstance(gallery.path, Path) else []
    folders = [".", *beside, *([] if images is None else [images, Path(images).parent])]

    def picture(row: Labelled) -> bytes | None:
        whole = read_original(sources[row.sha256], row.sha256, folders) if originals else None
        if originals and whole is None:
            counts.lost.append(sources[row.sha256] or f"#{row.id}")
        content = whole or strip_metadata(gallery.thumbnail(row.id or 0) or b"")
        counts.originals += whole is not None
        counts.small += whole is None and content is not None
        counts.without += content is None
        return content

    counts.examples = format_of(form).write(Path(path), rows, picture)
    return counts


def read_original(source: str, sha256: str, folders: Iterable[str | os.PathLike[str]] = (".",)) -> bytes | None:
    """Return the photograph an example came from, below one of the folders; None if it is gone or changed."""
    for folder in folders if source else ():
        try:
            content = fetch(os.path.join(folder, source))
        except KCRCError:
            continue
        if hashlib.sha256(content).hexdigest() == sha256:
            return content
    return None


@dataclass
class ImportCounts:
    """What happened to the rows: ids ``added`` and ``relabelled``; ``same`` were in with that label; ``other`` (id, its
    label, that of the file) kept theirs; ``unlabelled`` had none; ``problems`` could not be used."""

    added: list[int] = field(default_factory=list)
    relabelled: tuple[int, ...] = ()
    same: int = 0
    other: list[tuple[int, str, str]] = field(default_factory=list)
    unlabelled: int = 0
    problems: list[str] = field(default_factory=list)


def import_labels(
    gallery: Gallery,
    path: str | os.PathLike[str],
    *,
    form: str,
    images: str | os.PathLike[str] | None = None,
    relabel: bool = False,
    label_column: str | None = None,
) -> ImportCounts:
    """Bring the labels of a file or folder in a format of ``exchange.names()``, all as one change.

    ``images`` is the folder that names of images are below (None: that of the file). ``relabel`` gives images that are
    in already the label of the file; else theirs stays. ``label_column`` is the column of the class in a table; None
    chooses it by its name."""
    return carry_out(gallery, plan(gallery, path, form=form, images=images, relabel=relabel, label_column=label_column))


@dataclass
class Plan:
    """What an import will do: the label that the file has for each image, by the example it is or as a new file."""

    relabel: bool
    has: dict[int, str]
    """The labels of the gallery, by id."""
    labels: dict[int, str] = field(default_factory=dict)
    """Those of the file for images that are in, by id."""
    files: dict[str, tuple[str | os.PathLike[str], str]] = field(default_factory=dict)
    """New images and their labels, by path or SHA-256."""
    unlabelled: int = 0
    problems: list[str] = field(default_factory=list)

    def of_example(self, example: int, label: str) -> None:
        _check_agreement(self.labels.setdefault(example, label), label, f"example {example}")

    def of_file(self, key: str, file: str | os.PathLike[str], label: str) -> None:
        _check_agreement(self.files.setdefault(key, (file, label))[1], label, f"'{os.fspath(file)}'")

    @property
    def contradictions(self) -> dict[int, str]:
        """The labels of the file by id, for images that have another one."""
        return {example: label for example, label in self.labels.items() if self.has[example] != label}

    @property
    def new_classes(self) -> list[str]:
        """Classes that the gallery does not have yet and will have."""
        coming = {label for _, label in self.files.values()} | set(self.contradictions.values() if self.relabel else ())
        return sorted(coming - set(self.has.values()))

    @property
    def is_by_number(self) -> bool:
        """Whether all labels of the file are numbers, and no class of the gallery is one."""
        labels_given = {*self.labels.values(), *(label for _, label in self.files.values())}
        known = set(self.has.values())
        return bool(labels_given and known) and all(map(_is_number, labels_given)) and not any(map(_is_number, known))

    @property
    def relabels_most(self) -> bool:
        """Whether more than half of the images that are in would get another label."""
        return self.relabel and 2 * len(self.contradictions) > len(self.labels)


def _is_number(label: str) -> bool:
    return re.fullmatch(r"[+-]?\d+(\.\d*)?", label.strip()) is not None


def plan(
    gallery: Gallery,
    path: str | os.PathLike[str],
    *,
    form: str,
    images: str | os.PathLike[str] | None = None,
    relabel: bool = False,
    label_column: str | None = None,
) -> Plan:
    """Return what ``import_labels`` would do; nothing is changed."""
    where = Path(path)
    root = Path(images) if images is not None else where if where.is_dir() else where.parent
    planned, known = Plan(relabel, {row.id: row.label for row in gallery.contents.rows}), _KnownExamples(gallery)
    for row in limit_rows(format_of(form).read(where, label_column), path):
        if not row.label.strip():
            planned.unlabelled += 1
            continue
        label, example = checked_label(row.label), known.example(row)
        if example is not None:
            planned.of_example(example, label)
            continue
        try:
            file = find_file(root, row.image) if row.content is None else Content(row.image or "image", row.content)
            digest = hashlib.sha256(fetch(file)).hexdigest()
        except KCRCError as problem:
            planned.problems.append(str(problem))
            continue
        example = known.of_content(digest)
        if example is not None:
            planned.of_example(example, label)
        else:
            planned.of_file(digest if row.content is not None else os.fspath(file), file, label)
    return planned


def _check_agreement(label: str, other: str, what: str) -> None:
    if label != other:
        raise DataError(f"There are two labels for {what}: '{label}' and '{other}'. Nothing was relabelled.")


class _KnownExamples:
    """The examples of a gallery, by what they are known again by; what two of them share tells nothing."""

    def __init__(self, gallery: Gallery) -> None:
        rows = gallery.contents.rows
        self._by_hash = _unique_keys((row.content.hex(), row.id) for row in rows)
        self._by_mark = _unique_keys((row.content.hex()[:16], row.id) for row in rows)
        self._by_source = _unique_keys((row.source, row.id) for row in rows if row.source)

    def example(self, row: Labelled) -> int | None:
        if row.content is not None:
            return self.of_content(hashlib.sha256(row.content).hexdigest())
        if len(row.sha256) == 64:
            return self.of_content(row.sha256)
        mark = _MARKED.search(file_name(row.image))
        known = None if mark is None else self._by_mark.get(mark[1])
        return known if known is not None else self._by_source.get(row.image)

    def of_content(self, sha256: str) -> int | None:
        return self._by_hash.get(sha256)


def _unique_keys(pairs: Iterable[tuple[str, int]]) -> dict[str, int]:
    known: dict[str, int] = {}
    twice: set[str] = set()
    for key, example in pairs:
        if key in known:
            twice.add(key)
        known[key] = example
    return {key: example for key, example in known.items() if key not in twice}


def carry_out(gallery: Gallery, plan: Plan) -> ImportCounts:
    """Add what is new, then correct what is in."""
    counts, intake = ImportCounts(unlabelled=plan.unlabelled, problems=list(plan.problems)), Intake()
    if plan.files:
        feature = gallery.answering.feature()
        paths, labels = zip(*plan.files.values(), strict=True)
        add_images(gallery, feature, paths, labels, on_error="skip", intake=intake)
    counts.added = intake.added
    counts.problems += map(str, intake.problems)
    for twin in intake.duplicates:
        if twin.id:  # 0 is a twin among the new ones; the others came in since the plan was made
            plan.has.setdefault(twin.id, twin.existing_label)
            plan.of_example(twin.id, twin.label)
    contradictions = plan.contradictions
    counts.same = len(plan.labels) - len(contradictions)
    if plan.relabel:
        seen = {example: plan.has[example] for example in contradictions}
        counts.relabelled = gallery.correct(contradictions, seen=seen, continuing=intake.last).relabelled
    else:
        counts.other = [(example, plan.has[example], label) for example, label in sorted(contradictions.items())]
    return counts
