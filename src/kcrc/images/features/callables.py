"""A user's own function from pictures to vectors, as a feature."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.validation import call_function, describe, to_numbers
from kcrc.errors import DataError, ParameterError, StateError
from kcrc.images.decoding.resizing import Fit, View
from kcrc.images.features.base import Feature, Pictures


class FunctionFeature(Feature):
    """v = function(pictures): takes a list of uint8 arrays and returns (n, d) numbers.

    ``name`` represents the function in fingerprints: change it whenever the vectors change. A function cannot be saved,
    so ``restore(state, function=...)`` needs it again.
    """

    kind: ClassVar[str] = "callable"
    only_speed: ClassVar[frozenset[str]] = frozenset({"function"})

    def __init__(
        self,
        function: Callable[[list[Array]], Any],
        *,
        name: str | None = None,
        size: tuple[int, int] | None = (224, 224),
        colour: bool = True,
        fit_to: Fit = "crop",
    ) -> None:
        self.function = function
        self.name = name
        self.size = size
        self.colour = colour
        self.fit_to = fit_to

    @property
    def view(self) -> View:
        return View(self.size, self.colour, self.fit_to)

    def _check(self) -> None:
        _ = self.view
        if not callable(self.function):
            raise ParameterError(
                f"function must be a function from a list of pictures to vectors; got {self.function!r}."
            )

    @property
    def dim(self) -> int:
        height, width = self.size or (224, 224)
        black = np.zeros((height, width, 3) if self.colour else (height, width), np.uint8)
        return int(self._vectors([black]).shape[1])

    def _vectors(self, batch: Pictures) -> Array:
        def about() -> str:
            return f"{len(batch)} pictures"

        wanted = f"it must return ({len(batch)}, d) numbers, one row per picture"
        value = call_function("function", self.function, about, list(batch))
        vectors = to_numbers("function", self.function, value, about, wanted)
        if vectors.ndim != 2 or len(vectors) != len(batch) or vectors.dtype.kind == "b":
            raise DataError(f"The function {self.function!r} returned {describe(vectors)} for {about()}; {wanted}.")
        with np.errstate(over="ignore"):
            narrow = vectors.astype(np.float32)
        if not np.isfinite(narrow).all():
            raise DataError(
                f"The function {self.function!r} returned NaN, infinite or too large numbers for {about()}; {wanted}, "
                "finite and at most 3e38."
            )
        return narrow

    def options(self) -> dict[str, Any]:
        known = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return {**super().options(), "name": self.name or f"{getattr(self.function, '__module__', '')}.{known}"}

    @classmethod
    def from_state_with(cls, state: Mapping[str, Any], function: Callable[..., Any] | None) -> FunctionFeature:
        """Restore the feature, given its function."""
        options: dict[str, Any] = dict(state.get("options") or {})
        if function is None:
            raise StateError(
                f"These vectors were made by the function {options.get('name')!r}, and functions cannot be saved. "
                "Give it again: restore(state, function=...)."
            )
        try:
            arguments: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
            restored = cls(function, **arguments)
            restored.check()
        except TypeError as problem:
            raise DataError(f"The state of the feature 'callable' is damaged: {problem}.") from problem
        return restored
