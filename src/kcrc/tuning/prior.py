"""What tends to win before anything is asked: where the walk begins, and what decides while evidence is weak.

With 2 to 8 examples a class left-out answers are few, and each comes from classes that are smaller by the one left
out. So a setting has to beat the prior's favourite by more than the noise of the answers, and by the more, the fewer
examples a class has. With two a class the prior decides alone: an example left out leaves a single one of its class,
and what wins there loses where there are two.

The study ``lab.experiments.studies.prior`` makes the table it rests on: 144 fixed settings, few examples of each class
of nine sets, six public and three made up; training rows only. Mean points below the best setting of each set:

    examples a class                                                2     4     8    16
    scaled, within own; 50 nearest, RBF, mu = 0.1, residual       2.4   2.3   2.4   2.2   the favourite
    the best of that number                                       2.3   1.9   2.4   2.0

"own" is the shrinkage d / (n − 1 + d), the RBF as wide as the data ("scale"). The best differ from it by less than the
table is sure of. Where all vectors have the same length nothing is to be scaled.
"""

from __future__ import annotations

from typing import Any

from kcrc.tuning.grid import Grid
from kcrc.tuning.setting import Setting

FAVOURITE: dict[str, Any] = {
    "locality": "atoms", "n_neighbors": 50, "kernel": "rbf", "gamma": "scale", "mu": 0.1, "form": "rkhs",
    "decision": "residual", "share": None,
}  # fmt: skip
FEWEST_MATES = 3  # examples a class, below which the prior decides alone
ERRORS = 16.0  # standard errors a setting has to be better by, over the number of examples a class


def favourite(grid: Grid) -> Setting | None:
    """What the prior holds best on this field, with what the caller fixed; None where it knows nothing of such."""
    field = grid.field
    if field.favoured is None or FAVOURITE["kernel"] not in field.kernels or field.whole:
        return None
    wanted = {**FAVOURITE, **grid.fixed}
    largest = field.largest if wanted["locality"] == "atoms" else field.n_classes
    scale = grid.geometry(field.favoured).scale
    gamma = scale if wanted["gamma"] == "scale" else float(wanted["gamma"])
    return Setting(field.favoured, **{**wanted, "gamma": gamma, "n_neighbors": min(wanted["n_neighbors"], largest)})


def errors_needed(mates: float) -> float:
    """Standard errors by which a setting has to beat the favourite where classes have so many examples."""
    return ERRORS / mates
