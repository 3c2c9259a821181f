"""Splits by seed: so many of each class to learn from, the others to ask."""

from __future__ import annotations

import numpy as np

from kcrc.arrays import Array
from kcrc.errors import DataError, ParameterError


def split_per_class(labels: Array, n_train: int, seed: int = 0, *, n_test: int | None = None) -> tuple[Array, Array]:
    """``n_train`` rows of each class drawn by ``seed``, and the rest (or ``n_test`` of it, a class).

    Returns (train rows, test rows), both ascending. A class with no more than ``n_train`` rows is an error:
    none would be left to ask. The draw of one class does not depend on which other classes there are.

    Parameters
    ----------
    labels : array of shape (n,)
        The labels.
    n_train : int
        Rows of each class to train with.
    seed : int, default=0
        Of the draw.
    n_test : int or None, default=None
        Rows of each class to test with; None takes the rest.

    Returns
    -------
    tuple of ndarray and ndarray
        Train rows and test rows, both ascending.

    Raises
    ------
    ParameterError
        Where a number is below 1.
    DataError
        Where a class has too few rows.

    Examples
    --------
    >>> import numpy as np
    >>> from kcrc import datasets
    >>> train, test = datasets.split_per_class(np.repeat([0, 1], 10), 3)
    >>> len(train), len(test)
    (6, 14)
    """
    labels = np.asarray(labels)
    if n_train < 1:
        raise ParameterError(f"n_train is at least 1; got {n_train!r}.")
    if n_test is not None and n_test < 1:
        raise ParameterError(f"n_test is at least 1, or None for all the rest; got {n_test!r}.")
    needed = n_train + (1 if n_test is None else n_test)
    train, test = [], []
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        if len(rows) < needed:
            raise DataError(
                f"The class {label!s} has {len(rows)} samples; {n_train} to train and "
                f"{needed - n_train} or more to test need {needed}. Lower n_train."
            )
        # Seeded by (seed, class) so that dropping a class leaves the others' draws alone.
        rng = np.random.default_rng([seed, *str(label).encode()])
        drawn = rng.permutation(rows)
        train.append(drawn[:n_train])
        test.append(drawn[n_train : None if n_test is None else n_train + n_test])
    return np.sort(np.concatenate(train)), np.sort(np.concatenate(test))


def subset_per_class(labels: Array, n: int, seed: int = 0) -> Array:
    """Up to ``n`` rows of each class drawn by ``seed``, ascending; smaller classes keep all they have.

    Parameters
    ----------
    labels : array of shape (n,)
        The labels.
    n : int
        The most rows of a class.
    seed : int, default=0
        Of the draw.

    Returns
    -------
    ndarray
        The rows, ascending.

    Raises
    ------
    ParameterError
        Where n is below 1.

    Examples
    --------
    >>> import numpy as np
    >>> from kcrc import datasets
    >>> len(datasets.subset_per_class(np.repeat([0, 1], 10), 3))
    6
    """
    labels = np.asarray(labels)
    if n < 1:
        raise ParameterError(f"n is at least 1; got {n!r}.")
    kept = []
    for label in np.unique(labels):
        rng = np.random.default_rng([seed, *str(label).encode()])
        kept.append(rng.permutation(np.flatnonzero(labels == label))[:n])
    return np.sort(np.concatenate(kept)) if kept else np.empty(0, np.intp)
