"""Colours that can be read, by the numbers of WCAG, and a style that fetches nothing."""

from __future__ import annotations

from itertools import product

import pytest

from kcrc.report.style import DARK, LIGHT, PAPER, STYLE, TEXT


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_has_contrast_on_every_ground(colours: dict[str, str]) -> None:
    weak = [(ink, paper) for ink, paper in product(TEXT, PAPER) if contrast(colours[ink], colours[paper]) < 4.5]
    assert weak == []
    assert contrast(colours["ink"], colours["bg"]) > 12


def test_the_numbers_are_those_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_both_schemes_have_the_same_tokens_and_all_are_defined() -> None:
    import re

    assert set(LIGHT) == set(DARK) >= {*TEXT, *PAPER}
    placed = {"across", "shape", "narrow-shape", "hatch", *"xywh", *(f"n{name}" for name in "xywh")}
    assert set(re.findall(r"var\(--([\w-]+)\)", STYLE)) <= set(LIGHT) | placed


@pytest.mark.parametrize("door", ["url(", "@import", "src(", "<", "http"])
def test_it_fetches_nothing(door: str) -> None:
    assert door not in STYLE
