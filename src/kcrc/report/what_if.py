"""What would change its mind? The answer as it would be without the examples that spoke most for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcrc._base.words import about, counted
from kcrc.report.case import Case, Part
from kcrc.report.html import Element, element, picture

MOST = 16  # examples that are thought away, at most
SHOWN = 6  # of their pictures


@dataclass(frozen=True)
class WhatIf:
    """The class that would come nearest without some examples, and its probability (None: not known)."""

    without: tuple[int, ...]
    label: str
    chance: float | None


def what_ifs(case: Case, parts: Sequence[Part]) -> list[WhatIf]:
    """Without the strongest example alone; where that changes nothing, without as many of the strongest as it takes,
    found by doubling and then halving the gap, or the most that are tried."""
    strongest = [part.id for part in parts if part.share > 0][:MOST]
    if case.without is None or not strongest:
        return []

    def asked(count: int) -> WhatIf:
        assert case.without is not None
        return WhatIf(tuple(strongest[:count]), *case.without(strongest[:count]))

    first = last = asked(1)
    count, enough = 1, first.label != case.best
    while not enough and count < len(strongest):
        count = min(2 * count, len(strongest))
        last = asked(count)
        enough = last.label != case.best
    few = count // 2
    while enough and count - few > 1:
        middle = (few + count) // 2
        tried = asked(middle)
        if tried.label != case.best:
            count, last = middle, tried
        else:
            few = middle
    return [first] if last is first else [first, last]


def what_if_section(case: Case, parts: Sequence[Part], *, level: int) -> Element | None:
    """A card for each; None where it is not known."""
    found = what_ifs(case, parts)
    if not found:
        return None
    title = element(f"h{level}", "What would change its mind?")
    return element("section", title, element("div", [_card(case, one) for one in found], class_="ifs"), class_="mind")


def _card(case: Case, one: WhatIf) -> Element:
    many = len(one.without)
    without = "Without the strongest example" if many == 1 else f"Without the {many} strongest examples"
    sure = "" if one.chance is None else f" {about(one.chance)}"
    changed = one.label != case.best
    answer = f"{one.label}{sure}" if changed else f"Still {one.label}{sure}"
    left = many - SHOWN
    shots = [picture(case.thumbnail_of(row), f"Example {row}, left out") for row in one.without[:SHOWN]]
    more = element("span", f"+{left}", title=counted(left, "more example")) if left > 0 else None
    return element(
        "div",
        element("p", without, class_="quiet"),
        element("p", element("strong", answer)),
        element("div", shots, more, class_="left-out"),
        class_="card changed" if changed else "card",
    )
