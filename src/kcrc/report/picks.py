"""Findings to tick, and the commands for those that are ticked: style rules alone, no script, follow the ticks.

Of one command several examples are parts, so that what is ticked is few lines to copy, and few steps for kcrc undo.
Where a browser does not know the rules (``:has``), the commands are those of what is ticked to begin with.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field

from kcrc.report.html import Element, element


@dataclass
class Picks:
    """What can be ticked on a page, in the order it was made."""

    gallery: str
    lines: dict[tuple[str, str | None], list[tuple[int, bool]]] = field(default_factory=dict)

    def tick(
        self, verb: str, example: int, words: str, *, label: str | None = None, on: bool = False
    ) -> Element | None:
        """A box to tick for ``kcrc relabel`` or ``kcrc remove``; None where a name cannot be typed as it is shown."""
        if not (self.gallery + (label or "")).isprintable():
            return None
        line = self.lines.setdefault((verb, label), [])
        if any(number == example for number, _ in line):
            return element("p", "Its box is above.", class_="quiet")
        line.append((example, on))
        name = f"t{verb[:3]}{example}"
        group = f"g{list(self.lines).index((verb, label))}"
        checked = {"checked": "checked"} if on else {}
        box = element("input", type="checkbox", id=name, class_=group, **checked)
        return element("label", box, " ", words, class_="tick")

    def commands(self) -> Element | None:
        """The lines to copy; all are in the page, and those are seen that something is ticked for."""
        if not self.lines:
            return None
        written = []
        for at, ((verb, label), members) in enumerate(self.lines.items()):
            rest = [] if label is None else ["--label", label]
            ids = [
                element("span", f" {example}", class_=f"t{verb[:3]}{example}{'' if on else ' off'}")
                for example, on in members
            ]
            off = "" if any(on for _, on in members) else " off"
            before, after = shlex.join(["kcrc", verb, self.gallery]), " ".join(["", shlex.join(rest)]).rstrip()
            written.append(element("span", before, *ids, after, "\n", class_=f"line l{at}{off}"))
        return element("pre", element("code", written), class_="commands", tabindex="0")

    def rules(self) -> str:
        """The style rules of these ticks; they are made of numbers and verbs alone."""
        found = []
        for at, ((verb, _), members) in enumerate(self.lines.items()):
            found.append(f"main:has(.g{at}:checked) .l{at} {{ display: block; }}")
            found.append(f"main:not(:has(.g{at}:checked)) .l{at} {{ display: none; }}")
            for example, _ in members:
                name = f"t{verb[:3]}{example}"
                found.append(f"main:has(#{name}:checked) .{name} {{ display: inline; }}")
                found.append(f"main:has(#{name}:not(:checked)) .{name} {{ display: none; }}")
        return "\n".join(found)
