"""The pages of the documentation as the tests read them: their blocks, their code in the line, their links."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {path.name: path for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md"))]}
FENCED = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^ *```$", re.M | re.S)


def text(page: str) -> str:
    return PAGES[page].read_text("utf-8")


def everything() -> str:
    """All pages as one text."""
    return "\n".join(text(page) for page in PAGES)


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a language; "" are those without one."""
    return [block for _, name, block in FENCED.findall(text(page)) if name == language]


def code_in_lines(page: str) -> list[str]:
    """What stands between single backticks in the text, breaks of lines made blanks."""
    return [" ".join(code.split()) for code in re.findall(r"(?<!`)`([^`]+)`(?!`)", FENCED.sub("", text(page)))]


def shell_lines(page: str) -> list[str]:
    """The lines of blocks that are typed into a shell, without comments."""
    lines = [line.strip() for language in ("", "sh", "bash") for block in blocks(page, language)
             for line in block.splitlines()]  # fmt: skip
    return [line for line in lines if re.match(r"([A-Z_]+=\S* )*(kcrc|python|make|pip) ", line)]


def words(line: str) -> list[str]:
    """A line of shell cut into words: the first command of it, without variables set before it and files behind it."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|;<>&")
    lexer.whitespace_split, lexer.commenters = True, "#"
    found: list[str] = []
    for word in lexer:
        if set(word) <= set("|;<>&"):
            break
        found.append(word)
    while found and re.fullmatch(r"[A-Z_]+=.*", found[0]):
        found = found[1:]
    return found


def numbers_and_words(printed: str) -> tuple[str, list[float]]:
    """What a program printed without its numbers, and these: the last digit of one may differ between machines."""
    pattern = r"\d+(?:\.\d*)?"
    words = re.sub(r"(?<=[+-])[+-]+", "", re.sub(pattern, "#", printed))  # a bar of signs is a number too
    return re.sub(r"\s+", " ", words), [float(number) for number in re.findall(pattern, printed)]
