"""The words that src/kcrc keeps to: python .ci/words.py [FOLDER]. Fails with file:line for each that it does not.

- No text says "anew", "nobody", "whoever" or "of whom": again, no one, any program that, of which.
- No function is called asked, told, found, made or seen. That says that something happened, not what.
- No function's name is one bare participle: functions are verbs, their values nouns. ARGUED lists those that stay.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

KCRC = Path(__file__).resolve().parent.parent / "src" / "kcrc"
TEXTS = {".py", ".js", ".css", ".html", ".cpp", ".hpp"}

WORDS = re.compile(r"\b(anew|nobody|whoever|of[\s#/*]+whom)\b", re.IGNORECASE)
NEVER = {"asked", "told", "found", "made", "seen"}
PARTICIPLE = re.compile(
    r"[a-z]+ed|begun|born|bought|bound|brought|built|caught|chosen|dealt|done|drawn|fallen|felt|fought|given|gone|grown|"
    r"heard|held|hidden|hung|kept|known|laid|left|lent|lost|meant|met|paid|said|sent|shown|sold|sought|spent|spoken|"
    r"stood|struck|taken|taught|thought|thrown|torn|understood|woken|won|worn|wound|written"
)
VERBS = {"embed", "exceed", "feed", "need", "proceed", "seed", "shed", "speed"}  # end in -ed, and are none

# Participles that stay, each with its reason.
ARGUED = {
    ("images/datasets.py", "named"): "public since 1.0.0rc1: the labels of a data set by name",
}

Problem = tuple[Path, int, str]


def words_of(path: Path, text: str) -> Iterator[Problem]:
    for found in WORDS.finditer(text):
        yield path, text.count("\n", 0, found.start()) + 1, f'says "{" ".join(re.findall("[A-Za-z]+", found[0]))}"'


def is_participle(name: str) -> bool:
    return PARTICIPLE.fullmatch(name) is not None and name not in VERBS


def names_of(path: Path, text: str, place: str) -> Iterator[Problem]:
    """``place``: the path inside the folder, as ARGUED has it."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        name = node.name.strip("_")
        if name in NEVER:
            yield path, node.lineno, f"has a function called {node.name}"
        elif is_participle(name) and (place, node.name) not in ARGUED:
            yield path, node.lineno, f"has a function whose name is a bare participle: {node.name}"


def problems_in(folder: Path) -> list[Problem]:
    found: list[Problem] = []
    for path in sorted(path for path in folder.rglob("*") if path.suffix in TEXTS):
        text = path.read_text(encoding="utf-8")
        found += words_of(path, text)
        if path.suffix == ".py":
            found += names_of(path, text, path.relative_to(folder).as_posix())
    return found


def stale_in(folder: Path) -> list[str]:
    """What ARGUED lists and is no function there any more."""
    there = {
        (path.relative_to(folder).as_posix(), node.name)
        for path in {folder / place for place, _ in ARGUED}
        if path.exists()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef)
    }
    return [f".ci/words.py lists {name} of {place}, which is not there" for place, name in ARGUED.keys() - there]


def main(folder: Path) -> int:
    lines = [f"{path}:{line}: {what}" for path, line, what in problems_in(folder)]
    if folder == KCRC:
        lines += stale_in(folder)
    print(*lines, sep="\n", end="\n" if lines else "")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else KCRC))
