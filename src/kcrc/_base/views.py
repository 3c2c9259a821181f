"""Multi-view samples: a dict of arrays, one per view, stored side by side as one array.

``Views`` is such a dict that can be indexed by rows, as scikit-learn's tools do. A layout says where each view is:
name -> (first column, column after the last, shape of one sample's view).
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, UnknownName

Layout = dict[str, tuple[int, int, tuple[int, ...]]]


class Views:
    """Views of n samples by name: ``views["pixels"]`` is one of them, ``views[rows]`` are all of them, of some samples.

    For ``fit`` and ``predict`` a dict is enough. ``cross_val_score``, ``GridSearchCV``, ``train_test_split`` and the
    like index samples by rows, which ``Views(the_dict)`` supports. ``shape`` is (n, numbers per sample).

    Parameters
    ----------
    views : mapping of str to array, or Views
        An array for each view, all of the same n samples.

    Raises
    ------
    DataError
        If the views have different numbers of samples.

    Examples
    --------
    >>> import numpy as np
    >>> from kcrc import Views
    >>> faces = Views({"pixels": np.zeros((5, 8, 8)), "age": np.ones((5, 1))})
    >>> faces.shape, faces[[0, 3]]["pixels"].shape
    ((5, 65), (2, 8, 8))
    """

    def __init__(self, views: Mapping[str, Any] | Views) -> None:
        layout = layout_of(views)
        self._views = {name: _array(name, view) for name, view in views.items()}
        _check_counts(self._views)
        self._width = max(stop for _, stop, _ in layout.values())

    @property
    def shape(self) -> tuple[int, int]:
        """(n, all numbers of one sample)."""
        return len(self), self._width

    def __len__(self) -> int:
        return len(next(iter(self._views.values())))

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            if key not in self._views:
                raise UnknownName("view", key, self._views)
            return self._views[key]
        if isinstance(key, tuple) and len(key) == 2 and key[1] is ...:  # views[rows, ...]: all of each sample
            key = key[0]
        if isinstance(key, tuple):
            raise DataError(f"Views can only be indexed by rows, views[rows], or by name; got {key!r}.")
        if isinstance(key, int | np.integer):
            key = [key]
        return Views({name: view[key] for name, view in self._views.items()})

    def __contains__(self, name: object) -> bool:
        return name in self._views

    def __iter__(self) -> Iterator[str]:
        return iter(self._views)

    def items(self) -> ItemsView[str, Array]:
        """Names and arrays of the views.

        Returns
        -------
        items of str and ndarray
            As of a dict.

        Examples
        --------
        >>> [name for name, view in faces.items()]
        ['pixels', 'age']
        """
        return self._views.items()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        raise DataError(f"Views are several arrays. Take one by its name: {', '.join(self._views)}.")

    def __repr__(self) -> str:
        return f"Views of {len(self)} samples: {', '.join(f'{n} {v.shape[1:]}' for n, v in self._views.items())}"


def are_views(X: Any) -> bool:
    """Return whether samples come as views. A sparse matrix may be a dict too, but is not views."""
    return isinstance(X, Views) or (isinstance(X, Mapping) and not hasattr(X, "shape"))


def layout_of(X: Mapping[str, Any] | Views) -> Layout:
    """Return where the views of samples are once they are side by side, in the order of the dict."""
    if isinstance(X, Mapping) and not X:
        raise DataError("X is an empty dict. Give at least one view, name -> array.")
    layout: Layout = {}
    start = 0
    for name, view in X.items():
        if not isinstance(name, str):
            raise DataError(f"The name of a view must be a text; got {name!r}.")
        shape = _array(name, view).shape[1:]
        layout[name] = (start, start + prod(shape), tuple(int(side) for side in shape))
        start = layout[name][1]
    return layout


def join_views(X: Mapping[str, Any] | Views, layout: Layout) -> Array:
    """Return (n, d), the views of n samples side by side."""
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
    _check_counts(dict(zip(layout, parts, strict=True)))
    return np.concatenate(parts, axis=1)


def _check_counts(views: Mapping[str, Array]) -> None:
    counts = {name: len(view) for name, view in views.items()}
    if len(set(counts.values())) > 1:
        raise DataError(
            f"The views differ in their number of samples: {', '.join(f'{n} {c}' for n, c in counts.items())}."
        )


def _array(name: str, view: Any) -> Array:
    array = np.asarray(view)
    if array.ndim < 2 or array.dtype.kind not in "biuf":
        raise DataError(
            f"The view '{name}' must be an array of numbers with the samples as rows; got shape {array.shape}, "
            f"type {array.dtype}."
        )
    return array
