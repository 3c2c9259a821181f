"""Fig. 6: Caltech101, spatial-pyramid features, 5 to 30 a class (paper, section 6.3.3)."""

from __future__ import annotations

from collections.abc import Sequence

from lab.experiments import sizes
from lab.experiments.base import Claim, Protocol, Run

TITLE = "Fig. 6: Caltech101"
PROTOCOL: Protocol = {
    "settings": ({"dataset": "caltech101_spm", "feature": "none", "gallery": 30, "classes": 102},),
    "sizes": (5, 10, 15, 30),  # a class
    "local": ("KCRC-LCD",),
    "global": ("KCRC-GD", "CRC-GD", "KSRC-GD"),
    "learned": {"LC-KSVD": "LC-KSVD2", "D-KSVD": "D-KSVD"},
    "learning": {"n_iter": 5, "init_iter": 5, "sparsity": 30},
    "largest_learned": 10,
    "galleries": (15, 30),
    "neighbours": (100, 200, 510, 1020),
    "seeds": 2,
    "queries": 500,
    "local_work": 2.5e10,
    "least_queries": 200,
    "tuning_seconds": 15,
    "tune_at": 200,
}
QUICK: Protocol = {
    "sizes": (5, 30), "galleries": (30,), "neighbours": (100, 200, 510), "seeds": 1, "queries": 200,
    "least_queries": 60, "tuning_seconds": 4, "largest_learned": 0, "global": ("KCRC-GD", "CRC-GD"),
}  # fmt: skip
STAND_IN: Protocol = {
    "settings": ({"dataset": "digits", "feature": "none", "gallery": 20, "classes": 10},),
    "sizes": (5, 10), "galleries": (20,), "neighbours": (20, 50), "queries": 100,
}  # fmt: skip

CAUSE = (
    "On these features a learned dictionary is as good as a local one, or better: its atoms are as many, but made of "
    "all 3060 examples. The paper's figure is of other features, and names no weights of the terms its dictionaries "
    "were learned with."
)


def claims(runs: Sequence[Run], protocol: Protocol) -> list[Claim]:
    found = [
        sizes.best_at(runs, "KCRC-LCD", size * 102, f"KCRC-LCD is the best of all at {size * 102}.", cause=CAUSE)
        for size in protocol["sizes"]
    ]
    found.append(sizes.flat_in_k(runs, "Past a point, a larger K does not help much.", within=2.0))
    return found


NOTE = (
    "The paper shows this figure as curves without numbers. The features are our own spatial pyramids (dense SIFT, "
    "1024 words, LLC, 1+4+16 cells, PCA to 3000), not the published file the paper used."
)
EXPERIMENT = sizes.experiment(
    "fig6", TITLE, "section 6.3.3, Fig. 6", PROTOCOL, QUICK, STAND_IN, claims=claims, note=NOTE
)
