"""Fig. 4: MNIST, raw pixels, dictionaries of 100 to 1500 (paper, section 6.3.1)."""

from __future__ import annotations

from collections.abc import Sequence

from lab.experiments import sizes
from lab.experiments.base import Claim, Protocol, Run

TITLE = "Fig. 4: MNIST"
PROTOCOL: Protocol = {
    "settings": ({"dataset": "mnist", "feature": "none", "gallery": 200, "classes": 10},),
    "sizes": (10, 20, 50, 70, 100, 150),  # a class
    "local": ("KCRC-LCD", "CRC-LCD"),
    "global": ("KCRC-GD", "CRC-GD"),
    "learned": {},
    "learning": {},
    "largest_learned": 0,
    "galleries": (50, 100, 200),
    "neighbours": (50, 100, 200, 500, 1000),
    "seeds": 3,
    "queries": 1000,
    "local_work": 3e10,
    "least_queries": 250,
    "tuning_seconds": 10,
    "tune_at": 200,
}
QUICK: Protocol = {
    "sizes": (10, 20, 50), "galleries": (50, 200), "neighbours": (50, 200, 500), "seeds": 1, "queries": 300,
    "least_queries": 100, "tuning_seconds": 2,
}  # fmt: skip
STAND_IN: Protocol = {
    "settings": ({"dataset": "digits", "feature": "none", "gallery": 40, "classes": 10},),
    "sizes": (5, 10, 20), "galleries": (20, 40), "neighbours": (50, 100), "queries": 200,
}  # fmt: skip


CAUSE = (
    "A local dictionary of 1500 of the 2000 examples is nearly a global one, and 1500 examples are nearly as good as "
    "2000: on the same queries the two methods differ by less than the splits do."
)


def claims(runs: Sequence[Run], protocol: Protocol) -> list[Claim]:
    found = [
        sizes.best_at(runs, "KCRC-LCD", size * 10, f"KCRC-LCD is the best of the four at {size * 10}.", cause=CAUSE)
        for size in protocol["sizes"]
    ]
    found.append(sizes.flat_in_k(runs, "K has only a slight impact for a fixed gallery.", within=2.0))
    return found


NOTE = "The paper shows this figure as curves without numbers, so only what it says of them can be compared."
EXPERIMENT = sizes.experiment(
    "fig4", TITLE, "section 6.3.1, Fig. 4", PROTOCOL, QUICK, STAND_IN, claims=claims, note=NOTE
)
