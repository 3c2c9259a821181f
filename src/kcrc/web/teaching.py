"""Changes: examples come, go, and get other classes; and one's own are taken back."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kcrc._base.words import plural
from kcrc.gallery.acts import Relabel, Remove, Rename
from kcrc.gallery.adding import Add, Added, checked_examples
from kcrc.gallery.building import THUMBNAIL
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, Snapshot, Transaction
from kcrc.gallery.examples import checked_ids, checked_label
from kcrc.gallery.history import Entry
from kcrc.gallery.undoing import Overtaken, RedoOne, UndoOne
from kcrc.web.bodies import Fields, fields
from kcrc.web.guard import Refusal
from kcrc.web.people import person_of
from kcrc.web.pictures import thumbnail_of
from kcrc.web.service import Service

T = TypeVar("T")
NEAR = 3  # class names that are offered in place of a new one


async def add(request: Request) -> Response:
    given = await fields(request)
    service: Service = request.app.state.service
    found = [await service.picture(name) for name in given.texts("pictures")]
    label, new_class = checked_label(given.text("label")), given.flag("new_class")
    shown, person = Shown.of(request, given), person_of(request)
    smalls = await service.look(lambda: [thumbnail_of(one, THUMBNAIL) for one in found])

    def change() -> dict[str, Any]:
        if not new_class:
            service.gallery.read(lambda reading: shown.check_class(reading, label))
        _check_class(service, label, new_class)
        batch = checked_examples(
            service.gallery.settings,
            label,
            np.stack([one.vector for one in found]),
            sources=[one.name for one in found],
            contents=[one.sha256 for one in found],
            thumbnails=smalls,
        )
        # The act alone: what it teaches is learned behind it.
        done = service.gallery.store.write(Add(batch))
        there = [
            {"picture": found[one.position].id, "id": one.id, "label": one.existing_label} for one in done.duplicates
        ]
        entry = None if done.command is None else done.command.act
        return told(service, person, entry, _added(done, label), done.ids, duplicates=there)

    return JSONResponse(await service.changed_by(change))


def _added(done: Added, label: str) -> str:
    there = len(done.duplicates)
    again = f" {plural(there, 'picture was', 'pictures were')} there already." if there else ""
    return (f"Added {plural(len(done), 'example')} as {label}." if len(done) else "Nothing was added.") + again


def _check_class(service: Service, label: str, new_class: bool) -> None:
    """A class that nobody has heard of is often a slip of the keyboard."""
    known = service.gallery.classes
    if label not in known and not new_class:
        near = difflib.get_close_matches(label, known, n=NEAR)
        why = f"There is no class '{label}' yet. Say that it is a new one, or choose another."
        raise Refusal(409, why, {"new_class": label, "near": near})


async def relabel(request: Request) -> Response:
    service: Service = request.app.state.service
    given, person = await fields(request), person_of(request)
    ids, label = given.numbers("examples"), checked_label(given.text("label"))
    expected, new_class, shown = given.labels_by_number("expect"), given.flag("new_class"), Shown.of(request, given)

    def change() -> dict[str, Any]:
        _check_class(service, label, new_class)

        def act(writing: Transaction) -> tuple[int, ...]:
            shown.check(writing, ids)
            _check_as_seen(writing, expected)
            return Relabel(checked_ids(ids), label)(writing)

        done, entry = _written(service, act)
        return told(service, person, entry, f"Relabelled {plural(len(done), 'example')} as {label}.", done)

    return JSONResponse(await service.changed_by(change))


def _check_as_seen(writing: Transaction, expected: dict[int, str]) -> None:
    """A conflict if an example is no longer labelled as the client expects."""
    found = {record.id: record for record in writing.find(ExampleRecord, id=sorted(expected), removed_by=None)}
    now = {example: found[example].label if example in found else None for example in expected}
    other = {str(example): label for example, label in now.items() if label != expected[example]}
    if other:
        first, label = next(iter(other.items()))
        said = "is no longer in the gallery" if label is None else f"is labelled {label} by now"
        raise Refusal(409, f"Example {first} {said}. Nothing was changed; look at it again.", {"labels": other})


# Two people, one case: a change names the revision it was decided on, and is refused if somebody else has changed the
# same examples since.


@dataclass(frozen=True)
class Shown:
    """What a client saw when it decided on a change: the revision (None: it does not say), and who it is."""

    service: Service
    person: str
    revision: int | None

    @classmethod
    def of(cls, request: Request, given: Fields) -> Shown:
        revision = given.number("revision") if given.given.get("revision") is not None else None
        return cls(request.app.state.service, person_of(request), revision)

    def check(self, reading: Snapshot, examples: Iterable[int]) -> None:
        """A conflict, with both versions, if somebody else has changed or removed one of these examples since."""
        if self.revision is None:
            return
        ids = sorted(set(examples))
        changes = [(change.act, change) for change in reading.find(LabelRecord, example=ids)]
        changes = sorted(entry for entry in changes if self._is_of_others(entry[0]))
        before = {change.example: change.before for _, change in reversed(changes)}  # the earliest of each example
        now: dict[int, str | None] = dict.fromkeys(ids)
        acts = {act for act, _ in changes}
        for row in reading.find(ExampleRecord, id=ids):
            if row.removed_by is None:
                now[row.id] = row.label
            elif self._is_of_others(row.removed_by):
                before.setdefault(row.id, row.label)
                acts.add(row.removed_by)
        differing = {example: label for example, label in before.items() if label != now[example]}
        if differing:
            self._refuse(reading, differing, now, acts)

    def check_class(self, reading: Snapshot, label: str) -> None:
        """A conflict if somebody else has given all examples of a class another one since."""
        if self.revision is None or next(reading.find(ExampleRecord, label=label, removed_by=None), None) is not None:
            return
        later = list(range(self.revision + 1, reading.settings().revision + 1))
        self.check(reading, {one.example for one in reading.find(LabelRecord, act=later) if one.before == label})

    def _is_of_others(self, act: int) -> bool:
        assert self.revision is not None
        return act > self.revision and (not self.person or self.service.people.made(act) != self.person)

    def _refuse(
        self, reading: Snapshot, shown: dict[int, str], now: dict[int, str | None], acts: Collection[int]
    ) -> NoReturn:
        first = min(shown)
        fate = "no longer in the gallery" if now[first] is None else f"{now[first]} now"
        more = f", and {plural(len(shown) - 1, 'more example')} changed too" if len(shown) > 1 else ""
        raise Refusal(
            409,
            f"Example {first} was {shown[first]} when you looked, and is {fate}{more}. "
            "Your change was not made; look again.",
            {
                "labels": {str(example): now[example] for example in shown},
                "shown": {str(example): label for example, label in shown.items()},
                "shown_revision": self.revision,
                "revision": reading.settings().revision,
                "by": [
                    {"act": act.id, "sentence": sentence(act.summary)}
                    for act in reading.find(ActRecord, id=sorted(acts))
                ],
            },
        )


async def remove(request: Request) -> Response:
    service: Service = request.app.state.service
    given, person = await fields(request), person_of(request)
    ids, erase = checked_ids(given.numbers("examples")), given.flag("erase")
    shown = Shown.of(request, given)

    def act(writing: Transaction) -> tuple[int, ...]:
        shown.check(writing, ids)
        return Remove(ids)(writing)

    def change() -> dict[str, Any]:
        if erase:
            service.gallery.read(lambda reading: shown.check(reading, ids))
            erased = service.gallery.erase(ids)
            said = f"Erased {plural(len(erased.ids), 'example')} for good."
            return told(service, person, None, said, erased.ids)
        done, entry = _written(service, act)
        return told(service, person, entry, f"Removed {plural(len(done), 'example')}.", done)

    return JSONResponse(await service.changed_by(change))


async def rename(request: Request) -> Response:
    service: Service = request.app.state.service
    given, person = await fields(request), person_of(request)
    old, new, merge = checked_label(given.text("old")), checked_label(given.text("new")), given.flag("merge")
    shown = Shown.of(request, given)

    def act(writing: Transaction) -> tuple[int, ...]:
        shown.check_class(writing, old)
        return Rename(old, new)(writing)

    def change() -> dict[str, Any]:
        counts = service.gallery.counts
        if new in counts and new != old and not merge:
            why = f"There is a class '{new}' already. Say that the two are to become one, or choose another name."
            raise Refusal(409, why, {"merge": new, "count": counts[new]})
        done, entry = _written(service, act)
        word = "Merged" if new in counts else "Renamed"
        return told(service, person, entry, f"{word} {old} to {new}: {plural(len(done), 'example')}.", done)

    return JSONResponse(await service.changed_by(change))


async def undo(request: Request) -> Response:
    """Take back one's own latest change, or the one that is named."""
    return await _stepped(request, UndoOne, "undo")


