"""The examples that something is learned from: all of them, or a sample where they are too many to be in memory.

Mapped examples are looked at one after the other to store and to search them, and no more. Parameters, a metric, the
width of a kernel and how sure answers are come from a sample: those of whom a number, drawn from the row number and the
seed, is least. One that comes or goes outside it changes nothing of what was learned, and one that leaves it makes room
for the next: it is always the sample that a fit with the same examples and row numbers would take.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from kcrc.arrays import Array
from kcrc.left_out.sample import chance
from kcrc.model import FittedModel
from kcrc.storage import MEMORY

MOST = 10_000
FEWEST = 500
SHARE = 64  # bytes of the memory budget to each value of the sample
NOBODY: Array = np.empty(0, np.intp)


def sample_size(width: int, budget: int) -> int:
    """How many examples of this width are looked at together."""
    return int(np.clip(budget // (SHARE * width), FEWEST, MOST))


def sample_rows(ids: Array, size: int, seed: int) -> Array:
    """The positions, rising, of the sample of ``size`` among examples with the row numbers ``ids``."""
    if size >= len(ids):
        return np.arange(len(ids))
    return np.sort(np.argpartition(chance(ids, seed), size)[:size])


def learned_from(model: FittedModel, gone: Array = NOBODY) -> FittedModel:
    """The model of those that things are learned from, in memory; the examples at ``gone`` are none of them."""
    if not model.storage.mapped:
        return model
    there = np.delete(np.arange(len(model)), gone) if len(gone) else np.arange(len(model))
    size = sample_size(model.raw.shape[1], model.method.memory_budget)
    rows = there[sample_rows(model.ids[there], size, model.method.seed)]
    stores = {key: store.taken(rows) for key, store in model.stores.items()}
    few = replace(model, labels=model.labels[rows], ids=model.ids[rows], stores=stores, index=None, storage=MEMORY)
    return few.searched()


def touches(model: FittedModel, positions: Array, gone: Array = NOBODY) -> bool:
    """Whether any example at ``positions`` is one of those that things are learned from, the ones at ``gone`` apart."""
    if not model.storage.mapped:
        return True
    there = np.ones(len(model), bool)
    there[gone] = False
    size = sample_size(model.raw.shape[1], model.method.memory_budget)
    rows = np.flatnonzero(there)[sample_rows(model.ids[there], size, model.method.seed)]
    return bool(np.isin(positions, rows).any())
