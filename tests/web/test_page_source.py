"""The page's own files: small, plain, without anything from elsewhere, and with every word in one place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kcrc.web

PAGE = Path(kcrc.web.__file__).parent / "page"
FILES = sorted(path for path in PAGE.iterdir() if path.is_file())
CODE = [path for path in FILES if path.suffix in (".js", ".css")]
SAID = re.compile(r'\b(?:line|say)\(\s*"(\w+)"')


def test_all_files_together_are_small() -> None:
    assert sum(path.stat().st_size for path in FILES) < 300_000


@pytest.mark.parametrize("path", CODE, ids=lambda path: path.name)
def test_a_file_is_short_enough_to_read(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 300
    assert [at for at, text in enumerate(lines, 1) if len(text) > 120] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_nothing_comes_from_elsewhere(path: Path) -> None:
    addresses = set(re.findall(r"(?:https?:)?//[\w.-]+\.[a-z]{2,}[^\s\"']*", path.read_text(encoding="utf-8")))
    assert addresses <= {"http://www.w3.org/2000/svg"}


def test_nothing_is_inline() -> None:
    html = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|style=|\son\w+=|<script(?![^>]*\ssrc=)", html)


@pytest.mark.parametrize("path", CODE, ids=lambda path: path.name)
def test_no_text_becomes_markup_or_code(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text)


@pytest.mark.parametrize("path", CODE, ids=lambda path: path.name)
def test_modules_that_are_imported_are_there(path: Path) -> None:
    wanted = set(re.findall(r'from "\./([\w.]+)"', path.read_text(encoding="utf-8")))
    assert wanted <= {one.name for one in FILES}


def test_every_word_said_is_in_the_texts() -> None:
    texts = (PAGE / "texts.js").read_text(encoding="utf-8")
    known = set(re.findall(r"(?:^|[,{]\s)\s*(\w+):", texts, re.MULTILINE))
    used = {name for path in CODE if path.name != "texts.js" for name in SAID.findall(path.read_text(encoding="utf-8"))}
    assert used <= known
    assert len(used) > 100


def test_the_words_are_plain() -> None:
    texts = (PAGE / "texts.js").read_text(encoding="utf-8")
    words = " ".join(re.findall(r'"([^"]*)"', texts)).lower()
    assert not re.search(r"residual|kernel|neighbou?r|coefficient|calibrat", words)
