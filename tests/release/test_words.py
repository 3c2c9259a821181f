"""``.ci/words.py``: the library keeps to its words, and what does not is found with its place."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "words.py"
spec = importlib.util.spec_from_file_location("words", SCRIPT)
words = importlib.util.module_from_spec(spec)
spec.loader.exec_module(words)

MADE_UP = '''"""Two lines, and the index is made
anew."""

HINT = "Nobody reads this."  # whoever calls it

class Box:
    @property
    def _found(self):
        """The rows, some of
        whom are new."""

    async def told(self): ...

    def _fitted(self):
        def given(): ...

    def fitted_values(self): ...

    def embed(self): ...
'''
WRONG = [
    (2, 'says "anew"'),
    (4, 'says "Nobody"'),
    (4, 'says "whoever"'),
    (8, "has a function called _found"),
    (9, 'says "of whom"'),
    (12, "has a function called told"),
    (14, "has a function whose name is a bare participle: _fitted"),
    (15, "has a function whose name is a bare participle: given"),
]


def test_the_library_keeps_to_its_words() -> None:
    assert words.main(words.KCRC) == 0


def test_each_kind_is_found_with_its_line(tmp_path, capsys) -> None:
    file = tmp_path / "box.py"
    file.write_text(MADE_UP)
    assert sorted((line, what) for _, line, what in words.problems_in(tmp_path)) == WRONG
    assert words.main(tmp_path) == 1
    assert f"{file}:14: has a function whose name is a bare participle: _fitted\n" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["page.js", "page.css", "page.html", "k.cpp", "k.hpp"])
def test_other_languages_are_read_for_words(name, tmp_path) -> None:
    (tmp_path / name).write_text("// one of\n// whom it is\n")
    assert [(line, what) for _, line, what in words.problems_in(tmp_path)] == [(1, 'says "of whom"')]


def test_a_participle_stays_where_it_is_argued_for(tmp_path, monkeypatch) -> None:
    (tmp_path / "box.py").write_text("def fitted(): ...\ndef found(): ...\n")
    monkeypatch.setattr(words, "ARGUED", {("box.py", "fitted"): "a reason", ("box.py", "found"): "none is good enough"})
    assert [what for _, _, what in words.problems_in(tmp_path)] == ["has a function called found"]
    monkeypatch.setitem(words.ARGUED, ("box.py", "taken"), "it was there once")
    assert words.stale_in(tmp_path) == [".ci/words.py lists taken of box.py, which is not there"]
