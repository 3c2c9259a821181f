"""What features and looks see, in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

WORDS = {
    "pixels": "grey values",
    "colour pixels": "coarse colours",
    "hog": "outlines",
    "fine hog": "fine outlines",
    "lbp": "texture",
    "colour": "colours",
    "coarse pyramid": "coarse visual words",
    "pyramid": "visual words",
    "embedding": "the network",
}


def in_words(look: str) -> str:
    """What a look sees; a look of the user's own goes by its name."""
    return WORDS.get(look, look)


def listed(looks: Iterable[str]) -> str:
    """Several of them: outlines, texture and colours."""
    *first, last = [in_words(look) for look in looks]
    return f"{', '.join(first)} and {last}" if first else last


def proportioned(weights: Mapping[str, float]) -> str:
    """Looks with their weights, the heaviest first, in tenths: outlines and texture, 7 to 3."""
    order = sorted(weights, key=lambda look: -weights[look])
    if len(order) == 1:
        return in_words(order[0])
    total = sum(weights.values())
    tenths = [max(1, round(10 * weights[look] / total)) for look in order]
    return f"{listed(order)}, {' to '.join(map(str, tenths))}"
