"""The page about files says what the code writes."""

from __future__ import annotations

import re
import zlib
from pathlib import Path

from kcrc.classifier import saving, stored_parts
from kcrc.gallery.settings import Settings
from kcrc.gallery.stores import records
from kcrc.gallery.stores.sqlite import schema

PAGE = (Path(__file__).parents[2] / "docs" / "formats.md").read_text("utf-8")


def test_versions_are_those_that_are_written() -> None:
    assert f"| gallery | {schema.VERSION} |" in PAGE
    assert f"| saved classifier | {saving.VERSION} |" in PAGE


def test_every_table_and_column_is_named() -> None:
    assert {"examples", "vectors"} <= set(schema.STATEMENTS[schema.VERSION])
    for name in schema.STATEMENTS[schema.VERSION]:
        assert name == "examples_by_content" or f"| `{name}` |" in PAGE
    for table, columns in records.COLUMNS.items():
        line = next(line for line in PAGE.splitlines() if line.startswith(f"| `{table}` |"))
        assert [name for name in columns if f"`{name}`" not in line] == []


def test_every_setting_and_kind_of_part_is_named() -> None:
    assert [name for name in Settings.__dataclass_fields__ if f"`{name}`" not in PAGE] == []
    assert [kind for kind in stored_parts.REGISTRIES if f"`{kind}/" not in PAGE] == []


def test_the_row_that_is_shown_is_summed_so() -> None:
    shown = re.search(r"`(t7:changes[^`]*)`", PAGE)
    assert shown is not None
    assert zlib.crc32(shown[1].encode()) == records.checksum("changes", (3, 2, "wren"))
