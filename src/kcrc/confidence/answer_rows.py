"""All that is said of images, a flat row each: for the command line and for files of answers."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kcrc.confidence.answers import Answers


def rows_of(names: Sequence[str], found: Answers, *, top: int = 0) -> list[dict[str, Any]]:
    """All that is said of each image, in the order of the columns."""
    import numpy as np

    from kcrc.method.evidence import HOW

    evidence, sure = found.evidence, found.probability
    best, margin = evidence.labels.tolist(), evidence.margin.tolist()
    alone = np.isfinite(evidence.residuals).sum(axis=1) < 2
    second = evidence.classes[evidence.runner_up].tolist()
    rows = []
    for i, name in enumerate(names):
        row: dict[str, Any] = {
            "image": name,
            "label": str(found.labels[i]),
            "probability": None if isnan(sure[i]) else float(sure[i]),
            "unknown": bool(found.unknown[i]),
            "best": best[i],
        }
        if found.members is not None:
            row["set"] = list(found.set_of(i))
        if top:
            likeliest = itertools.islice(found.likely(i, least=0.0).items(), top)
            row["top"] = [{"label": label, "probability": share} for label, share in likeliest]
        row |= {"margin": margin[i], "runner_up": None if alone[i] else second[i], "how": HOW[evidence.how[i]]}
        rows.append({**row, "why": found.why[i], "probabilities": found.likely(i)})
    return rows


def columns(*, sets: bool, top: int) -> list[str]:
    """The columns of a table of rows."""
    likeliest = [name for place in range(1, top + 1) for name in (f"top_{place}", f"top_{place}_probability")]
    first = ["image", "label", "probability", "unknown", "best", *(["set"] if sets else []), *likeliest]
    return [*first, "margin", "runner_up", "how", "why"]


def in_columns(row: dict[str, Any]) -> dict[str, Any]:
    """The row with its likeliest classes in columns of their own."""
    found = dict(row)
    for place, one in enumerate(row.get("top", []), 1):
        found |= {f"top_{place}": one["label"], f"top_{place}_probability": one["probability"]}
    return found
