"""Many corrections as one change; undone, redone and undone with what else a history holds."""

from __future__ import annotations

import pytest

from kcrc.errors import DataError, ParameterError, StateError
from kcrc.gallery import Gallery


def state(gallery: Gallery) -> dict[int, str]:
    return {row.id: row.label for row in gallery.contents.rows}


def test_one_change_undone_and_redone_among_others(gallery: Gallery) -> None:
    start = state(gallery)
    gallery.relabel([1], "auk")
    between = state(gallery)
    done = gallery.correct({2: "owl", 3: "auk", 4: "owl", 5: "heron"}, remove=[6])
    assert (done.relabelled, done.removed) == ((2, 3, 4), (6,))  # 5 was a heron already
    after = state(gallery)
    assert after == {1: "auk", 2: "owl", 3: "auk", 4: "owl", 5: "heron"}
    assert gallery.history(1)[0].summary == "corrected 4 examples: 3 relabelled, 1 removed"
    assert gallery.undo().summary == "corrected 4 examples: 3 relabelled, 1 removed"
    assert state(gallery) == between
    assert gallery.redo().summary == "corrected 4 examples: 3 relabelled, 1 removed"
    assert state(gallery) == after
    gallery.undo(to=1)
    assert state(gallery) == start
    assert gallery.history(1)[0].summary == "undid the 2 latest changes"
    gallery.redo()
    assert state(gallery) == after
    assert gallery.history(1)[0].summary == "redid 2 changes"
    assert gallery.verify().problems == ()


def test_one_kind_of_correction_is_told_as_ever(gallery: Gallery) -> None:
    gallery.correct({1: "owl", 2: "owl"})
    assert gallery.history(1)[0].summary == "relabelled 2 examples of wren as owl"
    gallery.correct({}, remove=[1])
    assert gallery.history(1)[0].summary == "removed 1 example of owl"
    revision = gallery.settings.revision
    gallery.correct({2: "owl"})
    assert gallery.settings.revision == revision  # nothing to do is no change


def test_what_was_added_by_the_same_command_is_undone_with_it(gallery: Gallery) -> None:
    start = state(gallery)
    added = gallery.add("owl", [[9.0, 9, 9, 9]])
    gallery.correct({1: "owl"}, continuing=added)
    after = state(gallery)
    gallery.undo()
    assert state(gallery) == start
    gallery.redo()
    assert state(gallery) == after


def test_what_is_not_as_it_was_seen_is_refused(gallery: Gallery) -> None:
    before = state(gallery)
    with pytest.raises(StateError, match=r"1 \(was 'owl', is 'wren'\). Nothing was changed"):
        gallery.correct({1: "auk", 2: "auk"}, seen={1: "owl", 2: "wren"})
    with pytest.raises(DataError, match="There is no example 77"):
        gallery.correct({1: "auk"}, remove=[77])
    with pytest.raises(ParameterError, match="relabelled and removed"):
        gallery.correct({1: "auk"}, remove=[1])
    assert state(gallery) == before


def test_erasing_forgets_it(gallery: Gallery) -> None:
    gallery.correct({1: "owl"}, remove=[2])
    gallery.erase([2])
    assert [entry.summary for entry in gallery.history()][1] == "remove (names erased)"
    assert gallery.verify().problems == ()
