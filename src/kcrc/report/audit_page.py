"""The audit as a page: what deserves a second look, between the pictures of its label and of what it looks like."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kcrc._base.words import file_name, plural
from kcrc.confidence.audit import Audit, Clash, Idle, Suspect, nearness
from kcrc.report.html import Element, Picks, element, facts_of, masthead, nearest_of_class, page, picture, shot

if TYPE_CHECKING:
    from kcrc.gallery import Gallery


# What an audit audit, in words: for the text and for the page.

ABOUT_SUSPECTS = (
    "Each was asked as if it were not in the gallery, and the others together gave it another class; nothing near it "
    "speaks for its label. Where labels were mixed up by chance most of these are wrong; the likeliest come first. "
    "Beside it are the examples that spoke most for the other class, with the share each had in the answer."
)
ABOUT_DOUBTFUL = (
    "They were given another class too, but not clearly: they lie near their own, which makes them hard pictures more "
    "often than wrong labels, or only one other example is of their class. Look at them before you change anything."
)
ABOUT_CLASHES = "At least one label of each pair is wrong, or the picture shows both."
_ABOUT_UNSEEN = "{n} without a picture in the gallery: copies of them in another size are not looked for."
ABOUT_IDLE = (
    "They were among the nearest examples of others and still had a part in no right answer. That is no mistake by "
    "itself: a rare view may be the only one of its kind. Those asked most often come first."
)


def unseen_words(audit: Audit) -> str | None:
    """Which look-alikes were not looked for; None if every example has its picture."""
    n = f"{audit.unseen} examples are" if audit.unseen > 1 else "1 example is"
    return _ABOUT_UNSEEN.format(n=n) if audit.unseen else None


def titles(audit: Audit) -> tuple[str, str, str, str, str]:
    """The outcome in a sentence, and the headings of the four lists."""
    sentences = [audit.not_asked] if audit.not_asked else []
    if audit.asked or not sentences:
        share = f" ({audit.right / audit.asked:.1%})" if audit.asked else ""
        sentences.insert(
            0,
            f"{audit.right} of {audit.asked} examples{share} are answered as they are labelled when each is asked as "
            "if it alone were not in the gallery.",
        )
    wrong, doubtful, pairs, idle = (
        len(kind) for kind in (audit.mislabelled, audit.doubtful, audit.clashes, audit.idle)
    )
    never = "never had a part in a right answer"
    return (
        " ".join(sentences),
        _by_number(wrong, "No example contradicts its label clearly", "1 example clearly contradicts its label")
        or f"{wrong} examples clearly contradict their label, the surest first",
        _by_number(doubtful, "No example is in doubt", "1 example is in doubt")
        or f"{doubtful} examples are in doubt, the most doubtful first",
        _by_number(
            pairs,
            "No two examples look the same under different labels",
            "2 examples look almost the same, with two labels",
        )
        or f"{pairs} pairs look almost the same under different labels, the nearest first",
        _by_number(idle, "Every example was of use to another, or was never asked", f"1 example {never}")
        or f"{idle} examples {never}, the most often asked first",
    )


def _by_number(n: int, none: str, one: str) -> str | None:
    return none if n == 0 else one if n == 1 else None


BESIDE = 6  # pictures on either side of a suspect
MOST = 100  # findings of a kind that a page has room for


def audit_page(gallery: Gallery, audit: Audit, *, top: int = 20) -> str:
    """The page; of each kind the ``top`` first findings."""
    top = min(top, MOST)
    heading, suspects, doubtful, clashes, idle = titles(audit)
    picks = Picks(gallery.name)
    sections = [
        _section(suspects, ABOUT_SUSPECTS, [_suspect(gallery, one, picks, on=True) for one in audit.mislabelled[:top]]),
        _section(doubtful, ABOUT_DOUBTFUL, [_suspect(gallery, one, picks, on=False) for one in audit.doubtful[:top]]),
        _section(
            clashes,
            ABOUT_CLASHES,
            [element("div", [_clash(gallery, one, picks) for one in audit.clashes[:top]], class_="pairs")]
            if audit.clashes
            else [],
            unseen_words(audit),
        ),
        _section(
            idle,
            ABOUT_IDLE,
            [element("ul", [_idle(gallery, one, picks) for one in audit.idle[:top]], class_="shots")]
            if audit.idle
            else [],
        ),
    ]
    more = max(len(kind) for kind in (audit.mislabelled, audit.doubtful, audit.clashes, audit.idle)) > top
    return page(
        f"Audit of {gallery.name}",
        element("h1", _headline(audit)),
        element("p", heading, class_="lead"),
        element("p", f"Of each kind the first {top} are shown; kcrc audit --csv lists all.", class_="quiet")
        if more
        else None,
        _strip(gallery, audit, top),
        *sections,
        *_commands(picks),
        header=masthead(gallery.name, *facts_of(gallery)),
        rules=picks.rules(),
    )


def _headline(audit: Audit) -> str:
    wrong = len(audit.mislabelled)
    if not audit.asked and audit.not_asked:
        return "No example could be asked yet."
    return f"{wrong} labels look wrong." if wrong > 1 else "1 label looks wrong." if wrong else "No label looks wrong."


def _strip(gallery: Gallery, audit: Audit, top: int) -> Element | None:
    """The suspects at a glance, each leading to its pictures."""
    links = [
        element(
            "li",
            element(
                "a",
                picture(gallery.thumbnail(one.row), f"Example {one.row} of class {one.label}"),
                element("span", element("strong", one.label), f", or {one.answer}?"),
                href=f"#e{one.row}",
            ),
        )
        for one in audit.mislabelled[:top]
    ]
    return (
        element("nav", element("ul", links, class_="strip"), aria_label="The labels that look wrong") if links else None
    )


def _section(title: str, about_them: str, cards: list[Element], unseen: str | None = None) -> Element:
    return element(
        "section",
        element("h2", title),
        element("p", about_them, class_="quiet") if cards else None,
        element("p", unseen, class_="quiet") if unseen else None,
        cards,
    )


def _suspect(gallery: Gallery, one: Suspect, picks: Picks, *, on: bool) -> Element:
    """The suspect in the middle, what has its label to the left, what it looks like to the right."""
    label, answer = str(one.label), str(one.answer)
    model = gallery.answering.answerer().model
    speakers = dict(one.because)
    alike = [*speakers, *(row for row in nearest_of_class(model, one.row, answer, count=BESIDE) if row not in speakers)]
    source = file_name(gallery.example(one.row).source)
    odds = f"{100 * one.probability:.0f} to {100 * one.of_label:.0f}"
    return element(
        "article",
        element("h3", f"Labelled {label}. Looks like {answer}."),
        element(
            "p", "Left out and asked again, the others call it ", element("strong", answer), f", {odds}.", class_="lead"
        ),
        element(
            "div",
            _side(
                gallery,
                "against",
                f"{label}: its label",
                nearest_of_class(model, one.row, label, count=BESIDE),
                label,
                {},
            ),
            element(
                "figure",
                picture(gallery.thumbnail(one.row), f"Example {one.row} of class {label}, the one in doubt"),
                element("figcaption", f"no. {one.row}" + (f" · {source}" if source else "")),
                class_="doubted",
            ),
            _side(gallery, "for", f"{answer}: what it looks like", alike[:BESIDE], answer, speakers),
            class_="between",
        ),
        picks.tick("relabel", one.row, f"Call it {answer}", label=answer, on=on),
        class_="card finding",
        id=f"e{one.row}",
    )


def _side(
    gallery: Gallery, kind: str, title: str, examples: list[int], label: str, shares: dict[int, float]
) -> Element:
    shots = [
        element("li", shot(gallery.thumbnail(row), f"Example {row} of class {label}", _caption(row, shares.get(row))))
        for row in examples
    ]
    content = (
        element("ul", shots, class_="shots") if shots else element("p", "No other example has it.", class_="quiet")
    )
    return element("div", element("h4", title), content, class_=f"beside {kind}")


def _caption(row: int, share: float | None) -> str:
    return f"no. {row}" + ("" if share is None else f" · {share:.0%}")


def _clash(gallery: Gallery, one: Clash, picks: Picks) -> Element:
    shots = [
        element(
            "li",
            shot(
                gallery.thumbnail(row),
                f"Example {row} of class {label}",
                element("strong", label),
                f" no. {row} · {file_name(gallery.example(row).source)}",
            ),
            picks.tick("remove", row, "Take it out"),
        )
        for row, label in ((one.row, str(one.label)), (one.other, str(one.other_label)))
    ]
    return element(
        "article",
        element("h3", f"{one.label} or {one.other_label}?"),
        element("p", f"{nearness(one).capitalize()}.", class_="quiet"),
        element("ul", shots, class_="shots"),
        class_="card",
    )


def _idle(gallery: Gallery, one: Idle, picks: Picks) -> Element:
    return element(
        "li",
        shot(
            gallery.thumbnail(one.row),
            f"Example {one.row} of class {one.label}, asked {one.asked} times in vain",
            element("strong", one.label),
            f" no. {one.row} · asked {plural(one.asked, 'time')}",
        ),
        picks.tick("remove", one.row, "Take it out"),
    )


def _commands(picks: Picks) -> list[Element]:
    commands = picks.commands()
    if commands is None:
        return []
    return [
        element(
            "p",
            element("span", class_="count"),
            " ticked · ",
            element("a", "what to type", href="#do"),
            class_="ticked",
        ),
        element(
            "section",
            element("h2", "What to type"),
            element(
                "p",
                "This is the command for what is ticked above. Look first; each line is one step, and kcrc undo takes "
                "it back.",
                class_="quiet",
            ),
            commands,
            id="do",
        ),
    ]
