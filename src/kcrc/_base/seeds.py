"""From a caller's ``random_state`` to the one seed a fit works with."""

from __future__ import annotations

from typing import Any

import numpy as np

from kcrc.errors import ParameterError

LARGEST = 2**32 - 1  # what scikit-learn and NumPy's RandomState take


def seed_of(random_state: Any) -> int:
    """None is 0, a whole number is itself; of a RandomState or a Generator one number is drawn.

    Call it once a fit: drawn from again, it would give the parts of one fit different seeds.
    """
    if random_state is None:
        return 0
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31))
    if not isinstance(random_state, (int, np.integer)) or not 0 <= random_state <= LARGEST:
        raise ParameterError(
            f"random_state is None, a whole number from 0 to {LARGEST}, a numpy RandomState or a numpy Generator; "
            f"got {random_state!r}."
        )
    return int(random_state)


def check_seed(seed: int) -> None:
    """Raise a ParameterError for a whole number that is no seed."""
    if not 0 <= seed <= LARGEST:
        raise ParameterError(f"seed is a whole number from 0 to {LARGEST}; got {seed!r}.")
