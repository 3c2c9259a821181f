"""From pictures to vectors: ``names()``, ``make(name, **options)``, ``restore(state)``.

Importing this is light; the file of a feature is imported when the feature is made.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kcrc.errors import DataError, ParameterError, UnknownName

if TYPE_CHECKING:
    from kcrc.features.base import Feature

_FILES = {
    "pixels": "linear",
    "random-faces": "linear",
    "eigenfaces": "linear",
    "hog": "hog",
    "lbp": "lbp",
    "colour": "colour",
    "pyramid": "pyramid",
    "embedding": "embedding",
    "onnx": "onnx",
    "vectors": "vectors",
}


def names() -> tuple[str, ...]:
    """The names ``make`` knows, sorted."""
    return tuple(sorted(_FILES))


def _load(name: str) -> None:
    if name not in _FILES:
        raise UnknownName("feature", name, _FILES)
    importlib.import_module(f"kcrc.features.{_FILES[name]}")


def make(name: str, **options: Any) -> Feature:
    """The feature called ``name``; an option it does not take is an error that lists those it does."""
    _load(name)
    from kcrc.features.base import registry

    return registry.make(name, **options)


def restore(
    state: Mapping[str, Any],
    *,
    function: Callable[..., Any] | None = None,
    model: str | os.PathLike[str] | None = None,
) -> Feature:
    """The fitted feature that ``feature.state()`` described; ``function`` where it was made from one, ``model`` where
    it was made from a network file (of the user's choice: a state is no reason to open a file)."""
    name = state.get("feature")
    if model is not None and name != "onnx":
        raise ParameterError(f"The feature {name!r} needs no network file; leave out the model {os.fspath(model)!r}.")
    if not isinstance(state.get("options", {}), Mapping):
        raise DataError(f"The state of the feature {str(name)[:40]!r} is damaged: its options have no names.")
    if name == "callable":
        from kcrc.features.callables import FunctionFeature

        return FunctionFeature.from_state_with(state, function)
    if name == "looks":
        from kcrc.features.joined import JoinedLooks

        return JoinedLooks.from_state(state)
    if not isinstance(name, str) or name not in _FILES:
        raise DataError(f"The state names the feature {name!r}. Known: {', '.join(names())}.")
    _load(name)
    from kcrc.features.base import registry

    maker: Any = registry.maker(name)
    restored: Feature = maker.from_state(state, model=model) if name == "onnx" else maker.from_state(state)
    return restored


def resolve(spec: str | Feature | Callable[..., Any], **options: Any) -> Feature:
    """A name, a Feature, or a function from a list of pictures to vectors -> a Feature."""
    if isinstance(spec, str):
        return make(spec, **options)
    from kcrc.features.base import Feature
    from kcrc.features.callables import FunctionFeature

    if isinstance(spec, Feature):
        return spec
    if callable(spec):
        return FunctionFeature(spec, **options)
    raise ParameterError(f"feature is a name, a Feature or a function; got {spec!r}. Names: {', '.join(names())}.")


__all__ = ["make", "names", "resolve", "restore"]
