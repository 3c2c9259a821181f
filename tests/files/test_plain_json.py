from __future__ import annotations

import json

import pytest

from kcrc.files.plain_files import read_json


@pytest.mark.parametrize("value", [None, True, 3, -0.5, "zaunkönig", [1, [2]], {"a": {"b": []}}, 10**30])
def test_what_was_written_is_read(value) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert read_json(text) == read_json(text.encode()) == value


@pytest.mark.parametrize(
    "text",
    ["", "{", "NaN", "[Infinity]", '{"a": -Infinity}', "[" * 100_000, b"\xff", b"\xed\xa0\x80", "1" * 5000, "'x'"],
)
def test_anything_else_is_a_value_error(text) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (each has words of its own)
        read_json(text)
