"""docs/scale.md is what the generator makes of the measurements beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from kcrc.errors import DataError
from lab.bench.scale import page
from lab.bench.scale.record import Record

DOCS = Path(__file__).parents[4] / "docs"


def test_the_page_is_what_the_measurements_say() -> None:
    assert (DOCS / "scale.md").read_text("utf-8") == page.text(DOCS / "scale"), "run python -m lab.bench.scale.page"


def test_every_measurement_has_a_section_and_every_drawing_is_there() -> None:
    assert {path.stem for path in (DOCS / "scale").glob("*.json")} <= set(page.SECTIONS)
    shown = {drawing.name for drawing in page.drawings(DOCS / "scale")}
    assert {path.stem for path in (DOCS / "scale").glob("*.svg")} == shown


def test_the_page_is_written_with_its_drawings(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    points = [
        {"along": "n", "n": n, "width": 8, "K": 5, "ways": {"faiss flat": _took(n * 1e-3), "exact": _took(n * 5e-4)}}
        for n in (100, 1000)
    ]
    record = Record.begun("python -m lab bench --part scaling")
    record.measured.update(typical={"n": 100, "width": 8, "K": 5}, points=points)
    record.write(tmp_path / "scale" / "growth.json")
    page.write(tmp_path / "scale")
    text = (tmp_path / "scale.md").read_text("utf-8")
    assert "| 1,000 | exact | 0.5 s | 0.5 | 0.5 s | 0.5 | 1.0 s | 50 MB | 0.50 | 99.5% |" in text
    assert "with n, for the time of one query and for memory: faiss flat 1.00 and 1.00; exact 1.00 and 1.00." in text
    assert "![Memory by the number of examples](scale/memory-by-n.svg)" in text
    assert (tmp_path / "scale" / "one-by-n.svg").read_text("utf-8").startswith("<?xml")


def test_a_section_without_a_measurement_is_left_out(tmp_path: Path) -> None:
    assert page.text(tmp_path) == page.HEAD


def test_what_is_no_measurement_is_refused(tmp_path: Path) -> None:
    for content in ("{", "[]", '{"format": "kcrc-scale-0"}', '{"format": "kcrc-scale-1", "measured": {}}'):
        (tmp_path / "growth.json").write_text(content)
        with pytest.raises(DataError, match="is not a measurement of the page on scale"):
            page.text(tmp_path)


def _took(seconds: float) -> dict[str, float]:
    return {"build": 1.0, "batch": seconds, "one": seconds, "memory": 1e8 * seconds, "data": 1e8, "agreement": 0.995}
