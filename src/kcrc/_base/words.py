"""Names from files and folders, made fit to be shown: they may hold anything a file system allows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def visible(text: Any) -> str:
    """Control characters, direction marks and lone surrogates as escapes; line breaks and tabs stay."""
    given = str(text)
    if given.replace("\n", "").replace("\t", "").isprintable():
        return given
    return "".join(c if c in "\n\t" or c.isprintable() else " " if c == "\xa0" else ascii(c)[1:-1] for c in given)


def one_line(text: Any) -> str:
    """The same, with line breaks and tabs as escapes too: a name does not leave its place in a line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def percent(share: float) -> str:
    """A probability in few characters, never rounded to certainty: 97.3%, <0.1%, >99.9%."""
    return "<0.1%" if share < 0.001 else ">99.9%" if share > 0.999 else f"{share:.1%}"


def counted(number: int, thing: str, several: str | None = None) -> str:
    """1 image, 2 images; ``several`` is the plural where it does not end in s: counted(2, "class", "classes")."""
    return f"{number} {thing if number == 1 else several or thing + 's'}"


def some_of(names: Sequence[str], most: int = 3) -> str:
    """The first names, and how many there are beside them: a, b, c and 4 more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def about(share: float) -> str:
    """A probability at a glance, in whole per cent and never certain: 97 %, < 1 %, > 99 %."""
    return "< 1 %" if share < 0.01 else "> 99 %" if share > 0.99 else f"{share:.0%}".replace("%", " %")


def whole_percents(shares: Sequence[float]) -> list[int]:
    """Shares of a whole in per cent that add up to 100: those that lose most by rounding down are rounded up."""
    exact = [100 * share / sum(shares) for share in shares]
    found = [int(value) for value in exact]
    lost = sorted(range(len(exact)), key=lambda at: found[at] - exact[at])
    for at in lost[: 100 - sum(found)]:
        found[at] += 1
    return found


def file_name(source: str) -> str:
    """The last part of a path, of any system."""
    return source.replace("\\", "/").rstrip("/").rpartition("/")[2] or source


def for_plot(text: Any, most: int = 40) -> str:
    """Text for matplotlib, which reads dollar signs as mathematics."""
    plain = visible(text).replace("\n", "\\n")
    return (plain if len(plain) <= most else plain[: most - 1] + "…").replace("$", r"\$")


def with_sign(share: float) -> str:
    """A share with its sign; where it rounds to nothing it has none."""
    told = f"{share:+.1%}"
    return "0.0%" if told in ("+0.0%", "-0.0%") else told
