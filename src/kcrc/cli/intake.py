"""What became of the files that ``build`` and ``add`` were given: each that was not used is counted, by reason."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kcrc._base.words import plural, some_of
from kcrc.report.terminal import complain, note, shown, typed

if TYPE_CHECKING:
    from kcrc.gallery import Gallery
    from kcrc.gallery.building import Intake
    from kcrc.images.datasets import ClassFolders

FEW = 2  # examples of a class, or fewer: it is worth saying so
NAMED = 5  # new classes that are announced one by one
LISTED = 20  # files that could not be read, a line each


def tell(gallery: Gallery, told: Intake, folders: Sequence[ClassFolders]) -> None:
    """Lines on stderr: files that could not be read, all that was not used by reason, and what is worth a look."""
    broken = [problem for problem in told.problems if problem.kind not in ("no reader", "one colour")]
    complain(broken[:LISTED])
    complain(told.notes[:LISTED])
    unused = [*_unread(told), *_beside(folders)]
    if unused:
        note("Not used:")
        for line in unused:
            note(f"  {line}")
    look = [*_folders(folders), *_clashes(told), *_copies(gallery, told), *_classes(gallery)]
    if look:
        note("Worth a look:")
        for line in look:
            note(f"  {line}")


def announce_classes(new: Sequence[str], known: Sequence[str], gallery: Path) -> None:
    """New classes, and which known one may have been meant by a name that is much like it."""
    import difflib

    for name in new[:NAMED]:
        close = difflib.get_close_matches(name.casefold(), [one.casefold() for one in known], n=1, cutoff=0.75)
        meant = next((one for one in known if close and one.casefold() == close[0]), None)
        hint = "" if meant is None else f" Did you mean '{shown(meant)}'? {typed('undo', gallery)} takes it back."
        note(f"'{shown(name)}' is a new class.{hint}")
    if len(new) > NAMED:
        note(
            f"{plural(len(new) - NAMED, 'more new class', 'more new classes')}: {some_of([*map(shown, new[NAMED:])])}."
        )


def _unread(told: Intake) -> Iterable[str]:
    kinds: dict[str, list[str]] = {}
    for problem in told.problems:
        kinds.setdefault(problem.kind, []).append(problem.source)
    for ending, number in _endings(kinds.pop("no reader", [])).items():
        yield f"{number} {ending} not read: pip install 'kcrc[photos]'"
    blank = kinds.pop("one colour", [])
    if blank:
        yield f"{_files(blank, 'of a single pixel or colour')}; --blank takes such pictures"
    for kind, sources in sorted(kinds.items()):
        yield _files(sources, kind)
    if told.duplicates:
        yield _files([twin.source for twin in told.duplicates], "in already, the same bytes")


def _beside(folders: Sequence[ClassFolders]) -> Iterable[str]:
    loose = [str(path) for found in folders for path in found.loose]
    if loose:
        yield _files(loose, "in no class folder")
    paired = [str(path) for found in folders for path in found.paired]
    if paired:
        yield _files(paired, "RAW beside a picture of the same name, which is taken")
    others: Counter[str] = Counter()
    for found in folders:
        others.update(found.others)
    if others:
        some = [f"{number} {shown(ending)}" for ending, number in others.most_common()]
        yield f"{sum(others.values())} of a kind that kcrc does not read: {some_of(some, 8)}"


def _folders(folders: Sequence[ClassFolders]) -> Iterable[str]:
    empty = [name for found in folders for name in found.empty]
    if empty:
        yield f"{plural(len(empty), 'class folder')} without a picture: {_names(empty)}"
    for names in _alike((label for found in folders for label in found.labels), _composed):
        yield f"{len(names)} folders are one class, their names are written in two ways: {shown(_composed(names[0]))}"


def _clashes(told: Intake) -> Iterable[str]:
    clashes = [twin for twin in told.duplicates if _composed(twin.label) != twin.existing_label]
    for twin in clashes[:LISTED]:
        where = f" (#{twin.id})" if twin.id else ""
        yield (
            f"{shown(twin.source)}: the same picture is in as '{shown(twin.existing_label)}'{where}, "
            f"not as '{shown(twin.label)}'"
        )
    if len(clashes) > LISTED:
        yield f"… and {len(clashes) - LISTED} more that are in as another class"


def _copies(gallery: Gallery, told: Intake) -> Iterable[str]:
    from kcrc.gallery.adding import near_copies

    pairs = near_copies(gallery, told.added)
    if not pairs:
        return
    yield f"{plural(len(pairs), 'pair')} of pictures that look the same (another size, compressed again); both stay:"
    for copy, other in pairs[:LISTED]:
        one, two = gallery.example(copy), gallery.example(other)
        yield f"  #{copy} {shown(one.source)} and #{other} {shown(two.source)}"
    if len(pairs) > LISTED:
        yield f"  … and {len(pairs) - LISTED} more"
    yield f"  {typed('remove', gallery.path, pairs[0][0])} takes one out"


def _classes(gallery: Gallery) -> Iterable[str]:
    from kcrc.gallery.sorting.sorter import folder_names

    few = [f"{shown(name)} ({number})" for name, number in gallery.counts.items() if number <= FEW]
    if few:
        yield f"{plural(len(few), 'class', 'classes')} of one or two examples: {some_of(few, 5)}"
    odd = {name: folder_names([name])[name] for name in gallery.classes}
    for name in [name for name, possible in odd.items() if possible != name][:LISTED]:
        yield f"class '{shown(name)}': not every system can have a folder of that name; kcrc sort calls it {odd[name]}"
    for names in _alike(gallery.classes, str.casefold):
        yield (
            f"classes whose names differ only in case: {_names(names)}; "
            f"{typed('rename', gallery.path, *names[:2])} makes them one"
        )


def _alike(names: Iterable[str], key: Callable[[str], str]) -> list[list[str]]:
    """Different names with the same key."""
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        found.setdefault(key(name), []).append(name)
    return [same for same in found.values() if len(same) > 1]


def _composed(name: str) -> str:
    return unicodedata.normalize("NFC", name)


def _endings(sources: Iterable[str]) -> Counter[str]:
    return Counter(Path(source).suffix.lower() for source in sources)


def _files(sources: Sequence[str], why: str) -> str:
    return f"{len(sources)} {why}: {_names(sources)}"


def _names(names: Sequence[str]) -> str:
    return some_of([shown(name) for name in names])
