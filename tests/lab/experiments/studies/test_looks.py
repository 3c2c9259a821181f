"""The study of looks: what was measured is kept and not measured again; made-up pictures are the same every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lab.experiments.studies import looks
from lab.experiments.studies.made_pictures import MAKERS, made


def test_what_is_in_the_file_is_not_measured_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, int]] = []

    def measured(name: str, seed: int, given: object) -> dict[str, Any]:
        asked.append((name, seed))
        right = {looks.OURS: 0.9 + 0.01 * seed, "hog alone": 0.8, "pixels alone": 0.5}
        return {"right": right, "ratio": 2.0 + seed, "of both": 1.0 + seed, "sentence": "", "commit": ""}

    monkeypatch.setattr(looks, "measured", measured)
    file = tmp_path / "looks.json"
    options = ["digits", "--singles", "--out", str(file)]
    assert looks.main([*options, "--splits", "1"]) == 0
    assert looks.main([*options, "--splits", "2"]) == 0
    assert asked == [("digits", 0), ("digits", 1)]
    said = capsys.readouterr().out
    assert "digits, 2 splits; ratio 2.5, of both 1.50" in said
    assert "best single look in hindsight (hog alone): +10.50 ± 0.50" in said
    assert looks.main(["digits", "--queries", "9", "--out", str(file), "--splits", "1"]) == 0  # another measurement
    assert len(asked) == len(json.loads(file.read_text())) == 3


def test_a_made_set_runs_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looks, "BARE", ["pixels", "hog"])
    monkeypatch.setitem(looks.MAKERS, "tiles-bare", looks.MAKERS["tiles"])
    monkeypatch.setattr(looks, "SETS", ("tiles-bare",))
    file = tmp_path / "looks.json"
    few = ["--splits", "1", "--each", "4", "--queries", "20", "--rivals", "--singles"]
    assert looks.main(["tiles-bare", *few, "--out", str(file)]) == 0
    (found,) = json.loads(file.read_text()).values()
    assert set(found["right"]) == {looks.OURS, "pixels alone", "hog alone", "SVC on pixels", "SVC on hog"}


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_made_pictures(name: str) -> None:
    images, labels = made(name, 2, 3)
    again, _ = made(name, 2, 3)
    other, _ = made(name, 2, 4)
    np.testing.assert_array_equal(images, again)
    assert images.dtype == np.uint8
    assert len(images) == len(labels) == 2 * MAKERS[name][0]
    assert (images != other).any()
    assert len(np.unique(images.reshape(len(images), -1), axis=0)) == len(images)
