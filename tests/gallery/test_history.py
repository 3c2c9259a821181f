from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kcrc.errors import StateError
from kcrc.gallery import Gallery


def snapshot(gallery: Gallery) -> dict[int, tuple[str, tuple[float, ...]]]:
    ids, vectors, labels = gallery.vectors()
    return {int(i): (str(c), tuple(v.tolist())) for i, v, c in zip(ids, vectors, labels, strict=True)}


@given(seed=st.integers(0, 10_000), n_acts=st.integers(1, 25))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_random_acts_and_undos_match_a_list_of_snapshots(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n_acts: int
) -> None:
    rng = random.Random(seed)
    path = tmp_path_factory.mktemp("history") / "g.kcrc"
    with Gallery.create(path, dim=2) as gallery:
        stack: list[tuple[dict[int, tuple[str, tuple[float, ...]]], dict[str, object]]] = []
        for step in range(n_acts):
            before = (snapshot(gallery), gallery.parameters)
            ids = list(before[0])
            act = rng.choice(["add", "add", "remove", "relabel", "rename", "tune", "undo", "compact"])
            if act == "add":
                count = rng.randint(1, 4)
                values = np.array([[step, i] for i in range(count)], np.float32)
                gallery.add([rng.choice("abc") for _ in range(count)], values)
                stack.append(before)
            elif act == "remove" and ids:
                gallery.remove(rng.sample(ids, rng.randint(1, len(ids))))
                stack.append(before)
            elif act == "relabel" and ids:
                if gallery.relabel(rng.sample(ids, rng.randint(1, len(ids))), rng.choice("abcd")):
                    stack.append(before)
            elif act == "rename" and ids:
                if gallery.rename_class(rng.choice(gallery.classes), rng.choice("abcd")):
                    stack.append(before)
            elif act == "tune":
                gallery.set_parameters({"k": step})
                stack.append(before)
            elif act == "compact":
                gallery.compact()
                stack.clear()
                assert (snapshot(gallery), gallery.parameters) == before
            elif act == "undo":
                if stack:
                    gallery.undo()
                    assert (snapshot(gallery), gallery.parameters) == stack.pop()
                else:
                    with pytest.raises(StateError, match="nothing to undo"):
                        gallery.undo()
        verdict = gallery.verify()
        assert verdict.problems == ()
        assert verdict.examples == len(gallery)
        final = snapshot(gallery)
    with Gallery.open(path) as again:
        assert snapshot(again) == final


def test_the_history_says_what_was_done(gallery: Gallery) -> None:
    gallery.relabel([1], "robin")
    gallery.undo()
    gallery.remove([1, 2])
    newest = gallery.history(limit=3)
    assert [entry.action for entry in newest] == ["remove", "undo", "relabel"]
    assert newest[0].summary == "removed 2 examples of wren"
    assert newest[1].summary == "undid: relabelled 1 example of wren as robin"
    assert newest[2].undone_by == newest[1].id


def test_undo_goes_back_to_nothing_and_then_says_so(gallery: Gallery) -> None:
    gallery.remove([1])
    assert gallery.undo().action == "remove"
    assert gallery.undo().action == "add"
    assert len(gallery) == 0
    assert gallery.vectors()[1].shape == (0, 4)
    with pytest.raises(StateError, match="nothing to undo"):
        gallery.undo()


def test_compact_gives_the_space_back_and_ids_are_not_given_twice(path: Path) -> None:
    with Gallery.create(path, dim=1000) as gallery:
        gallery.add("a", np.random.default_rng(0).standard_normal((200, 1000)))
        gallery.remove(range(11, 201))
        before = path.stat().st_size
        assert gallery.compact() == 190
        assert path.stat().st_size < before / 5
        assert gallery.add("a", np.ones(1000)).ids == (201,)
        gallery.undo()
        with pytest.raises(StateError, match="compacted"):
            gallery.undo()
        assert gallery.verify().sound


def test_what_was_removed_is_gone_from_the_bytes_after_compacting(path: Path) -> None:
    with Gallery.create(path, dim=4) as gallery:
        gallery.add(["a", "b"], [[1, 2, 3, 4], [5, 6, 7, 8]], sources=["secret-source", "other"])
        gallery.remove([1])
        assert b"secret-source" in path.read_bytes()
        gallery.compact()
    assert b"secret-source" not in path.read_bytes()
    assert b"other" in path.read_bytes()
