"""What docs/looks.md says of its picture is so: every look has a row, and finds near what the page says it does."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from docs.pages import DOCS
from kcrc import looks
from kcrc.images.looks.base import kind_of, looks_for

_spec = importlib.util.spec_from_file_location("looks_pictures", DOCS / "pictures" / "looks.py")
drawing = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(drawing)


@pytest.fixture(scope="module")
def made():
    return drawing.pictures()


def test_every_look_has_a_row():
    assert [name for name in looks.names() if not looks.describe(name).row] == []


@pytest.mark.parametrize(("name", "goes_by"), [("colour", "colour"), ("shape context", "shape"), ("lbp", "filling")])
def test_a_look_finds_what_the_page_says(name, goes_by, made):
    examples, kinds, queries = made
    (look,) = looks_for(kind_of(examples), [name])
    found = drawing.nearest(look, examples, queries)
    same = (kinds[found] == np.array(drawing.ASKED)[:, None]).sum(axis=(0, 1))
    seen = dict(zip(("shape", "colour", "filling"), same, strict=True))
    assert seen[goes_by] >= 9
    assert [other for other, count in seen.items() if other != goes_by and count >= 9] == []
