"""The warning that pictures are not like the examples, on a page: what it means for the answers, and who shows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kcrc._base.words import file_name
from kcrc.confidence.likeness import Likeness
from kcrc.report.html import Element, element
from kcrc.report.pieces import shot

SHOWN = 6  # pictures


def unlike_notice(
    found: Likeness | None, names: Sequence[str], picture_of: Callable[[str], bytes | None]
) -> Element | None:
    """None where nothing shows that the pictures, in the order of their names, are unlike the examples."""
    if found is None or not found.alarm:
        return None
    shots = [
        element(
            "li",
            shot(picture_of(names[row]), f"It shows the difference: {file_name(names[row])}", file_name(names[row])),
        )
        for row in found.rows[:SHOWN]
    ]
    return element(
        "section",
        element("h2", f"These {found.queries} pictures are not like the examples."),
        element(
            "p", f"They are {found.different}. What is promised for pictures like the examples becomes, for these:"
        ),
        element(
            "ul",
            element("li", f"wrong answers: {found.wrong};"),
            element("li", f"sets that hold the true class: {found.covered};"),
            element("li", f"called unknown by --reject: {found.unknown:.1%} instead of 5.0%."),
        ),
        element("p", "These show it most:", class_="quiet"),
        element("ul", shots, class_="shots"),
        class_="notice",
    )
