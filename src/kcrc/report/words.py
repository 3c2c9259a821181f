"""Names from files and folders, made fit to be shown: they may hold anything a file system allows."""

from __future__ import annotations

from typing import Any


def visible(text: Any) -> str:
    """Control characters, direction marks and lone surrogates as escapes; line breaks and tabs stay."""
    return "".join(c if c in "\n\t" or c.isprintable() else " " if c == "\xa0" else ascii(c)[1:-1] for c in str(text))


def for_plot(text: Any, most: int = 40) -> str:
    """Text for matplotlib, which reads dollar signs as mathematics."""
    plain = visible(text).replace("\n", "\\n")
    return (plain if len(plain) <= most else plain[: most - 1] + "…").replace("$", r"\$")
