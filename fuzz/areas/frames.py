"""Tables of other programs as they are given to the classes: pandas, pyarrow and (where installed) polars frames."""

from __future__ import annotations

import importlib
import random
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd

from fuzz.area import Area, Wrong, register
from fuzz.mutation import NUMBERS
from fuzz.mutation import TEXTS as ALL_TEXTS
from fuzz.place import Place
from kcrc import KCRCClassifier
from kcrc.errors import KCRCError

_KINDS = [name for name in ("pandas", "pyarrow", "polars") if find_spec(name) is not None]
_N = 12
TEXTS = [text for text in ALL_TEXTS if text.isprintable()]  # the others are refused by pandas itself
_VALUES = [value for value in NUMBERS if isinstance(value, float)]


@register("frames", about="tables of pandas, pyarrow and polars", share=600)
class Frames(Area):
    expected = (KCRCError, ValueError, TypeError)  # scikit-learn's own checks of X and y raise these

    def plant(self, place: Place, rng: random.Random) -> tuple[Any, Any, Any]:
        names = rng.sample(["a", "b", "", *TEXTS[:12], *([0, 1.5, None] if rng.random() < 0.2 else [])], 3)
        values = np.random.default_rng(rng.getrandbits(32))
        frame = pd.DataFrame({name: _column(values, rng) for name in names})
        if rng.random() < 0.1:
            frame = frame[[*names, names[0]]]  # the same name twice
        labels = pd.Series(_labels(rng), name=rng.choice(["label", "", None]))
        other = frame if rng.random() < 0.6 else frame[frame.columns[::-1]]
        kind = rng.choice(_KINDS)
        return _as(frame, kind), _as(labels.to_frame("label"), kind), _as(other, kind)

    def use(self, place: Place, planted: tuple[Any, Any, Any]) -> None:
        X, labels, other = planted
        made = KCRCClassifier(n_neighbors=3, tuning_seconds=0.2, n_jobs=1).fit(X, labels["label"])
        answers = made.predict(other)
        if len(answers) != _N or not np.isin(answers, made.classes_).all():
            raise Wrong(f"answers that are no classes: {answers!r:.100}")
        repr(made.explain(other)[0])


def _column(values: np.random.Generator, rng: random.Random) -> Any:
    plain = values.standard_normal(_N)
    odd = plain.copy()
    odd[rng.randrange(_N)] = rng.choice(_VALUES)
    return rng.choice([
        plain, plain, plain, plain.astype("f4"), odd, np.arange(_N), plain > 0, plain.astype("f2"),
        pd.array([1, 2, None] * 4, "Int64"), pd.Categorical(["a", "b"] * 6), [rng.choice(TEXTS) for _ in range(_N)],
        pd.date_range("2020", periods=_N), [[1.0, 2.0]] * _N, [None] * _N, np.zeros(_N),
    ])  # fmt: skip


def _labels(rng: random.Random) -> Any:
    return rng.choice([
        ["wren", "owl"] * 6, ["wren", "owl"] * 6, pd.Categorical(["wren", "owl", "robin"] * 4), np.arange(_N) % 2,
        pd.array([1, 2] * 6, "Int64"), pd.array([1, None] * 6, "Int64"), [None, "owl"] * 6, [True, False] * 6,
        np.arange(_N) * 0.5, pd.array(["a", "b"] * 6, "string"), [rng.choice(TEXTS) for _ in range(_N)],
    ])  # fmt: skip


def _as(frame: pd.DataFrame, kind: str) -> Any:
    """The same table of another program; what that cannot hold stays as it is."""
    try:
        if kind == "pyarrow":
            import pyarrow

            return pyarrow.Table.from_pandas(frame, preserve_index=False)
        if kind == "polars":
            return importlib.import_module("polars").from_pandas(frame)
    except Exception:  # as many kinds as tables can be odd
        return frame
    return frame
