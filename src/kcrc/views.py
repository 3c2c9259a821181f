"""Samples that are seen in several ways: a dict of arrays, one a view, kept side by side as one array.

A layout says where each view stands: name -> (first column, column behind the last, shape of one sample's view).
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from kcrc.errors import DataError
from kcrc.prepared import Array

Layout = dict[str, tuple[int, int, tuple[int, ...]]]


def are_views(X: Any) -> bool:
    """Whether samples come as a dict of views (a sparse matrix may be a dict too, and is none)."""
    return isinstance(X, Mapping) and not hasattr(X, "shape")


def layout_of(X: Mapping[str, Any]) -> Layout:
    """Where the views of samples stand once they are side by side, in the order of the dict."""
    if not X:
        raise DataError("X is an empty dict; give at least one view, name -> array.")
    layout: Layout = {}
    start = 0
    for name, view in X.items():
        if not isinstance(name, str):
            raise DataError(f"Views go by names (texts); got {name!r}.")
        shape = _array(name, view).shape[1:]
        layout[name] = (start, start + prod(shape), tuple(int(side) for side in shape))
        start = layout[name][1]
    return layout


def joined(X: Mapping[str, Any], layout: Layout) -> Array:
    """(n, d) from the views of n samples."""
    missing = [name for name in layout if name not in X]
    unknown = [name for name in X if name not in layout]
    if missing or unknown:
        wrong = f"lacks the view '{missing[0]}'" if missing else f"has the view {unknown[0]!r}, which is not known"
        raise DataError(f"X {wrong}. The views are: {', '.join(layout)}.")
    parts = []
    for name, (_, _, shape) in layout.items():
        view = _array(name, X[name])
        if view.shape[1:] != shape:
            raise DataError(f"The view '{name}' has samples of shape {view.shape[1:]}; expected {shape}.")
        parts.append(view.reshape(len(view), prod(shape)))
    counts = {name: len(part) for name, part in zip(layout, parts, strict=True)}
    if len(set(counts.values())) > 1:
        raise DataError(
            f"The views differ in their number of samples: {', '.join(f'{n} {c}' for n, c in counts.items())}."
        )
    return np.concatenate(parts, axis=1)


def _array(name: str, view: Any) -> Array:
    array = np.asarray(view)
    if array.ndim < 2 or array.dtype.kind not in "biuf":
        raise DataError(
            f"The view '{name}' is an array of numbers with the samples as rows; got shape {array.shape}, "
            f"type {array.dtype}."
        )
    return array
