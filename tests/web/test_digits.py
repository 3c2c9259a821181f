"""``make page`` has pictures to show: a gallery of handwritten digits, and some without a label."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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


@pytest.mark.parametrize(("option", "code"), [("--help", 0), ("-h", 0), ("--labelled", 2), ("a b", 2)])
def test_options_are_no_folder(option: str, code: int, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kcrc.web.digits", *option.split()],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == code
    assert "usage: python -m kcrc.web.digits" in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