async def redo(request: Request) -> Response:
    """Do again what one took back, or the change that is named."""
    return await _stepped(request, RedoOne, "redo")


async def _stepped(request: Request, kind: Callable[[int], Callable[[Transaction], Entry]], word: str) -> Response:
    service: Service = request.app.state.service
    given, person = await fields(request), person_of(request)
    named = given.number("act") if given.given.get("act") is not None else None

    def change() -> dict[str, Any]:
        mine = service.people.of(person)
        own = mine.done if word == "undo" else mine.undone
        if named is None and not own:
            raise Refusal(409, f"There is nothing of yours to {word}. The history lists what others did.", {})
        wanted = own[-1] if named is None else named
        try:
            entry, _ = _written(service, kind(wanted))
        except Overtaken as problem:
            others = [{"act": one.id, "sentence": sentence(one.summary)} for one in problem.by]
            raise Refusal(409, str(problem), {"act": wanted, "by": others}) from None
        (service.people.undid if word == "undo" else service.people.redid)(person, entry.id)
        said = f"{'Undone' if word == 'undo' else 'Done again'}: {entry.summary}."
        return told(service, person, None, said, (), act=entry.id)

    return JSONResponse(await service.changed_by(change))


def _written(service: Service, act: Callable[[Transaction], T]) -> tuple[T, int | None]:
    """What an act answers, and the entry of the history that it made; None where it changed nothing."""

    def change(writing: Transaction) -> tuple[T, int | None]:
        before = writing.settings().revision
        done = act(writing)
        return done, before + 1 if writing.settings().revision > before else None

    return service.gallery.store.write(change)


def told(
    service: Service, person: str, entry: int | None, said: str, ids: tuple[int, ...], **more: Any
) -> dict[str, Any]:
    """A change as the API tells it, with what this person can take back and do again."""
    if entry is not None:
        service.people.did(person, entry)
    return {
        "act": entry,
        "sentence": said,
        "examples": list(ids),
        "revision": service.gallery.settings.revision,
        **steps(service, person),
        **more,
    }


def steps(service: Service, person: str) -> dict[str, str | None]:
    """What this person would take back by ``undo``, and do again by ``redo``."""
    mine = service.people.of(person)
    wanted = {"undo": mine.done[-1:], "redo": mine.undone[-1:]}
    known = [entry for entries in wanted.values() for entry in entries]
    found = service.gallery.read(lambda reading: list(reading.find(ActRecord, id=known)))
    told = {act.id: sentence(act.summary) for act in found}
    return {word: told.get(entries[0]) if entries else None for word, entries in wanted.items()}


def sentence(summary: str) -> str:
    """A summary of the history as a sentence without its stop."""
    return f"{summary[:1].upper()}{summary[1:]}"
