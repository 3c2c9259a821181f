"""The audit as a page: what deserves a second look, its picture beside the pictures that speak against it."""

from __future__ import annotations

import datetime
import shlex
from typing import TYPE_CHECKING, Any

from kcrc.confidence.findings import Audit, Clash, Idle, Suspect, nearness
from kcrc.report.evidence_page import example_name
from kcrc.report.html import Element, element, page, picture
from kcrc.report.words import percent

if TYPE_CHECKING:
    from kcrc.gallery import Gallery


def audit_page(gallery: Gallery, found: Audit, *, top: int = 20) -> str:
    """The page; of each kind the ``top`` first findings."""
    heading, suspects, doubtful, clashes, idle = titles(found)
    stamp = f"{datetime.datetime.now():%Y-%m-%d %H:%M}"
    body: list[Any] = [
        element("h1", f"A second look at {found.examples} examples"),
        element("p", heading),
        element("p", f"The gallery {gallery.path.name} on {stamp}, by kcrc.", class_="quiet"),
    ]
    kinds: tuple[tuple[str, str, list[Any], Any], ...] = (
        (suspects, _ABOUT_SUSPECTS, found.mislabelled, _suspect),
        (doubtful, _ABOUT_DOUBTFUL, found.doubtful, _suspect),
        (clashes, _ABOUT_CLASHES, found.clashes, _clash),
        (idle, _ABOUT_IDLE, found.idle, _idle),
    )
    for title, about, findings, drawn in kinds:
        body.append(element("h2", title))
        if findings is found.clashes:
            body.append(element("p", unseen_words(found), class_="quiet") if found.unseen else None)
        if findings:
            body.append(element("p", about, class_="quiet"))
            cards = [drawn(gallery, one) for one in findings[:top]]
            body.append(element("ul", cards, class_="examples") if drawn is _idle else element("div", cards))
        if len(findings) > top:
            body.append(element("p", f"… and {len(findings) - top} more; kcrc audit --csv lists them all."))
    return page(f"Audit of {gallery.path.name}", *body)


_ABOUT_SUSPECTS = (
    "Each was asked as if it were not in the gallery, and the others together gave it another class; nothing near it "
    "speaks for its label. Where labels were mixed up by chance most of these are wrong; the likeliest come first. "
    "Beside it are the examples that spoke most for the other class, with the share each had in the answer."
)
_ABOUT_DOUBTFUL = (
    "They were given another class too, but lie near their own: hard pictures more often than wrong labels. Look at "
    "them before you change anything."
)
_ABOUT_CLASHES = "At least one label of each pair is wrong, or the picture shows both."
_ABOUT_UNSEEN = "{n} without a picture in the gallery: copies of them in another size are not looked for."
_ABOUT_IDLE = (
    "They were among the nearest examples of others and still had a part in no right answer. That is no mistake by "
    "itself: a rare view may be the only one of its kind. Those asked most often come first."
)


def unseen_words(found: Audit) -> str | None:
    """Which look-alikes were not looked for; None where every example has its picture."""
    n = f"{found.unseen} examples are" if found.unseen > 1 else "1 example is"
    return _ABOUT_UNSEEN.format(n=n) if found.unseen else None


def titles(found: Audit) -> tuple[str, str, str, str, str]:
    """The outcome in a sentence, and the headings of the four lists."""
    share = f" ({found.right / found.asked:.1%})" if found.asked else ""
    heading = (
        f"{found.right} of {found.asked} examples{share} are answered as they are labelled when they are asked as if "
        "they were not in the gallery."
    )
    wrong, doubtful, pairs, idle = (
        len(kind) for kind in (found.mislabelled, found.doubtful, found.clashes, found.idle)
    )
    never = "never had a part in a right answer"
    return (
        heading,
        _counted(wrong, "No example contradicts its label clearly", "1 example clearly contradicts its label")
        or f"{wrong} examples clearly contradict their label, the surest first",
        _counted(doubtful, "No example is in doubt", "1 example is in doubt")
        or f"{doubtful} examples are in doubt, the most doubtful first",
        _counted(
            pairs,
            "No two examples look the same under different labels",
            "1 pair looks almost the same, with two labels",
        )
        or f"{pairs} pairs look almost the same under different labels, the nearest first",
        _counted(idle, "Every example was of use to another, or was never asked", f"1 example {never}")
        or f"{idle} examples {never}, the most often asked first",
    )


def _counted(n: int, none: str, one: str) -> str | None:
    return none if n == 0 else one if n == 1 else None


def _figure(gallery: Gallery, example: int, label: str, words: str, kind: str | None = None) -> Element:
    stored = gallery.example(example)
    spoken = f"Example {example} of class {label}" + (f", {words}" if words else "")
    return element(
        "figure",
        picture(gallery.thumbnail(example), spoken),
        element(
            "figcaption",
            element("span", words, class_="share") if words else None,
            " " if words else None,
            label,
            element("br"),
            example_name(example, stored.source),
        ),
        class_=kind,
    )


def _suspect(gallery: Gallery, one: Suspect) -> Element:
    label, answer = str(one.label), str(one.answer)
    words = element(
        "div",
        element("p", element("strong", answer), " instead of ", element("strong", label), "?"),
        element("p", f"{percent(one.probability)} for {answer}, {percent(one.of_label)} for {label}."),
        _command(gallery, "relabel", one.row, "--label", answer),
        class_="words",
    )
    speakers = [
        element("li", _figure(gallery, row, answer, f"{share:+.0%}", "for" if share >= 0 else "against"))
        for row, share in one.because
    ]
    suspect = element("div", _figure(gallery, one.row, label, "", "doubted"), class_="examples")
    return element("article", suspect, words, element("ul", speakers, class_="examples"), class_="finding")


def _clash(gallery: Gallery, one: Clash) -> Element:
    pair = [
        element("li", _figure(gallery, row, str(label), "", "doubted"))
        for row, label in ((one.row, one.label), (one.other, one.other_label))
    ]
    words = element(
        "div",
        element("p", element("strong", one.label), " or ", element("strong", one.other_label), "?"),
        element("p", f"{nearness(one).capitalize()}."),
        _command(gallery, "remove", one.row),
        _command(gallery, "remove", one.other),
        class_="words",
    )
    return element("article", element("ul", pair, class_="examples"), words, class_="finding pair")


def _idle(gallery: Gallery, one: Idle) -> Element:
    return element("li", _figure(gallery, one.row, str(one.label), f"{one.asked} times asked,"))


def _command(gallery: Gallery, verb: str, example: int, *rest: str) -> Element | None:
    """What to type; left out where a name cannot be typed as it is shown."""
    line = shlex.join(["kcrc", verb, gallery.path.name, str(example), *rest])
    return element("p", element("code", line)) if line.isprintable() else None
