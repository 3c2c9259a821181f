"""How many examples, each asked as if it were not stored, say anything of others, and what is said of fewer."""

from __future__ import annotations

from kcrc._base.words import counted

FEWEST = 8  # below this nothing can be learned of confidence, and no label doubted
MATES = 3  # examples a class, on average: of fewer, one that is left out takes half of its class along, or all of it


def too_few_to_say(asked: int) -> str | None:
    """Why ``asked`` examples, each asked as if it were not there, say nothing of others; None where they do."""
    if asked >= FEWEST:
        return None
    are = "is" if asked == 1 else "are"
    return f"{counted(asked, 'example')} {are} too few to say how often answers will be right: add more of each class"


def caution(asked: int, examples: int, classes: int) -> str | None:
    """What to think of the share of right answers among ``asked`` of so many examples; None where there are enough."""
    if (why := too_few_to_say(asked)) is not None:
        return why
    if examples >= MATES * classes:
        return None
    return "with one or two examples of a class that says little: leaving one out takes away half of its class or more"
