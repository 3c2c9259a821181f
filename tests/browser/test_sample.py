"""``make page`` opens over pictures worth it: right answers, a wrong label to be found, a picture of no class."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from browser.sample import WRONG, main
from browser.serving import Watched, served
from kcrc.gallery import Gallery

pytestmark = pytest.mark.browser


def test_the_fruit_of_make_page(tmp_path: Path, watch: Callable[..., Watched]) -> None:
    assert main([str(tmp_path)]) == 0
    assert main([str(tmp_path)]) == 0  # it is there already
    asked = sorted((tmp_path / "unlabelled").iterdir())
    shown = (tmp_path / "shown.txt").read_text("utf-8").split()
    with Gallery.open(tmp_path / "fruit.kcrc") as gallery:
        answers = [str(label) for label in gallery.predict(asked[:-1])]
        assert sum(a == b for a, b in zip(answers, shown, strict=True)) >= len(shown) - 1
        (planted,) = [row.id for row in gallery.contents.rows if row.source.endswith(WRONG[0])]
        assert [one.row for one in gallery.audit().mislabelled][:1] == [planted]
    with served(tmp_path / "fruit.kcrc") as address:
        page = watch(address)
        page.ask(asked[-1])
        assert page.text("h1") == "Unknown"
        assert "%" not in page.text(".aside"), "an unknown has no chances"
        assert page.tab.locator(".mind .card").count() == 0
