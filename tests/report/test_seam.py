"""Photographs whose areas are their shares, and percentages that are 100 together."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from photos import small_picture

from kcrc import KCRCClassifier
from kcrc._base.words import about, whole_percents
from kcrc.report.case import Case, Part, every_part
from kcrc.report.evidence_page import evidence_page, lead
from kcrc.report.seam import LEAST, seam, sides_of, treemap, treemap_with_rest

PICTURE = small_picture()
SHARES = st.lists(st.floats(0.001, 1.0), min_size=1, max_size=40)


def case(names: list[str], *, apart: float = 0.0, probabilities: list[float] | None = None) -> Case:
    rng = np.random.default_rng(1)
    y = np.array(names)[np.arange(40) % len(names)]
    X = rng.standard_normal((40, 5)) + apart * np.eye(len(names), 5)[np.arange(40) % len(names)]
    evidence = KCRCClassifier(n_neighbors=12).fit(X, y).explain(X[:1] + 0.1)
    p = None if probabilities is None else np.array(probabilities)
    return Case("q.jpg", evidence, PICTURE, lambda i: PICTURE, lambda i: f"{i}.jpg", probabilities=p)


@given(SHARES, st.floats(0.001, 1.0), st.floats(50, 1000), st.floats(50, 1000))
def test_tiles_have_their_areas_and_fill_the_whole(
    areas: list[float], rest: float, width: float, height: float
) -> None:
    areas = [*sorted(areas, reverse=True), rest]
    boxes = treemap_with_rest(areas, width=width, height=height)
    assert [box.width * box.height for box in boxes] == pytest.approx([area / sum(areas) for area in areas])
    assert all(box.x > -1e-9 and box.y > -1e-9 for box in boxes)
    assert all(box.x + box.width < 1 + 1e-9 and box.y + box.height < 1 + 1e-9 for box in boxes)
    for one, other in combinations(boxes, 2):
        beside = one.x + one.width <= other.x + 1e-9 or other.x + other.width <= one.x + 1e-9
        assert beside or one.y + one.height <= other.y + 1e-9 or other.y + other.height <= one.y + 1e-9


def test_tiles_are_near_to_squares() -> None:
    boxes = treemap([6, 6, 4, 3, 2, 2, 1], width=600, height=400)  # the example of Bruls, Huizing and van Wijk, 2000
    shapes = [box.width * 600 / (box.height * 400) for box in boxes]
    assert max(max(shape, 1 / shape) for shape in shapes) < 3


@given(SHARES)
def test_percentages_are_100_together(shares: list[float]) -> None:
    found = whole_percents(shares)
    assert sum(found) == 100
    exact = [100 * share / sum(shares) for share in shares]
    assert all(abs(shown - value) < 1 for shown, value in zip(found, exact, strict=True))


def test_what_is_written_on_the_tiles_is_100_percent() -> None:
    one = case(["wren", "robin"])
    text = str(seam(one, every_part(one, 100), top=6, level=2))
    tiles = re.findall(r"<figcaption>(?:<span>\+?\d+</span> <span>)?(\d+) %", text)
    sides = re.findall(r'class="nowrap">(\d+) %', text)
    assert len(tiles) >= 6
    assert sum(map(int, tiles)) == sum(map(int, sides)) == 100
    assert "even: past this line the answer changes" in text


def test_small_shares_are_counted_together() -> None:
    shares = [0.5, -0.3, 0.1, 0.05, -0.04, 0.006, -0.004]
    parts = [Part(at, "a", "", share, 1.0) for at, share in enumerate(shares)]
    first, second = sides_of(parts, top=3)
    assert [part.id for part in first.parts] == [0, 2]
    assert (first.rest, first.rest_share) == (2, pytest.approx(0.056))
    assert ([part.id for part in second.parts], second.rest) == ([1], 2)
    assert all(abs(part.share) >= LEAST for side in sides_of(parts, top=9) for part in side.parts)


def test_where_all_agree_there_is_no_beam() -> None:
    text = evidence_page([case(["wren", "robin"], apart=50.0)], gallery="g")
    assert "wren 100 %" in re.sub(r"<[^>]+>", "", text) or "that made it fit worse" in text
    assert "even: past this line" not in text


@pytest.mark.parametrize(
    ("chances", "words"),
    [
        ([0.97, 0.02, 0.01], "About 1 in 33 answers like this is wrong. If it is wrong, it is most likely robin."),
        ([0.998, 0.001, 0.001], "Answers like this are almost never wrong."),
        ([0.5, 0.4, 0.1], "Too close to call: robin cannot be ruled out. About 5 in 10 answers like this are wrong."),
        ([0.8, 0.1, 0.1], "About 1 in 5 answers like this is wrong."),
    ],
)
def test_how_sure_it_is_in_words(chances: list[float], words: str) -> None:
    one = case(["wren", "robin", "owl"])
    order = np.argsort(np.argsort(one.evidence.residuals[0]))
    ranked = np.array(chances)[order]
    named = Case(one.name, one.evidence, PICTURE, one.thumbnail_of, one.source_of, probabilities=ranked)
    second = str(one.evidence.classes[np.argsort(one.evidence.residuals[0])[1]])
    assert lead(named) == words.replace("robin", second)


def test_what_is_unknown_has_no_chance_and_says_why() -> None:
    one = replace(case(["wren", "robin"], probabilities=[0.5, 0.5]), why="it is all one colour")
    said = re.sub(r"<style.*?</style>|<[^>]+>", "", evidence_page([one], gallery="g"), flags=re.DOTALL)
    assert f"It is all one colour. The class that comes nearest is {one.best}; do not rely on it." in said
    assert "Chances" not in said
    assert "How much of it each class explains" in said


@pytest.mark.parametrize(("share", "words"), [(0.0, "< 1 %"), (0.734, "73 %"), (0.999, "> 99 %"), (0.99, "99 %")])
def test_a_chance_at_a_glance(share: float, words: str) -> None:
    assert about(share) == words
