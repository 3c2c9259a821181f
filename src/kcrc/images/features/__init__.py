"""From pictures to vectors: ``names()``, ``make(name, **options)``, ``restore(state)``.

Importing this is light; the file of a feature is imported when the feature is made. ``register(name)`` adds another.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kcrc._base.registry import Registry
from kcrc.errors import DataError, ParameterError

if TYPE_CHECKING:
    from kcrc.images.features.base import Feature
    from kcrc.images.features.vectors import VectorTable, read_vectors

_HOMES = {
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
registry: Registry[Feature] = Registry(
    "feature", {name: f"kcrc.images.features.{file}" for name, file in _HOMES.items()}
)


names = registry.names
register = registry.register


def make(name: str, **options: Any) -> Feature:
    """Make the feature called ``name``, or the encoder that ``hub:OWNER/NAME`` names on a model hub.

    An unknown option is an error that lists the known ones.

    Parameters
    ----------
    name : str
        A name of ``names()``.
    **options : object
        Its options.

    Returns
    -------
    Feature
        Not fitted yet.

    Raises
    ------
    UnknownName
        If there is no such feature.
    ParameterError
        If it has no such option, or an option has an invalid value.

    Examples
    --------
    >>> from kcrc import features
    >>> features.make("hog")
    HOG()
    """
    if isinstance(name, str) and name.startswith("hub:"):
        from kcrc.images.features.hub import from_hub

        return from_hub(name, **options)
    feature = registry.make(name, **options)
    if options:
        feature.check()
    return feature


def restore(
    state: Mapping[str, Any],
    *,
    function: Callable[..., Any] | None = None,
    model: str | os.PathLike[str] | None = None,
) -> Feature:
    """Restore the fitted feature that ``feature.state()`` described.

    A feature made from a function needs the ``function`` again, and one made from a network file the ``model``: a state
    from an unknown source must not decide which file is opened.

    Parameters
    ----------
    state : mapping of str to object
        The result of ``feature.state()``.
    function : callable or None, default=None
        The function it was made from.
    model : str, path or None, default=None
        The network file it was made from.

    Returns
    -------
    Feature
        Fitted as before.

    Raises
    ------
    DataError
        If the state is damaged or unknown.
    ParameterError
        If a network file is given for a feature that needs none.

    Examples
    --------
    >>> import numpy as np
    >>> from kcrc import features
    >>> fitted = features.make("pixels").fit([np.zeros((8, 8), np.uint8)])
    >>> features.restore(fitted.state()).dim == fitted.dim
    True
    """
    name = state.get("feature")
    if model is not None and name != "onnx":
        raise ParameterError(f"The feature {name!r} needs no network file; leave out the model {os.fspath(model)!r}.")
    if not isinstance(state.get("options", {}), Mapping):
        raise DataError(f"The state of the feature {str(name)[:40]!r} is damaged: its options have no names.")
    if name == "callable":
        from kcrc.images.features.callables import FunctionFeature

        return FunctionFeature.from_state_with(state, function)
    if name == "looks":
        from kcrc.images.features.joined import JoinedLooks

        return JoinedLooks.from_state(state)
    if not isinstance(name, str) or name not in names():
        raise DataError(f"The state names the feature {name!r}. Known: {', '.join(names())}.")
    maker: Any = registry.maker(name)
    restored: Feature = maker.from_state(state, model=model) if name == "onnx" else maker.from_state(state)
    return restored


def resolve(spec: str | Feature | Callable[..., Any], **options: Any) -> Feature:
    """Return a Feature from a name, a Feature, or a function from a list of pictures to vectors.

    Parameters
    ----------
    spec : str, Feature or callable
        A name, a feature, or a function from a list of pictures to vectors.
    **options : object
        Options of a feature made by name.

    Returns
    -------
    Feature
        Not fitted yet, unless ``spec`` is.

    Raises
    ------
    UnknownName
        If there is no such name.
    ParameterError
        If ``spec`` is none of these, or has no such option.

    Examples
    --------
    >>> from kcrc import features
    >>> features.resolve("pixels")
    Pixels()
    """
    if isinstance(spec, str):
        return make(spec, **options)
    from kcrc.images.features.base import Feature
    from kcrc.images.features.callables import FunctionFeature

    return registry.resolve(spec, Feature, from_function=FunctionFeature, **options)


_LATER = {"Feature": "base", "VectorTable": "vectors", "read_vectors": "vectors"}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(f"kcrc.images.features.{_LATER[name]}"), name)
    raise AttributeError(f"module 'kcrc.features' has no attribute {name!r}")


__all__ = ["Feature", "VectorTable", "make", "names", "read_vectors", "register", "resolve", "restore"]
