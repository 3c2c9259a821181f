"""The advice as a page: are there examples enough, which classes need more, and what to label next."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kcrc._base.words import file_name, plural
from kcrc.confidence.advice import Advice, ClassAdvice
from kcrc.confidence.learning_curve import Gain, Point
from kcrc.confidence.likeness import Likeness
from kcrc.report.html import Element, bar, element, facts_of, masthead, page, picture, shot, unlike_notice

if TYPE_CHECKING:
    from kcrc.gallery import Gallery


# The learning curve as a drawing: accuracy by examples, the band it lies in, and where twice as many would take it.
#
# Lines and bands are drawn in a square of 100 and stretched; numbers are texts beside it, of one size on every screen.


def learning_curve(points: Sequence[Point], doubled: Gain) -> Element:
    """Sizes stand side by side, each twice the one before it; colours are the page's own."""
    now = points[-1]
    expected = (min(1.0, max(0.0, now.accuracy + gain)) for gain in (doubled.likely, doubled.low, doubled.high))
    sizes = [*points, Point(2 * now.examples, *expected)]
    last = len(points) - 1
    floor = min(0.9, int(10 * min(point.low for point in sizes)) / 10)

    def x(at: int) -> float:
        return 100.0 * at / (len(sizes) - 1)

    def y(share: float) -> float:
        return 100.0 * (1.0 - share) / (1.0 - floor)

    def line(first: int, end: int, kind: str) -> Element:
        places = [(x(at), y(sizes[at].accuracy)) for at in range(first, end + 1)]
        return element("polyline", points=_places(places), class_=kind, vector_effect="non-scaling-stroke")

    def band(first: int, end: int, kind: str) -> Element:
        high = [(x(at), y(sizes[at].high)) for at in range(first, end + 1)]
        low = [(x(at), y(sizes[at].low)) for at in range(end, first - 1, -1)]
        return element("polygon", points=_places([*high, *low]), class_=kind)

    marks: list[Any] = []
    for share in _ticks(floor):
        height = f"top: {y(share):.2f}%"
        marks.append(element("span", class_="rule", style=height))
        marks.append(element("span", f"{100 * share:.0f}", class_="height", style=height))
    for at, point in enumerate(sizes):
        words = f"{point.examples} now" if at == last else str(point.examples)
        marks.append(element("span", words, class_="size", style=f"left: {x(at):.2f}%"))
    marks.append(element("span", class_="dot", style=f"left: {x(last):.2f}%; top: {y(now.accuracy):.2f}%"))
    drawing = element(
        "svg",
        band(0, last, "measured"),
        band(last, last + 1, "expected"),
        line(0, last, "curve"),
        line(last, last + 1, "curve ahead"),
        viewBox="0 0 100 100",
        preserveAspectRatio="none",
    )
    inside = element("div", marks, drawing, class_="plot", aria_hidden="true")
    return element("div", inside, class_="card learning", role="img", aria_label=_description(sizes))


def _ticks(floor: float) -> list[float]:
    """Where rules are drawn: few, at round numbers."""
    step = 0.25 if floor < 0.5 else 0.1 if floor < 0.8 else 0.05
    return [1.0 - step * at for at in range(int((1.0 - floor) / step + 1e-9) + 1)]


