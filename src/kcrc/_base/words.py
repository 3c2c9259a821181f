"""Short texts: names that are safe to show, numbers with their nouns, percentages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def visible(text: Any) -> str:
    """Escape control characters, direction marks and lone surrogates, which file names may contain; line breaks and
    tabs stay."""
    raw = str(text)
    if raw.replace("\n", "").replace("\t", "").isprintable():
        return raw
    return "".join(c if c in "\n\t" or c.isprintable() else " " if c == "\xa0" else ascii(c)[1:-1] for c in raw)


def one_line(text: Any) -> str:
    """Escape line breaks and tabs too, so that a name stays in its line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def percent(share: float) -> str:
    """Write a probability with one decimal, never rounded to certainty: 97.3%, <0.1%, >99.9%."""
    return "<0.1%" if share < 0.001 else ">99.9%" if share > 0.999 else f"{share:.1%}"


def plural(number: int, thing: str, several: str | None = None) -> str:
    """Write a number with its noun: 1 image, 2 images; ``several`` is an irregular plural (class, classes)."""
    return f"{number} {thing if number == 1 else several or thing + 's'}"


def some_of(names: Sequence[str], most: int = 3) -> str:
    """List the first names and how many more there are: a, b, c and 4 more."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def about(share: float) -> str:
    """Write a probability in whole per cent, never rounded to certainty: 97 %, < 1 %, > 99 %."""
    return "< 1 %" if share < 0.01 else "> 99 %" if share > 0.99 else f"{share:.0%}".replace("%", " %")


def whole_percents(shares: Sequence[float]) -> list[int]:
    """Round shares to whole per cent that add up to 100: those that lose most by rounding down are rounded up."""
    exact = [100 * share / sum(shares) for share in shares]
    percents = [int(value) for value in exact]
    by_loss = sorted(range(len(exact)), key=lambda i: percents[i] - exact[i])
    for i in by_loss[: 100 - sum(percents)]:
        percents[i] += 1
    return percents


def file_name(source: str) -> str:
    """Return the last part of a path of any operating system."""
    return source.replace("\\", "/").rstrip("/").rpartition("/")[2] or source


def for_plot(text: Any, most: int = 40) -> str:
    """Escape text for matplotlib, which reads dollar signs as mathematics."""
    plain = visible(text).replace("\n", "\\n")
    return (plain if len(plain) <= most else plain[: most - 1] + "…").replace("$", r"\$")


def with_sign(share: float) -> str:
    """Write a share with its sign, or without one if it rounds to zero."""
    text = f"{share:+.1%}"
    return "0.0%" if text in ("+0.0%", "-0.0%") else text
