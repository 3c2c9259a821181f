"""An answer as the API gives it: label, chances and the examples that decided, in plain values."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from kcrc._base.words import file_name
from kcrc.confidence.answers import Answers
from kcrc.method.evidence import HOW
from kcrc.method.neighbours.base import EXACT
from kcrc.report.case import Case, every_part
from kcrc.report.evidence_page import lead
from kcrc.web.current import Current

SHOWN, OTHERS, LIKELY = 60, 24, 20  # examples with a share, without one, and classes


def case(current: Current, answers: Answers, name: str = "") -> Case:
    """One answer as reports show it, without its picture."""
    records = current.records
    return Case(
        name,
        answers.evidence,
        None,
        thumbnail_of=lambda _: None,
        source_of=lambda example: file_name(records[example].source) if example in records else "",
        probabilities=None if len(answers.evidence.classes) == 1 else answers.probabilities[0],
        why=answers.why[0],
    )


def verdict(
    current: Current, answers: Answers, *, learning: bool, before: Collection[int] | None = None, **more: Any
) -> dict[str, Any]:
    """The answer to one query, explained. ``label`` is the class that comes nearest, also where it is unknown;
    ``before`` are the examples that decided while none was left out."""
    one, told = answers.evidence, case(current, answers)
    parts = every_part(told, SHOWN)
    sharing = [part for part in parts if part.share]
    rest = sharing[SHOWN:]
    chance = float(answers.probability[0])
    return {
        "revision": current.revision,
        "label": told.best,
        "probability": None if np.isnan(chance) else chance,
        "unknown": told.why is not None,
        "why": told.why,
        "set": [] if answers.members is None else list(answers.set_of(0)),
        "likely": [[name, share] for name, share in answers.likely(0).items()][:LIKELY],
        "confidence": "learning" if learning else "ready",
        "how": HOW[one.how[0]],
        "search": one.search,
        "sentence": lead(told) if one.search == EXACT else f"{lead(told)} Approximate search: {one.search}.",
        "runner_up": told.rival,
        "support": float(one.support[0]),
        "exact_line": told.rival is not None,
        "parts": [
            {
                "id": part.id,
                "label": part.label,
                "share": part.share,
                "distance": part.distance,
                "source": part.source,
                "step_in": before is not None and part.id not in before,
            }
            for part in sharing[:SHOWN]
        ],
        "rest": {
            "count": len(rest),
            "count_for": sum(part.share > 0 for part in rest),
            "count_against": sum(part.share < 0 for part in rest),
            "share_for": sum(part.share for part in rest if part.share > 0),
            "share_against": -sum(part.share for part in rest if part.share < 0),
        },
        "others": [{"id": part.id, "label": part.label} for part in parts if not part.share][:OTHERS],
        **more,
    }


def short(answers: Answers) -> list[dict[str, Any]]:
    """Label, probability and whether it is unknown, of each query."""
    chances = answers.probability
    known = ~np.isnan(chances)
    return [
        {"label": str(label), "probability": float(chance) if sure else None, "unknown": bool(strange)}
        for label, chance, sure, strange in zip(answers.evidence.labels, chances, known, answers.unknown, strict=True)
    ]
