"""Changes: examples are added, removed and given other classes, pictures of the queue get labels, and own changes are
taken back.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeVar

import numpy as np
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from kcrc._base.words import plural
from kcrc.gallery.acts import Relabel, Remove, Rename
from kcrc.gallery.adding import Add, Added, checked_examples
from kcrc.gallery.building import THUMBNAIL
from kcrc.gallery.contract import ActRecord, ExampleRecord, LabelRecord, Snapshot, Transaction
from kcrc.gallery.examples import checked_ids
from kcrc.gallery.history import Entry
from kcrc.gallery.undoing import Overtaken, RedoOne, UndoOne
from kcrc.web import bodies
from kcrc.web.guard import Refusal
from kcrc.web.people import person_of
from kcrc.web.pictures import gallery_thumbnail
from kcrc.web.service import Service
from kcrc.web.waiting import ORDERS, Order, Waiting

T = TypeVar("T")
NEAR = 3  # class names that are offered in place of a new one


async def add(request: Request, body: bodies.AddExamples) -> Response:
    """Add pictures as examples of a class."""
    service: Service = request.app.state.service
    pictures = [await service.picture(name) for name in body.pictures]
    label, shown = body.label, Shown.of(request, body)
    thumbnails = await service.decode(lambda: [gallery_thumbnail(picture, THUMBNAIL) for picture in pictures])

    def change() -> Response:
        if not body.new_class:
            service.gallery.read(lambda reading: shown.check_class(reading, label))
        _check_class(service, label, body.new_class)
        batch = checked_examples(
            service.gallery.settings,
            label,
            np.stack([picture.vector for picture in pictures]),
            sources=[picture.name for picture in pictures],
            contents=[picture.sha256 for picture in pictures],
            thumbnails=thumbnails,
        )
        # The act alone: what it teaches is learned after it is acknowledged.
        added = service.gallery.store.write(Add(batch))
        duplicates = [
            {"picture": pictures[one.position].id, "id": one.id, "label": one.existing_label}
            for one in added.duplicates
        ]
        entry = None if added.command is None else added.command.act
        return _act(shown, entry, _added_sentence(added, label), added.ids, duplicates=duplicates)

    return await service.change(change)


def _added_sentence(added: Added, label: str) -> str:
    duplicates = len(added.duplicates)
    again = f" {plural(duplicates, 'picture was', 'pictures were')} there already." if duplicates else ""
    return (f"Added {plural(len(added), 'example')} as {label}." if len(added) else "Nothing was added.") + again


def _check_class(service: Service, label: str, new_class: bool) -> None:
    """A class that is not there yet is often a slip of the keyboard."""
    classes = service.gallery.classes
    if label not in classes and not new_class:
        near = difflib.get_close_matches(label, classes, n=NEAR)
        why = f"There is no class '{label}' yet. Say that it is a new one, or choose another."
        raise Refusal(409, why, {"new_class": label, "near": near})


async def relabel(request: Request, body: bodies.RelabelExamples) -> Response:
    """Give examples another class."""
    service: Service = request.app.state.service
    shown, ids = Shown.of(request, body), checked_ids(body.examples)

    def act(writing: Transaction) -> tuple[int, ...]:
        shown.check(writing, ids)
        _check_expected(writing, body.expect)
        return Relabel(ids, body.label)(writing)

    def change() -> Response:
        _check_class(service, body.label, body.new_class)
        examples, entry = _write(service, act)
        return _act(shown, entry, f"Relabelled {plural(len(examples), 'example')} as {body.label}.", examples)

    return await service.change(change)


def _check_expected(writing: Transaction, expected: dict[int, str]) -> None:
    """A conflict if an example no longer has the label that the client expects."""
    found = {record.id: record for record in writing.find(ExampleRecord, id=sorted(expected), removed_by=None)}
    now = {example: found[example].label if example in found else None for example in expected}
    other = {str(example): label for example, label in now.items() if label != expected[example]}
    if other:
        first, label = next(iter(other.items()))
        fate = "is no longer in the gallery" if label is None else f"is labelled {label} by now"
        raise Refusal(409, f"Example {first} {fate}. Nothing was changed; look at it again.", {"labels": other})


async def remove(request: Request, body: bodies.RemoveExamples) -> Response:
    """Take examples out, or out of the file for good."""
    service: Service = request.app.state.service
    ids, shown = checked_ids(body.examples), Shown.of(request, body)

    def act(writing: Transaction) -> tuple[int, ...]:
        shown.check(writing, ids)
        return Remove(ids)(writing)

    def change() -> Response:
        if body.erase:
            service.gallery.read(lambda reading: shown.check(reading, ids))
            erased = service.gallery.erase(ids).ids
            return _act(shown, None, f"Erased {plural(len(erased), 'example')} for good.", erased)
        examples, entry = _write(service, act)
        return _act(shown, entry, f"Removed {plural(len(examples), 'example')}.", examples)

    return await service.change(change)


async def rename(request: Request, body: bodies.RenameClass) -> Response:
    """Give a class another name, or make it one with another."""
    service: Service = request.app.state.service
    old, new, shown = body.old, body.new, Shown.of(request, body)

    def act(writing: Transaction) -> tuple[int, ...]:
        shown.check_class(writing, old)
        return Rename(old, new)(writing)

    def change() -> Response:
        counts = service.gallery.counts
        if new in counts and new != old and not body.merge:
            why = f"There is a class '{new}' already. Say that the two are to become one, or choose another name."
            raise Refusal(409, why, {"merge": new, "count": counts[new]})
        examples, entry = _write(service, act)
        word = "Merged" if new in counts else "Renamed"
        return _act(shown, entry, f"{word} {old} to {new}: {plural(len(examples), 'example')}.", examples)

    return await service.change(change)


async def undo(request: Request, body: bodies.Step) -> Response:
    """Take back one's own latest change, or the one that is named."""
    return await _step(request, body, UndoOne, "undo")


