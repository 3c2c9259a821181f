"""How many leave-one-out answers are enough to estimate accuracy, and what to say if there are fewer."""

from __future__ import annotations

from kcrc._base.words import plural

FEWEST = 8  # leave-one-out answers: with fewer, confidence is not calibrated and no label is doubted
PER_CLASS = 3  # examples per class, on average: with fewer, leaving one out removes half of its class, or all of it


def too_few_to_say(answers: int) -> str | None:
    """Return why so many leave-one-out answers do not tell the accuracy; None if they do."""
    if answers >= FEWEST:
        return None
    are = "is" if answers == 1 else "are"
    return f"{plural(answers, 'example')} {are} too few to say how often answers will be right: add more of each class"


def caution(answers: int, examples: int, classes: int) -> str | None:
    """Return a warning about the accuracy of so many leave-one-out answers; None if there are enough examples."""
    if (why := too_few_to_say(answers)) is not None:
        return why
    if examples >= PER_CLASS * classes:
        return None
    return "with one or two examples per class that says little: leaving one out takes away half of its class or more"
