"""``make page`` has pictures to show: a gallery of handwritten digits, and some without a label."""

from __future__ import annotations

from pathlib import Path

from kcrc.gallery import Gallery
from kcrc.web.digits import main


def test_the_pictures_of_make_page(tmp_path: Path) -> None:
    said: list[str] = []
    assert main(str(tmp_path / "out"), labelled=40, unlabelled=10, say=said.append) == 0
    unlabelled = sorted((tmp_path / "out" / "unlabelled").iterdir())
    with Gallery.open(tmp_path / "out" / "digits.kcrc", readonly=True) as gallery:
        assert (len(gallery), len(gallery.classes)) == (40, 10)
        assert len(gallery.predict(unlabelled)) == 10
    assert main(str(tmp_path / "out"), say=said.append) == 0  # it is there already
    assert len(said) == 1
