"""What became of the files that ``build`` and ``add`` were given: each that was not used is counted, by reason."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kcrc._base.words import plural, some_of
from kcrc.report.terminal import complain, note, quote_command, shown

if TYPE_CHECKING:
    from kcrc.gallery import Gallery
    from kcrc.gallery.building import Intake
    from kcrc.gallery.exchange.layouts import LabelledImages
    from kcrc.images.datasets import ClassFolders

FEW = 2  # examples of a class, or fewer: it is worth saying so
NAMED = 5  # new classes that are announced one by one
LISTED = 20  # files that could not be read, a line each


def report_intake(
    gallery: Gallery, intake: Intake, folders: Sequence[ClassFolders], layout: LabelledImages | None = None
) -> None:
    """Lines on stderr: files that could not be read, all that was not used by reason, and what is worth a look."""
    broken = [problem for problem in intake.problems if problem.kind not in ("no reader", "one colour")]
    complain(broken[:LISTED])
    complain(intake.notes[:LISTED])
    unused = [*_unreadable_files(intake), *_other_files(folders), *_layout_notes(layout)]
    if unused:
        note("Not used:")
        for line in unused:
            note(f"  {line}")
    classes = [*_folder_notes(folders), *_clash_notes(intake)]
    look = [*_ambiguous(gallery, layout), *classes, *_copy_notes(gallery, intake), *_class_notes(gallery)]
    if look:
        note("Worth a look:")
        for line in look:
            note(f"  {line}")


def announce_new_classes(new: Sequence[str], known: Sequence[str], gallery: Path) -> None:
    """New classes, and which known one may have been meant by a name that is much like it."""
    import difflib

    for name in new[:NAMED]:
        close = difflib.get_close_matches(name.casefold(), [name.casefold() for name in known], n=1, cutoff=0.75)
        meant = next((name for name in known if close and name.casefold() == close[0]), None)
        hint = (
            "" if meant is None else f" Did you mean '{shown(meant)}'? {quote_command('undo', gallery)} takes it back."
        )
        note(f"'{shown(name)}' is a new class.{hint}")
    if len(new) > NAMED:
        note(
            f"{plural(len(new) - NAMED, 'more new class', 'more new classes')}: {some_of([*map(shown, new[NAMED:])])}."
        )


def _unreadable_files(intake: Intake) -> Iterable[str]:
    kinds: dict[str, list[str]] = {}
    for problem in intake.problems:
        kinds.setdefault(problem.kind, []).append(problem.source)
    for ending, number in _count_endings(kinds.pop("no reader", [])).items():
        yield f"{number} {ending} not read: pip install 'kcrc[photos]'"
    blank = kinds.pop("one colour", [])
    if blank:
        yield f"{_files(blank, 'of a single pixel or colour')}; --blank takes such pictures"
    for kind, sources in sorted(kinds.items()):
        yield _files(sources, kind)
    if intake.duplicates:
        yield _files([twin.source for twin in intake.duplicates], "in already, the same bytes")


def _layout_notes(layout: LabelledImages | None) -> Iterable[str]:
    if layout is None:
        return
    if layout.unlabelled:
        yield f"{layout.unlabelled} without a class"
    for problem in layout.problems[:LISTED]:
        yield shown(problem)
    if len(layout.problems) > LISTED:
        yield f"… and {len(layout.problems) - LISTED} more that could not be found"


def _ambiguous(gallery: Gallery, layout: LabelledImages | None) -> Iterable[str]:
    """Pictures that stand in several classes."""
    if layout is None or not layout.in_several:
        return
    several = layout.in_several
    classes = some_of(sorted({shown(" and ".join(labels)) for labels in several.values()}))
    yield f"{plural(len(several), 'file')} of pictures that stand in several classes ({classes}) were kept in neither:"
    for name, labels in list(several.items())[:LISTED]:
        yield f"  {shown(name)}: {shown(' or '.join(labels))}"
    if len(several) > LISTED:
        yield f"  … and {len(several) - LISTED} more"
    first, labels = next(iter(several.items()))
    yield f"  {quote_command('add', gallery.path, '--label', labels[0], first)} takes the first as {shown(labels[0])}"


def _other_files(folders: Sequence[ClassFolders]) -> Iterable[str]:
    loose = [str(path) for folder in folders for path in folder.loose]
    if loose:
        yield _files(loose, "in no class folder")
    paired = [str(path) for folder in folders for path in folder.paired]
    if paired:
        yield _files(paired, "RAW beside a picture of the same name, which is taken")
    links = [str(path) for folder in folders for path in folder.links]
    if links:
        yield _files(links, "links that lead nowhere, in a circle, or to a folder inside a class folder")
    others: Counter[str] = Counter()
    for folder in folders:
        others.update(folder.others)
    if others:
        some = [f"{number} {shown(ending)}" for ending, number in others.most_common()]
        yield f"{sum(others.values())} of a kind that kcrc does not read: {some_of(some, 8)}"


def _folder_notes(folders: Sequence[ClassFolders]) -> Iterable[str]:
    empty = [name for folder in folders for name in folder.empty]
    if empty:
        yield f"{plural(len(empty), 'class folder')} without a picture: {_names(empty)}"
    for names in _names_with_same_key((label for folder in folders for label in folder.labels), _normalize):
        yield f"{len(names)} folders are one class, their names are written in two ways: {shown(_normalize(names[0]))}"


def _clash_notes(intake: Intake) -> Iterable[str]:
    clashes = [twin for twin in intake.duplicates if _normalize(twin.label) != twin.existing_label]
    for twin in clashes[:LISTED]:
        where = f" (#{twin.id})" if twin.id else ""
        yield (
            f"{shown(twin.source)}: the same picture is in as '{shown(twin.existing_label)}'{where}, "
            f"not as '{shown(twin.label)}'"
        )
    if len(clashes) > LISTED:
        yield f"… and {len(clashes) - LISTED} more that are in as another class"


def _copy_notes(gallery: Gallery, intake: Intake) -> Iterable[str]:
    from kcrc.gallery.adding import near_copies

    pairs = near_copies(gallery, intake.added)
    if not pairs:
        return
    yield f"{plural(len(pairs), 'pair')} of pictures that look the same (another size, compressed again); both stay:"
    for copy, other in pairs[:LISTED]:
        first, second = gallery.example(copy), gallery.example(other)
        yield f"  #{copy} {shown(first.source)} and #{other} {shown(second.source)}"
    if len(pairs) > LISTED:
        yield f"  … and {len(pairs) - LISTED} more"
    yield f"  {quote_command('remove', gallery.path, pairs[0][0])} takes one out"


def _class_notes(gallery: Gallery) -> Iterable[str]:
    from kcrc.gallery.sorting.sorter import folder_names

    few = [f"{shown(name)} ({number})" for name, number in gallery.counts.items() if number <= FEW]
    if few:
        yield f"{plural(len(few), 'class', 'classes')} of one or two examples: {some_of(few, 5)}"
    odd = {name: folder_names([name])[name] for name in gallery.classes}
    for name in [name for name, possible in odd.items() if possible != name][:LISTED]:
        yield f"class '{shown(name)}': not every system can have a folder of that name; kcrc sort calls it {odd[name]}"
    for names in _names_with_same_key(gallery.classes, str.casefold):
        yield (
            f"classes whose names differ only in case: {_names(names)}; "
            f"{quote_command('rename', gallery.path, *names[:2])} makes them one"
        )


def _names_with_same_key(names: Iterable[str], key: Callable[[str], str]) -> list[list[str]]:
    """Different names with the same key."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        groups.setdefault(key(name), []).append(name)
    return [same for same in groups.values() if len(same) > 1]


def _normalize(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _count_endings(sources: Iterable[str]) -> Counter[str]:
    return Counter(Path(source).suffix.lower() for source in sources)


def _files(sources: Sequence[str], why: str) -> str:
    return f"{len(sources)} {why}: {_names(sources)}"


def _names(names: Sequence[str]) -> str:
    return some_of([shown(name) for name in names])
