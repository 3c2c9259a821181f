from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcrc.files.plain_files import escape_formula, unescape_formula


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", " =x", "\r=x", "＝x", "'=x", "''  @x"])
def test_what_a_spreadsheet_would_run_has_a_quote_before_it(text: str) -> None:
    assert escape_formula(text) == f"'{text}"


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("bird;=1+1", "bird;'=1+1"),
        ("bird; =1+1;@x", "bird;' =1+1;'@x"),
        ("bird|-1", "bird|'-1"),
        ("\t=x", "'\t'=x"),
        ("bird\t=x", "bird\t'=x"),
        ("=x;'=x", "'=x;''=x"),
    ],
)
@pytest.mark.parametrize("ends", [";", "\t", "|"])
def test_so_has_what_begins_a_cell_where_others_end(text: str, cell: str, ends: str) -> None:
    assert escape_formula(text) == cell
    assert unescape_formula(cell) == text
    assert not any(part.lstrip().startswith(("=", "+", "-", "@")) for part in cell.split(ends))


@pytest.mark.parametrize("text", ["wren", "'tis", "a=b", "", "'", "3-4", "a;b=c", "a|'b", "a; 'tis", "a;"])
def test_what_it_would_not_stays(text: str) -> None:
    assert escape_formula(text) == unescape_formula(text) == text


@given(st.text(alphabet=st.one_of(st.sampled_from("'=+-@ \t\n;|"), st.characters())))
def test_every_text_comes_back(text: str) -> None:
    assert unescape_formula(escape_formula(text)) == text
