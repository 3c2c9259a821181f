"""Fig. 5: Extended Yale B, 504 random faces, dictionaries of 380 to 1216 (paper, section 6.3.2)."""

from __future__ import annotations

from collections.abc import Sequence

from lab.experiments import sizes
from lab.experiments.base import Claim, Protocol, Run

TITLE = "Fig. 5: Extended Yale B"
PROTOCOL: Protocol = {
    "settings": ({"dataset": "yaleb", "feature": "random-faces", "gallery": 32, "classes": 38},),
    "sizes": (10, 15, 20, 25, 32),  # a class
    "local": ("KCRC-LCD",),
    "global": ("KCRC-GD", "CRC-GD", "SRC-GD"),
    "learned": {"LC-KSVD": "LC-KSVD2", "D-KSVD": "D-KSVD"},
    "learning": {"n_iter": 20, "init_iter": 10, "sparsity": 30},
    "largest_learned": 32,
    "galleries": (20, 32),
    "neighbours": (50, 100, 200, 380, 760),
    "seeds": 3,
    "queries": 400,
    "local_work": 3e10,
    "least_queries": 200,
    "tuning_seconds": 10,
    "tune_at": 200,
}
QUICK: Protocol = {
    "sizes": (10, 32), "galleries": (32,), "neighbours": (50, 200, 380), "seeds": 1, "queries": 150,
    "least_queries": 60, "tuning_seconds": 3, "learning": {"n_iter": 5, "init_iter": 5, "sparsity": 15},
    "largest_learned": 10,
}  # fmt: skip
STAND_IN: Protocol = {
    "settings": ({"dataset": "digits", "feature": "none", "gallery": 20, "classes": 10},),
    "sizes": (5, 10), "galleries": (20,), "neighbours": (20, 50), "queries": 100,
    "learning": {"n_iter": 3, "init_iter": 3},
}  # fmt: skip


def claims(runs: Sequence[Run], protocol: Protocol) -> list[Claim]:
    smallest, largest = min(protocol["sizes"]) * 38, max(protocol["sizes"]) * 38
    return [
        sizes.best_at(runs, "KCRC-LCD", smallest, f"KCRC-LCD is the best at the smallest dictionary, {smallest}."),
        sizes.no_lead_at(runs, "KCRC-LCD", largest, f"At {largest} KCRC-LCD no longer stands out."),
        sizes.flat_in_k(runs, "The ceiling is reached at K = 380.", within=1.0, from_k=380),
    ]


NOTE = (
    "The paper shows this figure as curves without numbers, so only what it says of them can be compared. "
    "The weights of D-KSVD and LC-KSVD are the library's defaults for samples of unit length."
)
EXPERIMENT = sizes.experiment(
    "fig5", TITLE, "section 6.3.2, Fig. 5", PROTOCOL, QUICK, STAND_IN, claims=claims, note=NOTE
)
