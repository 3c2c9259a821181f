"""Proof of what was forgotten, and of what is left.

The digest of the examples is a tree: one SHA-256 for every BLOCK of row numbers, over their numbers, labels and
vectors, and one over those together with the choices (names and numbers) that make the classifier. Forgetting one
example reads one block again and not all there are. Nothing of a forgotten example is in the digest of what is left.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.arrays import Array, as_python
from kcrc.classifier.stored_parts import encode
from kcrc.errors import DataError
from kcrc.method.fitted_model import FittedModel

BLOCK = 256
NONE = np.empty(0, np.intp)


@dataclass(frozen=True)
class Receipt:
    """Proof of what was forgotten, and of what is left: ``receipt_`` after ``forget``.

    Attributes
    ----------
    rows : tuple of int
        The row numbers that were forgotten.
    forgotten : str
        The SHA-256 of their numbers, labels and vectors, hexadecimal.
    state : str
        The SHA-256 of the examples and choices that were left.
    """

    rows: tuple[int, ...]
    forgotten: str
    state: str


class ExampleDigests:
    """SHA-256 of the stored examples by block of row numbers: a value, like the model it belongs to."""

    def __init__(self, blocks: dict[int, bytes]) -> None:
        self._blocks = blocks

    @classmethod
    def of(cls, model: FittedModel, gone: Array = NONE) -> ExampleDigests:
        return cls({}).after(model, model.ids, gone)

    def after(self, model: FittedModel, changed: Array, gone: Array = NONE) -> ExampleDigests:
        """Those of ``model`` without the examples at the positions ``gone``, where only the rows numbered ``changed``
        came, went or are not known yet."""
        blocks = dict(self._blocks)
        for block in np.unique(np.asarray(changed) // BLOCK).tolist():
            start, stop = np.searchsorted(model.ids, [block * BLOCK, (block + 1) * BLOCK])
            left = np.setdiff1d(np.arange(start, stop), gone)
            if len(left):
                blocks[block] = digest_of(model, left)
            else:
                blocks.pop(block, None)
        return ExampleDigests(blocks)

    def state(self, chosen: bytes) -> str:
        """The digest of all examples and of the ``choices``."""
        whole = hashlib.sha256(chosen)
        for block in sorted(self._blocks):
            whole.update(block.to_bytes(8, "little") + self._blocks[block])
        return whole.hexdigest()


def digest_of(model: FittedModel, positions: Array) -> bytes:
    """SHA-256 of the examples at ``positions``: numbers, labels, vectors as they were given."""
    vectors = np.ascontiguousarray(model.raw[positions])
    digest = hashlib.sha256(f"{vectors.dtype.str} {vectors.shape}\n".encode())
    digest.update(model.ids[positions].astype("<i8").tobytes())
    for number in model.labels[positions].tolist():
        name = _spell(model.classes[number])
        digest.update(len(name).to_bytes(8, "little") + name)
    digest.update(vectors.tobytes())
    return digest.digest()


def receipt_for(model: FittedModel, positions: Array, left: str) -> Receipt:
    """The receipt for the examples at ``positions`` of the model they were in; ``left`` is the state without them."""
    rows: Iterable[int] = model.ids[positions].tolist()
    return Receipt(tuple(rows), digest_of(model, positions).hex(), left)


def _spell(label: Any) -> bytes:
    """A label with its kind: the number 1 and the name "1" differ."""
    value = as_python(label)
    return f"{type(value).__name__} {value!r}".encode("utf-8", "surrogatepass")


def choices(parameters: Mapping[str, Any], chosen: Any) -> bytes:
    """The parameters of a classifier and what was chosen for those left open, spelled out: nothing in it was learned
    from the examples but by choosing."""
    told: dict[str, Any] = {"chosen": None if chosen is None else vars(chosen)}
    for name, value in parameters.items():
        try:
            told[name] = encode(value, name, {})
        except DataError:  # a function, or a part of the user's own: by its name
            told[name] = getattr(value, "__qualname__", type(value).__qualname__)
    return json.dumps(told, sort_keys=True, default=str).encode()
