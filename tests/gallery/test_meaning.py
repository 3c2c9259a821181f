"""What acts mean, over every store: they are written once, so the stores cannot differ in them."""

from __future__ import annotations

import contextlib
import random
import secrets
from pathlib import Path
from typing import Any

import memory_store
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from photos import small_picture

from kcrc.errors import DataError, StateError
from kcrc.gallery import Gallery, building, restore, stores
from kcrc.gallery.contract import ActRecord
from lab.bench.postgres_server import PostgresServer

Address = Path | str


def state(gallery: Gallery) -> object:
    ids, vectors, labels = gallery.vectors()
    return ids.tolist(), vectors.tolist(), labels.tolist(), gallery.parameters


def told(gallery: Gallery) -> list[tuple[int, str, str, int | None]]:
    return [(entry.id, entry.action, entry.summary, entry.undone_by) for entry in gallery.history()]


@pytest.fixture
def birds(address: Address):
    with Gallery.create(address, dim=2) as made:
        made.add(["wren", "robin"], [[1, 2], [3, 4]], sources=["a.jpg", "b.jpg"], thumbnails=[small_picture(0), None])
        yield made


def test_a_gallery_is_kept_asked_changed_and_found_again(birds: Gallery, address: Address, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    birds.add(["wren"] * 10 + ["robin"] * 10, rng.normal(0, 1, (20, 2)) + np.repeat([[0, 0], [9, 9]], 10, axis=0))
    assert birds.classifier().predict([[9.0, 9.0], [0.0, 0.0]]).tolist() == ["robin", "wren"]
    assert birds.relabel([1], "owl") == (1,)
    assert birds.thumbnail(1) == small_picture(0)
    with pytest.raises(DataError, match="no example 99"):
        birds.remove([1, 99])
    before = state(birds)
    assert birds.export(tmp_path / "birds.npz") == 22
    birds.close()
    with Gallery.open(address, readonly=True) as again:
        assert state(again) == before
        assert again.verify().problems == ()
        with pytest.raises(StateError, match="reading only"):
            again.remove([1])
        again.backup(tmp_path / "copy.kcrc")
    with Gallery.open(tmp_path / "copy.kcrc") as copy:
        assert state(copy) == before
        assert copy.verify().problems == ()
        assert copy.undo().summary == "relabelled 1 example of wren as owl"
    with restore(tmp_path / "birds.npz", address, overwrite=True) as made:
        assert made.counts == {"owl": 1, "robin": 11, "wren": 10}


def test_what_was_erased_is_gone_and_forgotten(birds: Gallery) -> None:
    birds.add("owl", [[5, 6]])
    assert birds.erase([3]).ids == (3,)
    assert "owl" not in str(told(birds))
    with pytest.raises(StateError, match="cannot be brought back"):
        birds.undo()
    with pytest.raises(StateError, match="cannot be brought back"):
        birds.undo(to=0)
    assert birds.undo(past_erase=True).summary == "added 1 example (names erased)"
    with pytest.raises(StateError, match="cannot be brought back"):
        birds.undo()
    assert birds.verify().problems == ()


# One command, one entry, one step back


def test_the_batches_of_a_command_are_one_entry_and_undone_as_one(birds: Gallery, address: Address) -> None:
    before = state(birds)
    added = None
    for batch in range(3):
        added = birds.add([f"class {batch}"] * 2, [[batch, 0.5], [batch, 0.25]], continuing=added)
        assert len(birds) == 2 + 2 * (batch + 1)  # each is there at once
        assert birds.settings.revision == 2 + batch
    assert birds.add("wren", [[1, 2]], continuing=added).command == added.command  # all of it there already
    assert told(birds)[0] == (2, "add", "added 6 examples of class 0, class 1, class 2", None)
    assert len(told(birds)) == 2
    after = state(birds)
    assert birds.undo().summary == "added 6 examples of class 0, class 1, class 2"
    assert state(birds) == before
    assert [entry.summary for entry in birds.history(2)] == [
        "undid: added 6 examples of class 0, class 1, class 2",
        "added 6 examples of class 0, class 1, class 2",
    ]
    assert birds.redo().summary == "added 6 examples of class 0, class 1, class 2"
    assert state(birds) == after
    assert [entry.action for entry in birds.history()] == ["redo", "undo", "add", "add"]
    birds.erase([4])
    assert "class" not in str(told(birds))
    assert birds.verify().problems == ()


@pytest.mark.parametrize("between", ["remove", "undo", "erase"])
def test_a_batch_after_another_change_is_an_entry_of_its_own(birds: Gallery, between: str) -> None:
    first = birds.add("owl", [[7, 7], [8, 8]])
    birds.undo() if between == "undo" else birds.remove([1], erase=between == "erase")
    birds.add("owl", [[9, 9]], continuing=first)
    assert birds.history(1)[0].summary == "added 1 example of owl"
    before = len(birds)
    birds.undo()
    assert len(birds) == before - 1


def test_the_build_is_one_entry_and_the_floor(address: Address) -> None:
    with building(address, dim=2) as made:
        made.add("wren", [[1, 1]])
        made.add("robin", [[2, 2]])
        made.set_parameters({"k": 3})
    with Gallery.open(address) as gallery:
        assert told(gallery) == [(1, "build", "built with 2 examples of robin, wren", None)]
        assert gallery.settings.revision == 3
        gallery.add("owl", [[3, 3]])
        gallery.undo(to=1)
        for go_back in (gallery.undo, lambda: gallery.undo(to=0)):
            with pytest.raises(StateError, match="nothing to undo since the gallery was built"):
                go_back()
        assert (gallery.counts, gallery.parameters) == ({"robin": 1, "wren": 1}, {"k": 3})
        gallery.erase([1])
        assert gallery.history()[-1].summary == "built with 2 examples (names erased)"
        assert gallery.verify().problems == ()


def test_undo_to_an_entry_is_one_step_and_so_is_its_redo(birds: Gallery) -> None:
    states = [state(birds)]
    for change in (
        lambda: birds.relabel([1], "owl"),
        lambda: birds.remove([2]),
        lambda: birds.set_parameters({"k": 2}),
        lambda: birds.relabel([1], "heron"),
    ):
        change()
        states.append(state(birds))
    assert birds.undo(to=2).summary.startswith("removed 1 example")
    assert state(birds) == states[1]
    assert birds.history(1)[0].summary == "undid the 3 latest changes"
    assert birds.redo().summary.startswith("removed 1 example")
    assert state(birds) == states[-1]
    birds.undo(to=1)
    assert state(birds) == states[0]
    for entry, message in ((99, "no entry 99"), (2, "does not stand"), (6, "does not stand"), (7, "no entry 7")):
        with pytest.raises(StateError, match=message):
            birds.undo(to=entry)
    birds.undo(to=0)
    assert len(birds) == 0
    birds.redo()
    birds.redo()
    assert state(birds) == states[-1]
    birds.compact()
    with pytest.raises(StateError, match="nothing to undo since the gallery was compacted"):
        birds.undo(to=2)
    assert birds.verify().problems == ()


def test_a_new_change_ends_what_can_be_redone(birds: Gallery) -> None:
    with pytest.raises(StateError, match="nothing to redo"):
        birds.redo()
    birds.relabel([1], "owl")
    birds.undo()
    birds.remove([2])
    with pytest.raises(StateError, match="nothing to redo"):
        birds.redo()
    birds.undo()
    assert birds.redo().action == "remove"
    with pytest.raises(StateError, match="nothing to redo"):
        birds.redo()


def test_an_undo_of_an_older_kcrc_is_not_redone_wrongly(birds: Gallery) -> None:
    birds.remove([2])
    birds.undo()

    def forget(writing: Any) -> None:
        latest = next(writing.acts())
        writing.replace([latest], [latest._replace(detail='{"of": 2}')])

    birds.store.write(forget)
    with pytest.raises(StateError, match="older kcrc"):
        birds.redo()
    assert birds.read(lambda reading: len(reading.all(ActRecord))) == 3


class Model:
    """A gallery as a list of states: what ``undo`` and ``redo`` have to do."""

    def __init__(self, now: object) -> None:
        self.before: list[object] = []
        self.after: list[object] = []
        self.now = now

    def changed(self, now: object) -> None:
        self.before.append(self.now)
        self.after.clear()
        self.now = now


@given(seed=st.integers(0, 10_000))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_changes_undone_and_redone_match_lists_of_states_in_every_store(
    tmp_path_factory: pytest.TempPathFactory, postgres_server: PostgresServer, seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(stores.KINDS, "memory", memory_store)
        patch.setattr(memory_store, "PLACES", {})
        server = postgres_server.address(gallery=f"t{secrets.token_hex(8)}")
        histories = [
            walked(address, random.Random(seed))
            for address in (tmp_path_factory.mktemp("walk") / "g.kcrc", "memory://walk", server)
        ]
    assert histories[0] == histories[1] == histories[2]


def walked(address: Address, rng: random.Random) -> list[tuple[int, str, str, int | None]]:
    with Gallery.create(address, dim=2) as gallery:
        model = Model(state(gallery))
        for step in range(14):
            ids, revision = gallery.contents.ids.tolist(), gallery.settings.revision
            act = rng.choice(["add", "add", "batches", "remove", "relabel", "rename", "tune", "undo", "undo", "redo"])
            if act in ("undo", "redo"):
                source, target = (model.before, model.after) if act == "undo" else (model.after, model.before)
                if not source:
                    with pytest.raises(StateError, match=f"nothing to {act}"):
                        getattr(gallery, act)()
                    continue
                getattr(gallery, act)()
                target.append(model.now)
                model.now = source.pop()
                assert state(gallery) == model.now
                continue
            if act == "tune":
                gallery.set_parameters({"k": step})
            elif act in ("add", "batches"):
                added = gallery.add(rng.choice("abc"), [[step, 0]])
                if act == "batches":
                    gallery.add(rng.choice("abc"), [[step, 1]], continuing=added)
            elif not ids:
                continue
            elif act == "remove":
                gallery.remove(rng.sample(ids, rng.randint(1, len(ids))))
            elif act == "relabel":
                gallery.relabel(rng.sample(ids, rng.randint(1, len(ids))), rng.choice("abcd"))
            else:
                gallery.rename_class(rng.choice(gallery.classes), rng.choice("abcd"))
            if gallery.settings.revision == revision:  # it was so already
                continue
            model.changed(state(gallery))
        assert state(gallery) == model.now
        assert gallery.verify().problems == ()
        return told(gallery)


def test_an_act_may_be_run_again_where_a_store_lost_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(stores.KINDS, "memory", memory_store)
    monkeypatch.setattr(memory_store, "PLACES", {})
    write = memory_store.MemoryStore.write

    def lost_once(store: memory_store.MemoryStore, change: Any) -> Any:
        class Lost(Exception):
            """The turn went to somebody else."""

        def lose(writing: Any) -> None:
            change(writing)
            raise Lost

        with contextlib.suppress(Lost):
            write(store, lose)
        return write(store, change)

    def acted(address: Address) -> object:
        with Gallery.create(address, dim=2) as gallery:
            added = gallery.add(iter(["wren", "robin", "owl"]), [[1, 2], [3, 4], [5, 6]])  # type: ignore[arg-type]
            gallery.add("owl", [[7, 8]], continuing=added)
            gallery.remove(i for i in (1, 2))
            gallery.relabel((i for i in (3,)), "heron")
            gallery.undo(to=1)
            gallery.redo()
            gallery.erase(i for i in (4,))
            gallery.compact()
            return state(gallery), told(gallery)

    expected = acted(tmp_path / "once.kcrc")
    monkeypatch.setattr(memory_store.MemoryStore, "write", lost_once)
    assert acted("memory://twice") == expected
