"""The paper's tables and figures, each from one command: ``names()``, ``load(name)``, ``python -m lab reproduce``.

Importing this is light: an experiment's file is imported when it is asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from kcrc.errors import UnknownName

if TYPE_CHECKING:
    from lab.experiments.base import Experiment

NAMES = ("table1", "fig3", "fig4", "fig5", "fig6", "fig7", "table2", "tables34", "table5", "beyond", "family")
# Other names a reader of the paper may look for.
ALSO = {"fig2": "table1", "fig8": "table2", "table3": "tables34", "table4": "tables34"}


def names() -> tuple[str, ...]:
    """The experiments, in the order of the paper; the last two go beyond it."""
    return NAMES


def load(name: str) -> Experiment:
    """The experiment called ``name``, or the one that a table or figure of that name comes from."""
    name = ALSO.get(name, name)
    if name not in NAMES:
        raise UnknownName("experiment", name, (*NAMES, *ALSO, "all"))
    experiment: Experiment = importlib.import_module(f"lab.experiments.{name}").EXPERIMENT
    return experiment


__all__ = ["load", "names"]
