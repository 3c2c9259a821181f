"""What is said where examples are too few to be asked as if they were not there."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from kcrc.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        out = capsys.readouterr()
        return code, out.out, out.err

    return call


def noise(classes: int, each: int) -> None:
    rng = np.random.default_rng(0)
    for name in range(classes):
        Path(f"photos/{name}").mkdir(parents=True)
        for number in range(each):
            shade = np.clip(rng.normal(40 + 60 * name, 60, (12, 12, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(shade).resize((96, 96)).save(f"photos/{name}/{number}.png")


def build(run: Run) -> str:
    code, _, err = run("build", "photos", "-o", "few.kcrc", "-f", "pixels")
    assert code == 0
    return err


def test_two_classes_of_two_are_no_evidence(run: Run) -> None:
    noise(2, 2)
    told = build(run)
    assert "4 examples are too few to say how often answers will be right: add more of each class\n" in told
    assert "%" not in told
    code, out, _ = run("audit", "few.kcrc")
    assert code == 0
    assert out.startswith("4 examples are too few to ask any")
    assert "clearly contradict their label" not in out
    assert "No example contradicts its label clearly" in out
    code, out, err = run("evaluate", "few.kcrc", "--html", "few.html")
    assert code == 0
    assert "4 examples are too few to say how often answers will be right: add more of each class.\n" in err
    assert "too few to say" in Path("few.html").read_text()
    assert "95% interval" not in out
    assert "4 examples are too few to say" in run("tune", "few.kcrc")[1]


def test_two_of_many_classes_are_little(run: Run) -> None:
    noise(4, 2)
    told = build(run)
    assert re.search(r"\d of 8 examples are answered right .*; with one or two examples per class", told)
    assert "With one or two examples per class that says little" in run("evaluate", "few.kcrc")[2]


def test_of_enough_the_share_is_told_without_a_caution(run: Run) -> None:
    noise(2, 4)
    told = build(run)
    assert "8 examples are answered right when left out: " in told
    assert "little" not in told
    assert "too few" not in told
    _, out, err = run("evaluate", "few.kcrc")
    assert (err, "95% interval" in out) == ("", True)
