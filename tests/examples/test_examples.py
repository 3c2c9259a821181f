"""Every example runs without a warning and draws something; the page shows the examples as they are."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from PIL import Image

pytest.importorskip("matplotlib")
ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("examples_show", ROOT / "examples" / "show.py")
assert _spec is not None
assert _spec.loader is not None
show = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(show)


def test_there_are_examples():
    assert len(show.names()) >= 12


@pytest.mark.parametrize("name", show.names())
def test_an_example_runs_and_draws(name, tmp_path):
    show.run(name, tmp_path / "picture.png")
    with Image.open(tmp_path / "picture.png") as picture:
        assert picture.width > 600
        assert len(picture.convert("L").getcolors(1 << 16)) > 20  # not an empty sheet
        assert round(picture.info["dpi"][0]) == 120  # the style is the script's own, so that alone it draws the same


def test_the_page_is_made_of_the_examples():
    assert (ROOT / "docs" / "examples.md").read_text("utf-8") == show.page()
    for name in show.names():
        assert (show.PICTURES / f"{name}.png").is_file()