async def redo(request: Request, body: bodies.Step) -> Response:
    """Do again what one took back, or the change that is named."""
    return await _step(request, body, RedoOne, "redo")


async def _step(
    request: Request, body: bodies.Step, kind: Callable[[int], Callable[[Transaction], Entry]], word: str
) -> Response:
    service: Service = request.app.state.service
    shown = Shown(service, person_of(request), None)

    def change() -> Response:
        mine = service.people.changes(shown.person)
        own = mine.done if word == "undo" else mine.undone
        if body.act is None and not own:
            raise Refusal(409, f"There is nothing of yours to {word}. The history lists what others did.", {})
        wanted = own[-1] if body.act is None else body.act
        try:
            entry, _ = _write(service, kind(wanted))
        except Overtaken as problem:
            others = [{"act": act.id, "sentence": sentence(act.summary)} for act in problem.by]
            raise Refusal(409, str(problem), {"act": wanted, "by": others}) from None
        (service.people.note_undo if word == "undo" else service.people.note_redo)(shown.person, entry.id)
        done = f"{'Undone' if word == 'undo' else 'Done again'}: {entry.summary}."
        return _act(shown, None, done, (), act=entry.id)

    return await service.change(change)


def _write(service: Service, act: Callable[[Transaction], T]) -> tuple[T, int | None]:
    """The result of an act, and the entry of the history that it made; None if it changed nothing."""

    def change(writing: Transaction) -> tuple[T, int | None]:
        before = writing.settings().revision
        result = act(writing)
        return result, before + 1 if writing.settings().revision > before else None

    return service.gallery.store.write(change)


def _act(shown: Shown, entry: int | None, done: str, ids: tuple[int, ...], **more: Any) -> Response:
    """A change as the API answers it, with what this person can take back and do again."""
    service, person = shown.service, shown.person
    if entry is not None:
        service.people.note_change(person, entry)
    return JSONResponse(
        {
            "act": entry,
            "sentence": done,
            "examples": list(ids),
            "revision": service.gallery.settings.revision,
            **steps(service, person),
            **more,
        }
    )


