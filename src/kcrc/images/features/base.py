"""The contract of a feature, and what all features share: reading pictures, fitting, saving.

A feature is a scikit-learn transformer from pictures to vectors: ``fit(images, labels)`` learns from training images
if the feature needs it, ``transform(images)`` returns float32 (n, d). ``images`` are arrays, paths of image files, or
bytes of such files. ``state()`` holds all options and everything learned as plain numbers and arrays (never pickle);
``kcrc.features.restore(state)`` makes the feature again. ``fingerprint`` is equal for features that give the same
vectors, so that a gallery can refuse vectors of another feature.

To add one, write the class in a file of its own, put ``@register("name")`` on it, and name the file in ``_HOMES`` of
this package. Outside the library ``kcrc.features.register`` is enough.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.registry import check_options, fits, hints_of
from kcrc.errors import DataError, KCRCError, ParameterError, StateError
from kcrc.images.decoding.reading import AS_IT_IS, decode, read, read_chunks
from kcrc.images.decoding.resizing import LARGEST, View, view_array
from kcrc.images.features import registry

# The interface of a scikit-learn estimator, written out because scikit-learn takes more than a second to load. It is
# all that ``clone``, pipelines and grid searches need.


class Estimator:
    """The parameters are the arguments of ``__init__``, each stored under its own name."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the sorted names of the parameters."""
        if cls.__init__ is object.__init__:
            return []
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; none has parameters of its own that ``deep`` could add."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **given: Any) -> Self:
        """Set parameters; an unknown name is an error, and then none is changed."""
        known = self._get_param_names()
        for name in given:
            if name not in known:
                takes = ", ".join(known) or "no parameters"
                raise ParameterError(f"{type(self).__name__} has no parameter '{name}'. It takes: {takes}.")
        for name, value in given.items():
            setattr(self, name, value)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fitting: Any) -> Any:
        """Fit to X, then transform it."""
        fitted: Any = self
        return fitted.fit(X, y, **fitting).transform(X)

    def __repr__(self) -> str:
        defaults = {} if type(self).__init__ is object.__init__ else inspect.signature(type(self).__init__).parameters
        values = self.get_params().items()
        changed = [f"{name}={value!r}" for name, value in values if repr(value) != repr(defaults[name].default)]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags, TransformerTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False), transformer_tags=TransformerTags())


register = registry.register

Images = Any
"""An array (n, h, w[, 3]), or a sequence of arrays, paths of image files, or bytes of such files."""
Pictures = Sequence[Array] | Array
State = dict[str, Any]
CHUNK = 64  # pictures that are decoded and transformed together


