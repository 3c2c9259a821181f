"""The examples that something is learned from: all of them, or a sample where they are larger than memory.

Examples in a mapped file that is larger than the memory budget are looked at one after the other to store and to
search them, and no more. Parameters, a metric, the width of a kernel and how sure answers are come from a sample: those
of whom a number, drawn from the row number and the seed, is least. One that comes or goes outside it changes nothing of
what was learned, and one that leaves it makes room for the next: it is always the sample that a fit with the same
examples and row numbers would take.
"""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.mapped import is_mapped
from kcrc.method.fitted_model import FittedModel
from kcrc.tuning.left_out.sample import chance

MOST = 10_000
FEWEST = 500
SHARE = 64  # bytes of the memory budget to each value of the sample


def sample_size(X: Array, n: int, budget: int) -> int:
    """How many of n examples like those of X are looked at together: all, but where they are larger than memory."""
    width = X.shape[1]
    if not is_mapped(X) or n * width * X.itemsize <= budget:
        return n
    return min(n, int(np.clip(budget // (SHARE * width), FEWEST, MOST)))


def sample_rows(ids: Array, size: int, seed: int) -> Array:
    """The positions, rising, of the sample of ``size`` among examples with the row numbers ``ids``."""
    if size >= len(ids):
        return np.arange(len(ids))
    return np.sort(np.argpartition(chance(ids, seed), size)[:size])


def learns_from_all(model: FittedModel) -> bool:
    """Whether things are learned from all examples of a model."""
    return sample_size(model.raw, len(model), model.method.memory_budget) == len(model)


def learned_from(model: FittedModel) -> FittedModel:
    """The model of those that things are learned from, in memory."""
    if learns_from_all(model):
        return model
    rows = sample_rows(model.ids, sample_size(model.raw, len(model), model.method.memory_budget), model.method.seed)
    return FittedModel.build(model.method, model.raw[rows], model.classes, model.labels[rows], model.ids[rows])


def touches(model: FittedModel, positions: Array, gone: Array) -> bool:
    """Whether any example at ``positions`` is one of those that things are learned from; the ones at ``gone`` are none
    of them."""
    size = sample_size(model.raw, len(model) - len(gone), model.method.memory_budget)
    if size == len(model) - len(gone):
        return True
    there = np.delete(np.arange(len(model)), gone)
    return bool(np.isin(positions, there[sample_rows(model.ids[there], size, model.method.seed)]).any())