def steps(service: Service, person: str) -> dict[str, str | None]:
    """What this person would take back by ``undo``, and do again by ``redo``."""
    mine = service.people.changes(person)
    next_of = {"undo": mine.done[-1:], "redo": mine.undone[-1:]}
    ids = [entry for entries in next_of.values() for entry in entries]
    acts = service.gallery.read(lambda reading: list(reading.find(ActRecord, id=ids)))
    sentences = {act.id: sentence(act.summary) for act in acts}
    return {word: sentences.get(entries[0]) if entries else None for word, entries in next_of.items()}


def sentence(summary: str) -> str:
    """A summary of the history as a sentence without its stop."""
    return f"{summary[:1].upper()}{summary[1:]}"


# Two people, one case: a change names the revision it was decided on, and is refused if another person has changed the
# same examples since.


@dataclass(frozen=True)
class Shown:
    """What a client saw when it decided on a change: the revision (None: it does not say), and who it is."""

    service: Service
    person: str
    revision: int | None

    @classmethod
    def of(cls, request: Request, body: bodies.Change) -> Shown:
        return cls(request.app.state.service, person_of(request), body.revision)

    def check(self, reading: Snapshot, examples: Iterable[int]) -> None:
        """A conflict, with both versions, if another person has changed or removed one of these examples since."""
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
        """A conflict if another person has given all examples of a class another one since."""
        if self.revision is None or next(reading.find(ExampleRecord, label=label, removed_by=None), None) is not None:
            return
        later = list(range(self.revision + 1, reading.settings().revision + 1))
        self.check(reading, {one.example for one in reading.find(LabelRecord, act=later) if one.before == label})

    def _is_of_others(self, act: int) -> bool:
        assert self.revision is not None
        return act > self.revision and (not self.person or self.service.people.author(act) != self.person)

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


# The queue of unlabelled pictures: which to label next.

QUEUE_PAGE = 60  # pictures


async def queue(request: Request) -> Response:
    """Unlabelled pictures, those to label first at the front."""
    service: Service = request.app.state.service
    order = bodies.choice(request, "order", ORDERS)
    contents = await service.compute(lambda: service.gallery.contents)
    pictures = service.queue.open(contents)
    rows: list[dict[str, Any]] = []
    working = False
    if len(contents.counts) > 1:
        ordered = await service.orders[order].value(await service.current(), service.queue.version)
        working = ordered.working
        for name, label, chance, doubt in (ordered.value or Order.empty()).rows():
            if name in pictures:
                rows.append(_row(name, pictures[name], label=label, probability=chance, doubt=doubt))
    else:  # without two classes all pictures are alike, and there is nothing to choose parameters by
        rows = [_row(name, one, label=None, probability=None, doubt=1.0) for name, one in pictures.items()]
    more = {"order": order, "total": len(pictures), "working": working, "revision": contents.revision}
    return JSONResponse({"pictures": rows[:QUEUE_PAGE], **more})


def _row(name: str, picture: Waiting, **more: Any) -> dict[str, Any]:
    return {"picture": name, "name": picture.name, **more}


async def enqueue(request: Request) -> Response:
    """Put a picture into the queue."""
    service: Service = request.app.state.service
    sent = await service.upload(request)
    name = f"q{sent.sha256[:24]}"
    if service.queue.get(name) is None:
        service.queue.add(name, Waiting(sent.vector, sent.sha256, sent.name, held=replace(sent, id=name)))
        service.events.send("queue", total=len(service.queue), share=1.0)
    return JSONResponse({"picture": name, "revision": service.gallery.settings.revision}, 201)


async def skip(request: Request, body: bodies.SomePictures) -> Response:
    """Leave pictures out of the queue, for as long as the server runs."""
    service: Service = request.app.state.service
    service.queue.skip(body.pictures)
    return JSONResponse({"total": len(service.queue), "revision": service.gallery.settings.revision})
