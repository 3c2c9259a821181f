"""What an audit found, in words: for the text and for the page."""

from __future__ import annotations

from kcrc.confidence.findings import Audit

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


def unseen_words(found: Audit) -> str | None:
    """Which look-alikes were not looked for; None where every example has its picture."""
    n = f"{found.unseen} examples are" if found.unseen > 1 else "1 example is"
    return _ABOUT_UNSEEN.format(n=n) if found.unseen else None


def titles(found: Audit) -> tuple[str, str, str, str, str]:
    """The outcome in a sentence, and the headings of the four lists."""
    sentences = [found.not_asked] if found.not_asked else []
    if found.asked or not sentences:
        share = f" ({found.right / found.asked:.1%})" if found.asked else ""
        sentences.insert(
            0,
            f"{found.right} of {found.asked} examples{share} are answered as they are labelled when they are asked as "
            "if they were not in the gallery.",
        )
    wrong, doubtful, pairs, idle = (
        len(kind) for kind in (found.mislabelled, found.doubtful, found.clashes, found.idle)
    )
    never = "never had a part in a right answer"
    return (
        " ".join(sentences),
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
