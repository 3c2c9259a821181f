"""``kcrc demo`` and ``make demo``: what they print and draw, with nothing but what kcrc needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from docs.pages import DOCS, ROOT, blocks, numbers_and_words
from kcrc import KCRCClassifier
from kcrc._base.arrays import Array
from kcrc.cli.demo import hardest, typical
from kcrc.method.evidence import Evidence
from kcrc.report.answer_picture import EXAMPLES, FLOOR, HEIGHT, RED, SHOWN, WIDTH, draw_answer, loudest
from kcrc.report.style import LIGHT

PLAIN = """
import sys

class Absent:
    def find_spec(self, name, *_):
        if name in ("matplotlib", "pandas", "onnxruntime", "starlette"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from kcrc.cli import main
sys.exit(main(["demo", "out"]))
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What ``kcrc demo`` prints without any extra, and the folder of its pictures."""
    home = tmp_path_factory.mktemp("demo")
    known = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *sys.path]), "PYTHONIOENCODING": "utf-8"}
    ran = subprocess.run(
        [sys.executable, "-c", PLAIN], cwd=home, env=known, capture_output=True, encoding="utf-8", check=False
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, home / "out"


def part(text: str, head: str) -> str:
    """The paragraph that begins with these words."""
    found = [paragraph for paragraph in text.split("\n\n") if paragraph.startswith(head)]
    assert len(found) == 1, text
    return found[0]


def test_the_demo_needs_no_extra_and_draws_two_pictures(shown: tuple[str, Path]) -> None:
    _, folder = shown
    assert sorted(path.name for path in folder.iterdir()) == ["hardest.png", "why.png"]
    for name in ("why.png", "hardest.png"):
        with Image.open(folder / name) as picture:
            assert picture.size == (WIDTH, HEIGHT)


def test_the_typical_answer_comes_first_and_is_easy_to_read(shown: tuple[str, Path]) -> None:
    text, _ = shown
    first = part(text, "A typical right answer")
    digit, sure = re.search(r"shows (\d), and is ([\d.]+)% sure", first).groups()
    assert float(sure) > 95
    assert f"(+ speaks for {digit}, - against it;" in first
    bars = re.findall(r"^    (\d) \(row +\d+\) +(\d+)%  (\++|-+)$", first, re.M)
    assert len(bars) == SHOWN
    assert bars[0][0] == digit
    assert [label == digit for label, _, _ in bars] == [bar[0] == "+" for _, _, bar in bars]
    assert 1 <= sum(bar[0] == "-" for _, _, bar in bars) <= 2
    assert [int(share) for _, share, _ in bars] == [len(bar) for _, _, bar in bars]
    assert text.index("A typical right answer") < text.index("The hardest right answer")


def test_the_hardest_answer_is_called_that(shown: tuple[str, Path]) -> None:
    text, _ = shown
    last = part(text, "The hardest right answer")
    assert float(re.search(r"is ([\d.]+)% sure", last)[1]) < 60
    assert "All together: 50% for" in last


def test_a_class_is_forgotten_and_learned_again_without_a_fit(shown: tuple[str, Path]) -> None:
    text, _ = shown
    right, queries = map(int, re.search(r"(\d+) of (\d+) queries that are a 9", text).groups())
    assert 0.5 * queries < right <= queries


def test_the_readme_shows_what_the_demo_prints_and_draws(shown: tuple[str, Path]) -> None:
    text, folder = shown
    typed = [block for block in blocks("README.md", "text") if block.startswith("A typical right answer")]
    assert len(typed) == 1
    words, figures = numbers_and_words(typed[0].strip())
    printed = part(text, "A typical right answer").partition("\n    The picture")[0]
    now, values = numbers_and_words(printed)
    assert now == words
    np.testing.assert_allclose(values, figures, atol=1.01)
    drawn, kept = (
        np.asarray(Image.open(path).convert("RGB"), float)
        for path in (folder / "why.png", DOCS / "pictures" / "why.png")
    )
    assert drawn.shape == kept.shape
    assert np.abs(drawn - kept).mean() < 2, "make demo; cp demo-out/why.png docs/pictures/why.png"


@pytest.fixture(scope="module")
def asked() -> tuple[Array, Evidence, Array]:
    X, y = load_digits(return_X_y=True)
    clf = KCRCClassifier(n_neighbors=25, mu=0.01, gamma=0.3, scaling="unit").fit(X[:900], y[:900])
    return X, clf.explain(X[900:]), y[900:]


def test_typical_is_between_the_easiest_and_the_hardest(asked: tuple[Array, Evidence, Array]) -> None:
    _, evidence, truth = asked
    middle, last = typical(evidence, truth), hardest(evidence, truth)
    right = evidence.labels == truth
    assert right[middle]
    assert right[last]
    coded = right & (evidence.how == 0)
    assert evidence.margin[last] == evidence.margin[coded].min()
    assert 0.2 < np.mean(evidence.margin[coded] < evidence.margin[middle]) < 0.8


def test_a_square_is_as_large_as_its_share(asked: tuple[Array, Evidence, Array], tmp_path: Path) -> None:
    X, evidence, truth = asked
    at = typical(evidence, truth)
    one = evidence[at]
    draw_answer(
        one, X[900 + at].reshape(8, 8), lambda row: X[row].reshape(8, 8), tmp_path / "a.png", title="", legend=""
    )
    pixels = np.asarray(Image.open(tmp_path / "a.png").convert("RGB"), float)[FLOOR - 3, EXAMPLES - 5 :]
    sides: dict[str, list[int]] = {}
    for name, colour in (("for", LIGHT["for"]), ("against", RED)):
        ink = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)])
        edges = np.flatnonzero(np.diff(np.pad(np.abs(pixels - ink).max(axis=1) < 30, 1).astype(int)))
        sides[name] = (edges[1::2] - edges[::2]).tolist()
    shares = one.shares[0, loudest(one)]
    expected = [*shares[shares > 0], *-shares[shares < 0]]
    drawn = np.array([*sides["for"], *sides["against"]], float) ** 2
    assert len(sides["against"]) == np.sum(shares < 0)
    np.testing.assert_allclose(drawn / drawn.sum(), expected / np.sum(expected), rtol=0.05)


def test_an_answer_that_nothing_speaks_against_is_drawn_too(tmp_path: Path) -> None:
    X, y = load_digits(return_X_y=True)
    one = KCRCClassifier(n_neighbors=1, mu=0.01, gamma=0.3, scaling="unit").fit(X[:50], y[:50]).explain(X[50:51])
    assert one.support == [1.0]
    blank = np.zeros((8, 8))
    draw_answer(one, blank, lambda row: blank, tmp_path / "a.png", title="", legend="")
    with Image.open(tmp_path / "a.png") as picture:
        assert picture.size == (WIDTH, HEIGHT)
