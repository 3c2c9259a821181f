"""The part that measures growth, in its quick form: it runs and leaves what the page is made of."""

from __future__ import annotations

from pathlib import Path

from lab.__main__ import main
from lab.bench.scale import page
from lab.bench.scale.point import AnonymousMemory


def test_the_part_leaves_what_its_section_reads(tmp_path: Path) -> None:
    assert main(["bench", "--quick", "--part", "scaling", "--out", str(tmp_path)]) == 0
    text = page.text(tmp_path / "scale")
    assert "| 3,000 | exact |" in text
    assert "| 3,000 | mapped |" in text


def test_memory_of_a_process_is_watched() -> None:
    with AnonymousMemory() as watched:
        kept = bytearray(50_000_000)
        kept[::4096] = b"x" * len(kept[::4096])
    assert watched.most == 0 or watched.most > 50_000_000


def test_the_mapped_part_leaves_what_its_section_reads(tmp_path: Path) -> None:
    assert main(["bench", "--quick", "--part", "mapped", "--out", str(tmp_path)]) == 0
    text = page.text(tmp_path / "scale", ["mapped"])
    assert "Of 3 queries, 3 had exactly the neighbours" in text
    assert " 0 of 800 labels" in text
    assert "Of the forgotten examples, 0 were" in text
