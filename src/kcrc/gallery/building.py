"""Making a gallery: filled where nobody sees it, then put in its place at once."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import ParameterError
from kcrc.gallery import stores
from kcrc.gallery.acts import Build
from kcrc.gallery.gallery import Gallery
from kcrc.gallery.settings import Settings


class FittedFeature(Protocol):
    """What a gallery needs of the feature that makes its vectors (``kcrc.images.features.base.Feature`` has it)."""

    @property
    def kind(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def fingerprint(self) -> str: ...
    def state(self) -> Mapping[str, Any]: ...
    def keep(self) -> None: ...


@contextlib.contextmanager
def building(
    path: str | os.PathLike[str],
    *,
    feature: FittedFeature | None = None,
    dim: int | None = None,
    fingerprint: str | None = None,
    dtype: str = "float32",
    parameters: Mapping[str, Any] | None = None,
    overwrite: bool = False,
) -> Iterator[Gallery]:
    """A gallery to be filled in the block; at its end, and not before, it is there under ``path``. ``parameters`` of
    its classifier are fixed from the start."""
    settings = replace(new_settings(feature, dim, fingerprint, dtype), parameters=dict(parameters or {}))
    with stores.kind_of(path).making(path, settings, parted(feature)[1], overwrite=overwrite) as store:
        if feature is not None:
            feature.keep()
        yield Gallery(store)
        store.write(Build())


def new_settings(feature: FittedFeature | None, dim: int | None, fingerprint: str | None, dtype: str) -> Settings:
    """The settings of a new gallery."""
    if feature is None and dim is None:
        raise ParameterError("Give the feature that makes the vectors, or `dim` for ready vectors.")
    if feature is not None and (dim is not None or fingerprint is not None):
        raise ParameterError("`dim` and `fingerprint` come with the feature; give either them or it.")
    common: dict[str, Any] = {
        "identity": secrets.token_hex(16),
        "created_at": time.time_ns() // 1000,
        "dtype": dtype,
        "parameters": {},
    }
    if feature is None:
        mark = fingerprint or f"vectors-{dim}"
        return Settings(feature="vectors", values={}, fingerprint=mark, dim=dim, **common)  # type: ignore[arg-type]
    return Settings(
        feature=feature.kind,
        values=parted(feature)[0],
        fingerprint=feature.fingerprint,
        dim=int(feature.dim),
        **common,
    )


def parted(feature: FittedFeature | None) -> tuple[dict[str, Any], dict[str, Array]]:
    """The state of a feature: its plain values and its arrays."""
    state = {} if feature is None else feature.state()
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    return {name: value for name, value in state.items() if name not in arrays}, arrays