class Feature(Estimator):
    """A scikit-learn transformer from pictures to vectors.

    A subclass stores its options under the names of the parameters of ``__init__``, as scikit-learn's estimators do. It
    implements ``dim``, the length of a vector, and ``_vectors(batch)``, the vectors (n, dim) of pictures that match its
    ``view``; also ``_learn(images, labels)`` if it learns, and ``_check()`` if options can be invalid.
    ``kcrc.features.register`` gives it a name.
    """

    kind: ClassVar[str]
    """The name in the registry."""

    version: ClassVar[int] = 1
    """Increased whenever the same options give other vectors than before."""

    learns: ClassVar[bool] = False
    """Whether ``transform`` needs ``fit`` first."""

    fitted_arrays: ClassVar[tuple[str, ...]] = ()
    """The attributes that ``fit`` sets, in the order of the fingerprint."""

    only_speed: ClassVar[frozenset[str]] = frozenset({"threads"})
    """Options that change the time it takes and nothing else."""

    takes_rows: ClassVar[bool] = False
    """Whether it accepts a two-dimensional array with one flattened picture per row."""

    @property
    def view(self) -> View:
        """The size, colour and fit of the pictures that ``_vectors`` takes."""
        return AS_IT_IS

    def fit(self, images: Images, labels: Any = None) -> Self:
        """Learn from training images; a feature that does not learn only checks its options."""
        self.check()
        if self.learns:
            if len(images) == 0:
                raise DataError(f"The feature '{self.kind}' learns from images; got none. Give at least one.")
            self._learn(images, labels)
        return self

    def transform(self, images: Images) -> Array:
        """Return float32 vectors (n, d) of the images."""
        self.check()
        self._ensure_fitted()
        parts = [self.transform_pixels(batch) for batch in self.batches(images)]
        return np.concatenate(parts) if parts else np.empty((0, self.dim), np.float32)

    def transform_pixels(self, batch: Pictures) -> Array:
        """Return vectors of pictures that match the view; the feature must be fitted."""
        parts = [self._check_vectors(self._vectors(part), len(part)) for part in _portions(batch)]
        return np.concatenate(parts) if parts else np.empty((0, self.dim), np.float32)

    @property
    def dim(self) -> int:
        """The length of a vector."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise a ParameterError for options of the wrong type or with an invalid value."""
        given = self.get_params(deep=False)
        check_options(f"the feature '{self.kind}'", type(self), given)
        threads = given.get("threads")
        if threads is not None and threads < 1:
            raise ParameterError(f"threads must be at least 1, or None for all cores; got {threads!r}.")
        self._check()

    def _check(self) -> None:
        """Raise a ParameterError for options of the right type with an invalid value."""

    def _learn(self, images: Images, labels: Any) -> None:
        raise NotImplementedError

    def _vectors(self, batch: Pictures) -> Array:
        raise NotImplementedError

    def batches(self, images: Images) -> Iterator[Pictures]:
        """Yield the pictures as the view wants them, a chunk at a time: an array (n, …) or a list of arrays."""
        if isinstance(images, np.ndarray) and images.dtype.kind in "fuib":
            if images.ndim == 2 and self.takes_rows:
                for start in range(0, len(images), 16 * CHUNK):
                    yield images[start : start + 16 * CHUNK]
                return
            if images.ndim not in (3, 4):
                raise DataError(
                    f"The feature '{self.kind}' needs images (n, h, w) or (n, h, w, 3); got an array of "
                    f"shape {images.shape}."
                )
        if isinstance(images, str | bytes | os.PathLike):
            raise DataError("Give a list of images, not one: [image].")
        if len(images) and all(isinstance(image, str | os.PathLike) for image in images):
            for part in read_chunks(images, self.view, chunk=CHUNK):
                yield [picture.pixels for picture in part.pictures]
            return
        for start in range(0, len(images), CHUNK):
            yield [self._apply_view(image) for image in images[start : start + CHUNK]]

    def _apply_view(self, image: Any) -> Array:
        if isinstance(image, bytes):
            return decode(image, self.view).pixels
        if isinstance(image, str | os.PathLike):
            return read(image, self.view).pixels
        return view_array(np.asarray(image), self.view)

    def _check_vectors(self, vectors: Array, n: int) -> Array:
        if vectors.ndim != 2 or len(vectors) != n or not np.isfinite(vectors).all():
            raise DataError(
                f"The feature '{self.kind}' must give one vector of finite numbers per image; got shape "
                f"{vectors.shape} for {n} images, or NaN or infinity."
            )
        return np.ascontiguousarray(vectors, np.float32)

    # Fitted state -----------------------------------------------------------------------------------------------

    @property
    def is_fitted(self) -> bool:
        """Whether ``transform`` can be called."""
        return not self.learns or all(hasattr(self, name) for name in self.fitted_arrays)

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def _ensure_fitted(self) -> None:
        if not self.is_fitted:
            raise StateError(f"The feature '{self.kind}' is not fitted. Call fit(images) with training images first.")

    def options(self) -> dict[str, Any]:
        """Return the options that change the vectors, as plain JSON values."""
        kept = {k: v for k, v in self.get_params(deep=False).items() if k not in self.only_speed}
        try:
            return dict(json.loads(json.dumps(kept, default=_python)))
        except (TypeError, ValueError):
            raise ParameterError(
                f"The options of the feature '{self.kind}' must be plain values; got {kept}."
            ) from None

    def state(self) -> State:
        """All that is needed to make this feature again: plain values and arrays."""
        self._ensure_fitted()
        fitted = {name: getattr(self, name) for name in self.fitted_arrays if hasattr(self, name)}
        return {"feature": self.kind, "version": self.version, "options": self.options(), **fitted}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Restore the feature that ``state()`` described; refuse a state of another feature or version."""
        if state.get("feature") != cls.kind:
            raise DataError(f"The state is of the feature {state.get('feature')!r}, not '{cls.kind}'.")
        if state.get("version") != cls.version:
            raise DataError(
                f"The state of '{cls.kind}' has version {state.get('version')!r}; this library needs version "
                f"{cls.version}, which gives other vectors. Build again from the images."
            )
        options = state.get("options")
        known = [name for name in cls._get_param_names() if name not in cls.only_speed]
        if not isinstance(options, Mapping) or not set(options) <= set(known) or not _plain(list(options.values())):
            raise DataError(f"The state of '{cls.kind}' has options {options!r:.500}; known are {', '.join(known)}.")
        given = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
        hints = hints_of(cls.__init__)
        wrong = next((name for name, value in given.items() if not fits(value, hints[name])), None)
        if wrong is not None:
            raise DataError(f"The state of '{cls.kind}' has the invalid option {wrong}={str(given[wrong])[:40]!r}.")
        try:
            feature = cls(**given)
            feature.check()
            for name in feature.fitted_arrays:
                if name in state:
                    setattr(feature, name, state[name])
            feature._ensure_fitted()
            feature._check_state()
        except KCRCError:
            raise
        except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as problem:
            raise DataError(f"The state of the feature '{cls.kind}' is damaged: {problem}.") from problem
        return feature

    def keep(self) -> None:
        """Put the files that ``restore`` needs into the user's cache; most features need none."""

    def _check_state(self) -> None:
        """Raise a DataError if restored arrays do not match each other or the options."""

    @property
    def fingerprint(self) -> str:
        """A hash of name, version, options and learned arrays, equal for features that give the same vectors."""
        self._ensure_fitted()
        digest = hashlib.sha256()
        digest.update(json.dumps([self.kind, self.version, self.options()], sort_keys=True).encode())
        for name in self.fitted_arrays:
            value = np.ascontiguousarray(getattr(self, name))
            little = value.astype(value.dtype.newbyteorder("<"), copy=False)
            digest.update(f"{name} {little.dtype.str} {little.shape}".encode() + little.tobytes())
        return f"{self.kind}:{digest.hexdigest()[:32]}"


