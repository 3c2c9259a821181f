from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kcrc.errors import FileError, ParameterError, StateError
from kcrc.gallery import Gallery, building


class Halves:
    """A feature with a fitted mean."""

    kind = "halves"
    dim = 3
    fingerprint = "halves:abc"

    def keep(self) -> None:
        """All it needs is in its state."""

    def state(self) -> dict[str, Any]:
        return {
            "feature": "halves",
            "options": {"size": 8},
            "mean": np.array([1.0, 2.0, 3.0]),
            "words": np.array(["a", "bc"]),
        }


def test_a_gallery_is_there_at_the_end_and_not_before(path: Path) -> None:
    with building(path, feature=Halves()) as gallery:
        gallery.add("a", np.eye(3))
        assert not path.exists()
    assert sorted(p.name for p in path.parent.iterdir()) == ["birds.kcrc"]
    with Gallery.open(path) as made:
        assert len(made) == 3
        assert made.settings.feature == "halves"
        assert made.feature_state()["options"] == {"size": 8}
        assert made.fingerprint == "halves:abc"
        assert made.feature_state()["mean"].tolist() == [1, 2, 3]
        assert made.feature_state()["words"].tolist() == ["a", "bc"]
        assert made.verify().sound


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_build_leaves_nothing_and_the_older_gallery(
    gallery: Gallery, path: Path, error: type[BaseException]
) -> None:
    gallery.close()

    def interrupted() -> None:
        with building(path, dim=2, overwrite=True) as made:
            made.add("a", [1, 2])
            raise error

    with pytest.raises(error):
        interrupted()
    assert sorted(p.name for p in path.parent.iterdir()) == ["birds.kcrc"]
    with Gallery.open(path) as old:
        assert len(old) == 6


def test_an_existing_file_is_not_run_over(path: Path) -> None:
    path.write_bytes(b"mine")
    with pytest.raises(FileError, match="exists already"), building(path, dim=2):
        pass
    assert path.read_bytes() == b"mine"


def test_a_file_made_meanwhile_is_not_run_over(path: Path) -> None:
    with pytest.raises(FileError, match="meanwhile"), building(path, dim=2):
        path.write_bytes(b"mine")
    assert path.read_bytes() == b"mine"
    assert sorted(p.name for p in path.parent.iterdir()) == ["birds.kcrc"]


def test_two_builds_of_one_gallery_do_not_mix(path: Path) -> None:
    with building(path, dim=2) as gallery:
        gallery.add("a", [1, 2])
        with pytest.raises(StateError, match="building"), building(path, dim=2):
            pass
    with Gallery.open(path) as made:
        assert len(made) == 1


@pytest.mark.parametrize("left", [b"", b"garbage" * 1000])
def test_what_a_killed_build_left_is_cleared(path: Path, left: bytes) -> None:
    path.with_name(".birds.kcrc.building").write_bytes(left)
    with building(path, dim=2) as gallery:
        gallery.add("a", [1, 2])
    assert sorted(p.name for p in path.parent.iterdir()) == ["birds.kcrc"]


def test_a_journal_left_by_a_killed_writer_does_not_touch_the_new_gallery(gallery: Gallery, path: Path) -> None:
    # A writer is stopped in the middle: its journal is beside the gallery, as after kill -9.
    gallery.close()
    halfway = path.with_name("halfway.kcrc")
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA cache_size = 1")
    db.execute("PRAGMA cache_spill = ON")
    db.execute("BEGIN")
    db.execute("DELETE FROM vectors")
    db.execute("UPDATE examples SET label = hex(randomblob(20000))")
    shutil.copy(path, halfway)
    shutil.copy(f"{path}-journal", f"{halfway}-journal")
    db.close()
    with building(halfway, dim=2, overwrite=True) as made:
        made.add("a", [1, 2])
    with Gallery.open(halfway) as new:
        assert new.verify().problems == ()
        assert len(new) == 1


def test_a_feature_brings_its_own_width(path: Path) -> None:
    with pytest.raises(ParameterError, match="come with the feature"):
        Gallery.create(path, feature=Halves(), dim=3)
    with pytest.raises(FileError, match="no folder"):
        Gallery.create(path / "below" / "x.kcrc", dim=3)
    with pytest.raises(FileError, match="not a file"):
        Gallery.create(path.parent, dim=3, overwrite=True)
