"""The evidence page: what was answered, how sure that is, and the examples that decided, one picture after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kcrc._base.words import about, file_name, percent, plural
from kcrc.report.case import Case, Part, every_part
from kcrc.report.html import Element, bar, element, fold, masthead, page, picture, table
from kcrc.report.seam import seam

# What would change the answer: it without the examples that count most for it.

MOST = 16  # examples that are left out, at most
SHOWN = 6  # of their pictures


@dataclass(frozen=True)
class WhatIf:
    """The class that would come nearest without some examples, and its probability (None: not known)."""

    without: tuple[int, ...]
    label: str
    chance: float | None


def what_ifs(case: Case, parts: Sequence[Part]) -> list[WhatIf]:
    """Without the strongest example alone; if that changes nothing, without as many of the strongest as it takes (by
    doubling, then halving the gap), or the most that are tried."""
    strongest = [part.id for part in parts if part.share > 0][:MOST]
    if case.without is None or not strongest:
        return []

    def suppose(count: int) -> WhatIf:
        assert case.without is not None
        return WhatIf(tuple(strongest[:count]), *case.without(strongest[:count]))

    first = last = suppose(1)
    count, enough = 1, first.label != case.best
    while not enough and count < len(strongest):
        count = min(2 * count, len(strongest))
        last = suppose(count)
        enough = last.label != case.best
    few = count // 2
    while enough and count - few > 1:
        middle = (few + count) // 2
        other = suppose(middle)
        if other.label != case.best:
            count, last = middle, other
        else:
            few = middle
    return [first] if last is first else [first, last]


def what_if_section(case: Case, parts: Sequence[Part], *, level: int) -> Element | None:
    """A card for each; None if it is not known."""
    answers = what_ifs(case, parts)
    if not answers:
        return None
    title = element(f"h{level}", "What would change its mind?")
    return element("section", title, element("div", [_card(case, one) for one in answers], class_="ifs"), class_="mind")


def _card(case: Case, one: WhatIf) -> Element:
    many = len(one.without)
    without = "Without the strongest example" if many == 1 else f"Without the {many} strongest examples"
    sure = "" if one.chance is None else f" {about(one.chance)}"
    changed = one.label != case.best
    answer = f"{one.label}{sure}" if changed else f"Still {one.label}{sure}"
    left = many - SHOWN
    shots = [picture(case.thumbnail_of(row), f"Example {row}, left out") for row in one.without[:SHOWN]]
    more = element("span", f"+{left}", title=plural(left, "more example")) if left > 0 else None
    return element(
        "div",
        element("p", without, class_="quiet"),
        element("p", element("strong", answer)),
        element("div", shots, more, class_="left-out"),
        class_="card changed" if changed else "card",
    )


CLASSES = 6  # with a bar
LINES = 100  # of the folded table of examples
LONG, LONGER = 16, 60  # characters of an answer, from which on it is written smaller
SURE, CLOSE = 0.995, 0.5


def evidence_page(
    cases: Sequence[Case], *, gallery: str, facts: Sequence[str] = (), top: int = 24, left: int = 0
) -> str:
    """The page about one or several answered images; it says that it has no room for ``left`` more."""
    title = f"Why “{cases[0].label}”?" if len(cases) == 1 else f"{len(cases)} answers, and what decided them"
    more = (
        f"{plural(left, 'more picture is', 'more pictures are')} not shown here: a page holds {len(cases)}."
        if left
        else None
    )
    one = len(cases) == 1
    return page(
        title,
        None if one else element("h1", title),
        element("p", more, class_="quiet") if more else None,
        None if one else _strip(cases),
        *(_article(case, top=top, level=1 if one else 2, name=f"p{at}") for at, case in enumerate(cases, 1)),
        element("p", cases[0].rests_on, class_="quiet") if not one and cases[0].rests_on else None,
        header=masthead(gallery, *facts),
    )


def _strip(cases: Sequence[Case]) -> Element:
    """The answers at a glance, each leading to its evidence."""
    links = [
        element("li", element("a", picture(case.picture, file_name(case.name)), _short(case), href=f"#p{at}"))
        for at, case in enumerate(cases, 1)
    ]
    return element("nav", element("ul", links, class_="strip"), aria_label="The answers")


def _short(case: Case) -> Element:
    chance = case.chance(case.label)
    return element("span", element("strong", case.label), "" if chance is None else f" {about(chance)}")


def _article(case: Case, *, top: int, level: int, name: str) -> Element:
    """One answered image: the answer, the examples that decided, the numbers folded away; beside them the picture and
    the chances. ``level`` is that of its heading."""
    chance = case.chance(case.label)
    sure = [] if chance is None else [" ", element("span", about(chance), class_="chance")]
    long = " longer" if len(case.label) > LONGER else " long" if len(case.label) > LONG else ""
    return element(
        "article",
        element(
            "div",
            element(
                "div",
                element(f"h{level}", case.label, *sure, class_=f"answer{long}"),
                element("p", lead(case), class_="lead"),
                class_="verdict",
            ),
            *_evidence(case, top=top, level=level + 1),
        ),
        element(
            "div",
            element(
                "figure",
                picture(case.picture, f"The picture in question, {file_name(case.name)}"),
                element("figcaption", file_name(case.name)),
                class_="asked",
            ),
            _chances(case, level + 1),
        ),
        class_="case",
        id=name,
    )


def evidence(case: Case, *, top: int, level: int) -> Element:
    """The examples that decided and the folded numbers alone, for a place that has said the rest."""
    return element("div", _evidence(case, top=top, level=level))


def _evidence(case: Case, *, top: int, level: int) -> list[Element]:
    parts = every_part(case, LINES)
    shown = element(
        "div",
        seam(case, parts, top=top, level=level),
        what_if_section(case, parts, level=level),
        class_="evidence",
    )
    return [shown, _numbers(case, parts, level)]


def lead(case: Case) -> str:
    """How sure the answer is, in one or two sentences."""
    if case.why is not None:
        return f"{case.why[:1].upper()}{case.why[1:]}. The class that comes nearest is {case.best}; do not rely on it."
    if case.how == "nearest":
        return "It resembles no class well; this is the class of the nearest example. Do not rely on it."
    p = case.likely()
    if not p:
        return f"{case.best} fits best." + (f" Next comes {case.rival}." if case.rival else "")
    right = dict(p)[case.label]
    others = [(name, chance) for name, chance in p if name != case.label]
    if others and others[0][1] >= CLOSE * right:
        return f"Too close to call: {others[0][0]} cannot be ruled out. {_wrong(1 - right)}"
    stands_out = others and (len(others) == 1 or others[0][1] >= 2 * others[1][1]) and right < SURE
    next_best = f" If it is wrong, it is most likely {others[0][0]}." if stands_out else ""
    return _wrong(1 - right) + next_best


def _wrong(share: float) -> str:
    if share <= 1 - SURE:
        return "Answers like this are almost never wrong."
    if share <= 1 / 3:
        return f"About 1 in {round(1 / share)} answers like this is wrong."
    return f"About {round(10 * share)} in 10 answers like this are wrong."


def _chances(case: Case, level: int) -> Element:
    """A bar for each class, longer is better: chances if they are known, else what each explains of the picture."""
    known = case.likely()
    title = "Chances" if known else "How much of it each class explains"
    values = known or sorted(case.explained_shares().items(), key=lambda pair: -pair[1])
    shown = [pair for at, pair in enumerate(values) if at < 2 or pair[1] >= 0.005][:CLASSES]
    rows = [
        element(
            "li",
            element("p", element("strong", name), element("span", percent(share)), class_="title"),
            bar(share, "for" if name == case.best else "against" if name == case.rival else ""),
        )
        for name, share in shown
    ]
    others = len(values) - len(shown)
    rest = sum(share for _, share in values[len(shown) :])
    few = f"{plural(others, 'other class', 'other classes')}: {percent(rest)}" + (" together." if others > 1 else ".")
    return element(
        "section",
        element(
            "div", element(f"h{level}", title), element("span", "longer is better", class_="quiet"), class_="title"
        ),
        element("ul", rows),
        element("p", few, class_="quiet") if others and known else None,
        element("p", case.rests_on, class_="quiet") if known and case.rests_on and level == 2 else None,
        class_="chances",
    )


def _numbers(case: Case, parts: Sequence[Part], level: int) -> Element:
    """The method's own numbers, for those who want them."""
    residuals = case.residuals()
    explained = case.explained_shares()
    compared = table(
        ("class", "chance", "explains", "residual"),
        [
            (
                name,
                "" if case.chance(name) is None else percent(case.chance(name) or 0.0),
                f"{explained.get(name, 0.0):.1%}",
                f"{value:.4g}",
            )
            for name, value in residuals[:LINES]
        ],
        numbers=(1, 2, 3),
    )
    sharers = [part for part in parts if part.share]
    several = any(part.near is not None for part in sharers)
    listed = table(
        ("example", "class", "share", "distance", *["looks"] * several, "file"),
        [
            (
                f"no. {part.id}",
                part.label,
                f"{part.share:+.1%}",
                f"{part.distance:.4g}",
                *["" if part.near is None else part.near.words] * several,
                file_name(part.source),
            )
            for part in sharers[:LINES]
        ],
        numbers=(2, 3),
    )
    apart = len(parts) - len(sharers)
    left = [f"{plural(len(sharers) - LINES, 'more has', 'more have')} smaller shares."] if len(sharers) > LINES else []
    left += [f"{plural(apart, 'near example is', 'near examples are')} of other classes, without a share."] * bool(
        apart
    )
    return fold(
        "The numbers behind it",
        element("p", case.evidence.sentences[0], class_="quiet"),
        element(f"h{level}", "Examples"),
        listed,
        element("p", " ".join(left), class_="quiet") if left else None,
        element(f"h{level}", "Classes"),
        compared,
        element("p", _READING + _LOOKS * several, class_="quiet"),
        class_="numbers",
    )


_READING = (
    "The picture is rebuilt from its nearest examples, all together. A share is an example's part in the answer, with "
    "a plus for it and a minus against it; without their signs all shares together are 100 %. What speaks for the "
    "runner-up speaks against the answer, and so does an example of the answer's own class that made the class fit "
    "worse. The residual of a class is what its examples leave unexplained, and the smallest wins; “explains” is the "
    "part of the picture that they rebuild by themselves. The distance is to the picture."
)
_LOOKS = (
    " Pictures are seen in several ways here, and an example is near by those looks that find the fewest others nearer."
)
