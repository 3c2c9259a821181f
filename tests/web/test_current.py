"""What answers now is never older than the gallery."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcrc.gallery import Gallery
from kcrc.gallery.acts import Relabel
from kcrc.gallery.stored_choice import CurrentAnswerer
from kcrc.web.current import Now


def test_changes_in_the_midst_of_a_look_are_not_missed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Gallery.open(path) as gallery, Gallery.open(path) as other:
        now = Now(gallery)
        look = gallery.answering.ready

        def in_between(**options: bool) -> CurrentAnswerer:
            other.remove([1])
            found = look(**options)
            other.remove([2])
            return found

        monkeypatch.setattr(gallery.answering, "ready", in_between)
        now.current()
        monkeypatch.undo()
        assert now.current().revision == other.settings.revision
        assert {1, 2}.isdisjoint(now.current().records)
        assert now.current() is now.current()


def test_what_another_process_learned_is_taken_over(path: Path) -> None:
    with Gallery.open(path) as gallery, Gallery.open(path) as other:
        now = Now(gallery)
        other.store.write(Relabel([1], "wren"))  # nothing is learned yet
        before = now.current()
        other.answering.ready()
        after = now.current()
        assert after.revision == before.revision
        assert after.answerer.confidence.asked is not None
        assert not (after.answerer.confidence.sets.names == before.answerer.confidence.sets.names).all()
