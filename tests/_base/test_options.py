"""Options of the wrong kind are refused in a sentence, where a part is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pytest

from kcrc import distances, features
from kcrc._base.registry import Registry, check_options, words
from kcrc.cli.arguments import option_value
from kcrc.errors import ParameterError
from kcrc.images.features.hog import HOG

PICTURES = [np.random.default_rng(n).integers(0, 256, (24, 30, 3), np.uint8) for n in range(4)]
WRONG = [
    ("pixels", "size", "(32,32)", "two whole numbers, such as (8, 8) or None; got '(32,32)'"),
    ("pixels", "size", (3.5, 2), "two whole numbers"),
    ("pixels", "colour", "yes", "True or False"),
    ("pixels", "fit_to", 3, "'stretch', 'crop', 'inside' or 'cut'; got 3"),
    ("random-faces", "n_components", "many", "a whole number"),
    ("random-faces", "n_components", 1 << 40, "must be at most 536870912"),
    ("random-faces", "seed", None, "a whole number"),
    ("eigenfaces", "n_components", 2.5, "a whole number"),
    ("hog", "size", None, "two whole numbers"),
    ("hog", "cell", (8, 8), "a whole number"),
    ("hog", "block", "x", "a whole number"),
    ("hog", "orientations", 9.0, "a whole number; got 9.0"),
    ("lbp", "grid", 8, "two whole numbers"),
    ("lbp", "points", None, "a whole number"),
    ("lbp", "radius", "2", "a number; got '2'"),
    ("colour", "bins", (4, 6), "three whole numbers"),
    ("colour", "levels", True, "a whole number"),
    ("pyramid", "n_words", "x", "a whole number"),
    ("pyramid", "levels", 2.5, "a whole number"),
    ("pyramid", "n_components", float("nan"), "a whole number or None"),
    ("pyramid", "patch", [4, 4], "a whole number"),
    ("pyramid", "step", None, "a whole number"),
    ("pyramid", "longest_side", "300px", "a whole number"),
    ("pyramid", "seed", -1, "seed must be a whole number from 0"),
    ("pyramid", "seed", 1 << 40, "seed must be a whole number from 0"),
    ("pyramid", "threads", -1, "threads must be at least 1, or None"),
    ("embedding", "threads", "all", "a whole number or None"),
]


@pytest.mark.parametrize(("name", "option", "value", "told"), WRONG)
def test_a_feature_says_what_it_takes(name: str, option: str, value: Any, told: str) -> None:
    with pytest.raises(ParameterError) as refused:
        features.make(name, **{option: value}).fit(PICTURES)
    assert told in str(refused.value)


def test_a_feature_that_was_made_without_its_name_is_checked_when_it_is_fitted() -> None:
    with pytest.raises(ParameterError, match="cell of the feature 'hog' is a whole number; got 'x'"):
        HOG(cell="x").fit(PICTURES)  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="block of the feature 'hog'"):
        HOG().set_params(block=None).transform(PICTURES)


def test_numbers_of_numpy_are_numbers() -> None:
    made = features.make("hog", cell=np.int64(8), size=[np.int32(32), 32], signed=1).fit(PICTURES)
    assert made.transform(PICTURES).shape == (4, made.dim)
    assert made.options()["cell"] == 8


def test_other_parts_are_checked_too() -> None:
    with pytest.raises(ParameterError, match="radius of the distance 'lbp-chi2' is a number; got None"):
        distances.make("lbp-chi2", radius=None)
    with pytest.raises(ParameterError, match="grid of the distance 'marginal' is two whole numbers"):
        distances.make("marginal", grid=3)


@dataclass(frozen=True)
class _Part:
    kind: Literal["a", "b"] = "a"
    places: tuple[float, ...] = ()
    other: object = None

    def __post_init__(self) -> None:
        if self.kind == "c":
            raise ParameterError("its own sentence")
        if self.places == 3:
            raise TypeError("something odd")


def test_what_a_part_says_itself_goes_first() -> None:
    parts = Registry[_Part]("part")
    parts.register("one")(_Part)
    with pytest.raises(ParameterError, match=r"^its own sentence$"):
        parts.make("one", kind="c")
    with pytest.raises(ParameterError, match=r"kind of the part 'one' is 'a' or 'b'; got 'd'\."):
        parts.make("one", kind="d")
    with pytest.raises(ParameterError, match="places of the part 'one' is a list of numbers; got 3"):
        parts.make("one", places=3)
    made = parts.make("one", kind="b", places=[1, 2.5], other=object())  # what is no plain kind is the part's business
    assert made.kind == "b"


def test_annotations_that_cannot_be_looked_up_are_not_checked() -> None:
    def maker(size: Nowhere = None) -> None: ...  # type: ignore[name-defined]  # noqa: F821

    assert check_options("a part", maker, {"size": "anything"}) is None


def test_kinds_in_words() -> None:
    assert words(tuple[int, int] | None) == "two whole numbers, such as (8, 8) or None"
    assert words(Literal["x"]) == "'x'"
    assert words(tuple[str, str, str, str, str]) == "5 texts"


def test_a_pair_on_the_command_line_has_round_or_square_brackets() -> None:
    assert option_value("size=(32,32)") == option_value("size=[32, 32]") == ("size", (32, 32))
    assert option_value("size=(32,") == ("size", "(32,")
    assert option_value("size=(a)") == ("size", "(a)")
