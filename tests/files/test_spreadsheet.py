from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kcrc.files.spreadsheet import guarded, unguarded


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", " =x", "\t=x", "\r=x", "＝x", "'=x", "''  @x"])
def test_what_a_spreadsheet_would_run_has_a_quote_before_it(text: str) -> None:
    assert guarded(text) == f"'{text}"


@pytest.mark.parametrize("text", ["wren", "'tis", "a=b", "", "'", "3-4"])
def test_what_it_would_not_stays(text: str) -> None:
    assert guarded(text) == unguarded(text) == text


@given(st.text(alphabet=st.one_of(st.sampled_from("'=+-@ \t\n"), st.characters())))
def test_every_text_comes_back(text: str) -> None:
    assert unguarded(guarded(text)) == text
