"""One change taken back alone, in whatever store: what others did since stays, and what they touched is not lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from kcrc.errors import StateError
from kcrc.gallery import Gallery
from kcrc.gallery.undoing import Overtaken, RedoOne, UndoOne


@pytest.fixture
def shared(address: Path | str) -> Iterator[Gallery]:
    with Gallery.create(address, dim=2) as made:
        made.add(["wren", "wren", "robin", "robin"], np.arange(8, dtype=np.float32).reshape(4, 2))
        yield made


def labels(gallery: Gallery) -> dict[int, str]:
    return {row.id: row.label for row in gallery.contents.rows}


def test_each_kind_of_change_is_taken_back_and_done_again(shared: Gallery) -> None:
    before = labels(shared)
    shared.relabel([1], "heron")  # act 2
    shared.remove([2])  # 3
    shared.add("owl", [[9.0, 9.0]])  # 4
    shared.rename_class("robin", "redbreast")  # 5
    after = labels(shared)
    for act in (2, 3, 4, 5):
        shared.store.write(UndoOne(act))
    assert labels(shared) == before
    for act in (3, 2, 5, 4):
        shared.store.write(RedoOne(act))
    assert labels(shared) == after
    assert shared.verify().sound


def test_what_others_touched_since_is_shown(shared: Gallery) -> None:
    shared.add("owl", [[9.0, 9.0]])  # act 2
    shared.relabel([5], "eagle owl")  # 3
    shared.relabel([1], "heron")  # 4
    with pytest.raises(Overtaken) as problem:
        shared.store.write(UndoOne(2))
    assert [entry.id for entry in problem.value.by] == [3]
    assert labels(shared)[5] == "eagle owl"
    shared.store.write(UndoOne(3))  # the other takes theirs back
    shared.store.write(UndoOne(2))
    assert 5 not in labels(shared)
    assert labels(shared)[1] == "heron"


def test_what_was_undone_or_compacted_is_not_undone_again(shared: Gallery) -> None:
    shared.relabel([1], "heron")  # act 2
    shared.store.write(UndoOne(2))
    with pytest.raises(StateError, match="undone already"):
        shared.store.write(UndoOne(2))
    with pytest.raises(StateError, match="There is no change 99"):
        shared.store.write(UndoOne(99))
    shared.store.write(RedoOne(2))
    with pytest.raises(StateError, match="stands"):
        shared.store.write(RedoOne(2))
    shared.compact()
    with pytest.raises(StateError, match="compacted"):
        shared.store.write(UndoOne(2))


def test_an_undo_of_the_latest_goes_on_as_before(shared: Gallery) -> None:
    shared.relabel([1], "heron")  # act 2
    shared.relabel([3], "owl")  # 3
    shared.store.write(UndoOne(2))
    assert shared.undo().id == 3
    assert shared.redo().id == 3
    assert labels(shared) == {1: "wren", 2: "wren", 3: "owl", 4: "robin"}