def _places(pairs: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{across:.2f},{down:.2f}" for across, down in pairs)


def _description(sizes: Sequence[Point]) -> str:
    *known, ahead = sizes
    words = ", ".join(f"{point.examples} examples {point.accuracy:.0%}" for point in known)
    return f"Right answers by number of examples: {words}; {ahead.examples} examples likely {ahead.accuracy:.0%}."


HELPS = 0.01  # of accuracy, likely gained by ten more examples of a class: less is called enough
NAMED = 3  # classes in the headline
CLASSES = 200  # that a page has room for


def advice_page(
    gallery: Gallery,
    advice: Advice,
    *,
    names: Sequence[str] = (),
    picture_of: Callable[[str], bytes | None] = lambda name: None,
    alike: Likeness | None = None,
) -> str:
    """The page; ``names`` are the unlabelled images that the advice is about, ``picture_of`` shows one."""
    needy = [one for one in advice.classes if (one.ten_more or 0.0) >= HELPS]
    shown = _next(advice, names, picture_of) if advice.label_next else []
    content = [*_growth(advice), *_needs(gallery, advice, needy), *shown]
    return page(
        f"Enough examples in {gallery.name}?",
        element("h1", _headline(advice, needy)),
        element("p", _lead(advice), class_="lead"),
        unlike_notice(alike, names, picture_of),
        element("div", element("div", content), _steps(gallery, advice, needy), class_="halves"),
        header=masthead(gallery.name, *facts_of(gallery)),
    )


def _headline(advice: Advice, needy: Sequence[ClassAdvice]) -> str:
    if advice.doubled is None:
        return "Too few examples to say what more would bring."
    if not needy:
        return "Enough: more examples are likely to bring little."
    names = [str(one.name) for one in needy[:NAMED]]
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    more = f", and {len(needy) - NAMED} more" if len(needy) > NAMED else ""
    return f"Not quite: {listed}{more} would gain by more examples."


def _lead(advice: Advice) -> str:
    return (
        f"{advice.right:.1%} of {plural(advice.asked, 'example')} are answered right by the others, each with "
        "itself left out."
    )


def _growth(advice: Advice) -> list[Element]:
    """The learning curve, if there is one."""
    if advice.doubled is None:
        return []
    words = (
        "Right answers of 100, by the number of examples. The bands hold the truth in 9 of 10 cases: blue what was "
        "measured with so many stored, grey what twice as many are likely to bring."
    )
    drawing = learning_curve(advice.curve, advice.doubled)
    return [element("h2", "More examples, more right answers"), drawing, element("p", words, class_="quiet")]


def _needs(gallery: Gallery, advice: Advice, needy: Sequence[ClassAdvice]) -> list[Element | None]:
    """The classes that need examples most first, then those that have enough."""
    enough = [one for one in advice.classes if one not in needy]
    title = "Enough: more of these will hardly help"
    if advice.doubled is None:
        title, enough = (
            "Classes, the weakest first",
            sorted(enough, key=lambda one: (one.right is None, one.right or 0.0)),
        )
    parts: list[Element | None] = []
    if needy:
        parts += [element("h2", "Classes by need"), _classes(gallery, needy[:CLASSES])]
    if enough:
        parts += [element("h2", title), _classes(gallery, enough[:CLASSES])]
    left = max(0, len(needy) - CLASSES) + max(0, len(enough) - CLASSES)
    more = f"{plural(left, 'more class', 'more classes')}: kcrc advise --json lists all."
    return [*parts, element("p", more, class_="quiet") if left else None]


def _classes(gallery: Gallery, classes: Sequence[ClassAdvice]) -> Element:
    rows = []
    for one in classes:
        name = str(one.name)
        ids = gallery.find(label=name)
        thumbnail = gallery.thumbnail(ids[len(ids) // 2]) if ids else None
        right = "not asked" if one.right is None else f"{100 * one.right:.0f} of 100 right"
        taken = ", ".join(f"{other} {count}" for other, count in one.confused)
        facts = [plural(one.examples, "example")]
        facts += [f"taken for {taken}"] if taken else ["none mistaken"] if one.right is not None else []
        gain = f"+{100 * one.ten_more:.1f}" if (one.ten_more or 0.0) >= HELPS and one.ten_more is not None else None
        rows.append(
            element(
                "li",
                picture(thumbnail, f"An example of class {name}"),
                element(
                    "div",
                    element("p", element("strong", name), element("span", right), class_="title"),
                    bar(one.right or 0.0, "for"),
                    element(
                        "p",
                        element("span", " · ".join(facts)),
                        element("span", f"ten more: {gain} points", class_="gain") if gain else None,
                        class_="title quiet",
                    ),
                ),
            )
        )
    return element("ul", rows, class_="classes")


def _next(advice: Advice, names: Sequence[str], picture_of: Callable[[str], bytes | None]) -> list[Element]:
    """The images to label next, each with its reason."""
    shots = []
    for one in advice.label_next:
        name = file_name(names[one.row])
        caption = (element("strong", one.why), element("br"), name)
        shots.append(element("li", shot(picture_of(names[one.row]), f"To label: {name}", *caption)))
    about_them = "Those that are answered wrong most likely come first; of pictures that are alike there is one."
    return [
        element("h2", "Label these next", id="next"),
        element("p", about_them, class_="quiet"),
        element("ul", shots, class_="shots"),
    ]


def _steps(gallery: Gallery, advice: Advice, needy: Sequence[ClassAdvice]) -> Element:
    """What to do, the cheapest first."""
    steps: list[Element] = []
    mistaken = sum(count for one in advice.classes for _, count in one.confused)
    command = f"kcrc audit {shlex.quote(gallery.name)} --open"
    if mistaken:
        steps.append(
            _step(
                "Look at the labels",
                element(
                    "p", f"No new picture is needed: the others call {plural(mistaken, 'example')} by another name."
                ),
                element("p", element("code", command)) if command.isprintable() else None,
            )
        )
    if advice.label_next:
        link = element("a", plural(len(advice.label_next), "picture"), href="#next")
        steps.append(_step("Label what is doubtful", element("p", link, " would teach it most.")))
    if needy:
        gains = [
            element("li", element("strong", one.name), f": likely {100 * (one.ten_more or 0.0):.1f} of 100 more right")
            for one in needy[:NAMED]
        ]
        words = element("p", "Ten more of each, unlike those you have:")
        steps.append(_step("Photograph the weak classes", words, element("ul", gains)))
    if not steps:
        steps.append(_step("Nothing", element("p", "Use it, and look again when the pictures change.")))
    return element("aside", element("h2", "What to do next"), element("ol", steps, class_="steps"))


def _step(title: str, *inside: Element | None) -> Element:
    return element("li", element("h3", title), *inside, class_="card")
