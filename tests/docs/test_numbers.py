"""Every measured number names the command that made it, or says where else it came from."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from docs.pages import FENCED, PAGES, text

FIGURE = re.compile(
    r"(?<![\w.^–-])(?!100 ?%|1 times)\d[\d.,]*(?: to \d[\d.,]*)? ?"
    r"(?:%|(?:ns|µs|ms|MB|GB|kB|times)\b|(?<= )(?:s|seconds|minutes)\b|×(?! ?\d))"
)
COMMAND = re.compile(
    r"python -m (?:lab (?:bench|reproduce)\b|lab\.|fuzz\b)|python (?:lab/benchmarks|tests)/[\w/]+\.py"
    r"|make (?:bench|demo|fuzz|reproduce|sanitize|examples)\b"
)
ELSEWHERE = re.compile(r"measured once[^.]*\bat commit [0-9a-f]{7}")
NOT_MEASURED = {
    ("confidence.md", "How sure"): "what a probability means",
    ("confidence.md", "Sets"): "what a coverage means",
    ("confidence.md", "Unknown"): "what a share means",
    ("confidence.md", "When the promises do not hold"): "the level of a test",
    ("evidence.md", "In words"): "what the block of code above it prints",
    ("gallery.md", "Evaluate"): "the level of an interval",
    ("gallery.md", "In and out"): "a limit of the program",
    ("no-knobs.md", "Other pictures than the examples"): "the level of a test",
    ("no-knobs.md", "Audit: what is behind it"): "thresholds of the program",
    ("page.md", "How it is made"): "a bound that tests/web/test_page_source.py holds",
    ("photographs.md", "Ask"): "what a probability means",
    ("postgres.md", "Who wins"): "a limit of the program",
    ("postgres.md", "When the server goes away"): "a limit of the program",
    ("search.md", "How many of the nearest it finds"): "the share that the program aims at",
    ("security.md", "What is promised"): "limits of the tests and of the program",
    ("serve.md", "Limits"): "limits of the program",
    ("start.md", "With vectors of your own"): "what the block of code above it prints",
}
"""Sections whose figures nobody measured, and what they are."""


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it, up to the next; ``above`` is what its parents say before their first part."""

    page: str
    title: str
    body: str
    above: str

    @property
    def figures(self) -> list[str]:
        prose = re.sub(r"`[^`]*`", "", FENCED.sub("", self.body))
        return FIGURE.findall(prose)

    @property
    def sourced(self) -> bool:
        told = f"{self.above}\n{self.body}"
        return bool(COMMAND.search(told) or ELSEWHERE.search(" ".join(told.split())))


def sections(page: str, whole: str) -> list[Section]:
    marked = FENCED.sub(lambda block: block[0].replace("\n#", "\n\\#"), whole)  # a comment is no heading
    found: list[Section] = []
    above: dict[int, str] = {}
    for piece in re.split(r"^(?=#+ )", marked, flags=re.M):
        head = re.match(r"(#+) (.*)", piece)
        level, title = (len(head[1]), head[2]) if head else (0, "")
        above = {depth: body for depth, body in above.items() if depth < level}
        found.append(Section(page, title, piece, "\n".join(above.values())))
        above[level] = piece
    return found


@pytest.mark.parametrize("page", PAGES)
def test_a_number_names_what_made_it(page):
    unsourced = {part.title: part.figures for part in sections(page, text(page)) if part.figures and not part.sourced}
    assert {title: found for title, found in unsourced.items() if (page, title) not in NOT_MEASURED} == {}


def test_what_is_not_measured_is_there():
    parts = {(page, part.title) for page in PAGES for part in sections(page, text(page)) if part.figures}
    assert set(NOT_MEASURED) - parts == set()


def bare(page: str) -> list[str]:
    return [part.title for part in sections("a page", page) if part.figures and not part.sourced]


def test_a_number_without_a_source_is_found():
    assert bare("# Fast\n\nA query takes 36 µs.\n") == ["Fast"]
    assert bare("# Right\n\n## Digits\n\n| set | right |\n|---|---|\n| digits | 99.2 % |\n") == ["Digits"]
    assert bare("# Small\n\n## One\n\n`python -m lab bench`\n\n## Two\n\nIt takes 95 MB, 3 times less.\n") == ["Two"]


def test_a_number_with_a_source_is_fine():
    assert bare("# Fast\n\n`python -m lab bench --part queries`\n\n## One query\n\nIt takes 36 µs.\n") == []
    assert bare("# Fast\n\nA query took 36 µs (measured once, on two cores, at commit 0123abc).\n") == []
    assert bare("# Sizes\n\nPieces of 4,096 vectors, K = 50, 200,000 × 128, `predict(reject=0.05)`.\n") == []