def _python(value: Any) -> Any:
    """Return a NumPy number as a Python number, for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(value)


def _plain(values: Sequence[Any]) -> bool:
    """Whether all values are as ``options`` writes them: text, booleans, finite numbers, and short lists of those."""
    for value in values:
        if isinstance(value, list | tuple):
            if len(value) > 100 or any(isinstance(one, list | tuple) for one in value) or not _plain(value):
                return False
        elif not isinstance(value, str | None) and not (isinstance(value, int | float) and abs(value) < 1 << 63):
            return False
    return True


def _portions(batch: Pictures) -> Iterator[Pictures]:
    """Yield a batch in parts whose intermediate arrays fit into memory."""
    sizes = batch[:1] if isinstance(batch, np.ndarray) else batch  # the pictures of an array have one size
    step = max(1, 3 * LARGEST // max(1, *(picture.size for picture in sizes))) if len(batch) else 1
    for start in range(0, len(batch), step):
        yield batch[start : start + step]


def stack_pictures(batch: Pictures, kind: str) -> Array:
    """Return pictures of one shape as a float32 array (n, …), uint8 scaled to 0…1."""
    shapes = {picture.shape for picture in batch}
    if len(shapes) > 1:
        first = ", ".join(str(shape) for shape in sorted(shapes)[:3])
        raise DataError(f"The feature '{kind}' needs images of one shape; got {first}. Set size=(height, width).")
    # One by one, because a list may mix uint8 and floating point.
    return unit_range(batch) if isinstance(batch, np.ndarray) else np.stack([unit_range(p) for p in batch])


def unit_range(pixels: Array) -> Array:
    """Return float32 pixels, uint8 scaled to 0…1, floating point unchanged."""
    if pixels.dtype == np.uint8:
        return pixels * np.float32(1.0 / 255.0)
    return pixels.astype(np.float32, copy=False)


def checked_array(name: str, value: Any, shape: tuple[int | None, ...], kind: str) -> Array:
    """Return a restored array; raise a DataError unless it is finite and of this shape (None: any length)."""
    if (
        not isinstance(value, np.ndarray)
        or value.ndim != len(shape)
        or any(want not in (None, have) for want, have in zip(shape, value.shape, strict=True))
        or value.dtype.kind not in "fiu"
        or not np.isfinite(value).all()
    ):
        raise DataError(f"The state of the feature '{kind}' is damaged: '{name}' is not an array of shape {shape}.")
    return value
