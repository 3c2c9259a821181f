"""Any network in an ONNX file as a feature, with the preprocessing it was trained with."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePath, PureWindowsPath
from typing import Any, ClassVar, Literal, Self

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, ParameterError, StateError
from kcrc.files.safe_paths import sha256
from kcrc.images.decoding.resizing import Fit, Resample, View
from kcrc.images.features.base import Feature, Images, Pictures, register, stack_pictures
from kcrc.images.features.pyramid import AS_ONE, POOLINGS, choose_pooling, pool_tokens
from kcrc.images.network import onnx_runtime
from kcrc.images.network.onnx_apart import ApartSession
from kcrc.images.network.onnx_runtime import Session

_BATCH = 16
MOST_ASKED = 400  # pictures that the pooling is chosen by
MOST_OUTPUTS = 4  # that are tried beside the first: the network runs once for each
LATER = frozenset({"crop", "pooling", "source", "resample"})


class NetworkFeature(Feature):
    """Pictures through a network: what the default embedding and a user's own file share.

    v = network((pixels − mean) / std), pixels 0…255.
    """

    only_speed: ClassVar[frozenset[str]] = frozenset({"threads"})
    # A small network gains little from threads within a picture: several small batches at once then take less.
    side_by_side: ClassVar[bool] = False

    size: tuple[int, int]
    fit_to: Fit
    threads: int | None

    def _open(self) -> Session | ApartSession:
        """The network, ready to run."""
        raise NotImplementedError

    def _prepare(self, pixels: Array) -> Array:
        """Pictures (n, h, w[, 3]) 0…255 float32 as the network takes them."""
        raise NotImplementedError

    def _pool(self, result: Array) -> Array:
        """What the network gave, as one vector a picture."""
        return result

    @property
    def view(self) -> View:
        return View(self.size, colour=True, fit=self.fit_to)

    def _check(self) -> None:
        if self.fit_to == "inside":
            raise ParameterError(f"The feature '{self.kind}' needs one shape: fit_to is 'stretch', 'crop' or 'cut'.")
        _ = self.view

    @property
    def _session(self) -> Session | ApartSession:
        opened: Session | ApartSession | None = getattr(self, "_opened", None)
        if opened is None or not opened.usable:
            opened = self._opened = self._open()
        return opened

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": None}  # a session does not travel to other processes

    def _apply_view(self, image: Any) -> Array:
        seen = super()._apply_view(image)
        if seen.dtype == np.uint8:
            return seen
        # Bicubic resizing goes beyond the values that were given; what was between 0 and 1 stays there.
        given = np.asarray(image)
        return np.clip(seen, min(0.0, float(given.min())), max(1.0, float(given.max())))

    def _vectors(self, batch: Pictures) -> Array:
        session = self._session
        size = _BATCH // 2 if self.side_by_side else _BATCH

        def part(start: int) -> Array:
            ready = self._prepare(_as_bytes_range(batch[start : start + size], self.kind))
            return _flat(self._pool(session.run(ready)), len(ready))

        starts = range(0, len(batch), size)
        workers = min(len(starts), self.threads or os.cpu_count() or 1) if self.side_by_side else 1
        if workers == 1:
            return np.concatenate([part(start) for start in starts])
        with ThreadPoolExecutor(workers, thread_name_prefix="kcrc-network") as pool:
            return np.concatenate(list(pool.map(part, starts)))

    @property
    def dim(self) -> int:
        height, width = self.size
        black = np.zeros((height, width) if not self.view.colour else (height, width, 3), np.uint8)
        return int(self._vectors([black]).shape[1])


def _as_bytes_range(batch: Pictures, kind: str) -> Array:
    """Pictures as float32 on the scale 0…255."""
    pixels = stack_pictures(batch, kind)
    if pixels.size and (pixels.min() < -0.1 or pixels.max() > 1.1):  # a little beyond is rounding
        raise DataError(
            f"The feature '{kind}' takes floating point images from 0 to 1; got values from {pixels.min():g} to "
            f"{pixels.max():g}."
        )
    return np.clip(pixels, 0.0, 1.0) * np.float32(255.0)


def _flat(result: Array, n: int) -> Array:
    shape = result.shape
    if result.ndim < 2 or shape[0] != n or any(s != 1 for s in shape[2:]) or result.dtype.kind not in "fiub":
        raise DataError(
            f"The network's output has shape {shape} of {result.dtype} for {n} images; (n, d) numbers are needed. "
            "Name another by output=."
        )
    return result.reshape(n, shape[1])


@register("onnx")
class Onnx(NetworkFeature):
    """A network of the user's own: an ONNX file in one piece, with its preprocessing.

    ``mean`` and ``std`` are per channel on the scale 0…255; ``layout`` 'nchw' or 'nhwc'; ``channels`` 'rgb', 'bgr'
    or 'grey'; ``output`` the name of the output to take, or None for the first. ``crop`` (height, width) is cut from
    the middle of pictures of ``size``, which are resized by Pillow's filter ``resample`` (None: bicubic). ``pooling``
    makes one vector of a transformer's many ('cls', 'mean', 'patches', 'both'; None where the output is one vector
    already). With 'auto' ``fit`` chooses it by left-out answers, and unless ``output`` is named, another output of one
    vector a picture where that tells them apart better. ``source`` says where the file came from, for people: it is
    never opened. The file is known by its content
    (SHA-256): moved it stays the same feature, changed it is another. A restored feature has no path: its file is the
    one given to ``restore(state, model=...)``, else the copy that ``keep`` put into the cache, else ``$KCRC_MODEL``.
    """

    kind: ClassVar[str] = "onnx"
    only_speed: ClassVar[frozenset[str]] = frozenset({"threads", "path"})

    sha256_: str
    file_: str
    pooling_: str | None
    output_: str | None

    def __init__(
        self,
        path: str | os.PathLike[str] | None = None,
        *,
        size: tuple[int, int] = (224, 224),
        mean: tuple[float, ...] = (0.0, 0.0, 0.0),
        std: tuple[float, ...] = (255.0, 255.0, 255.0),
        layout: Literal["nchw", "nhwc"] = "nchw",
        channels: Literal["rgb", "bgr", "grey"] = "rgb",
        fit_to: Fit = "crop",
        output: str | None = None,
        crop: tuple[int, int] | None = None,
        pooling: str | None = None,
        source: str | None = None,
        resample: Resample | None = None,
        threads: int | None = None,
    ) -> None:
        self.path = path
        self.crop = crop
        self.pooling = pooling
        self.source = source
        self.resample = resample
        self.size = size
        self.mean = mean
        self.std = std
        self.layout = layout
        self.channels = channels
        self.fit_to = fit_to
        self.output = output
        self.threads = threads

    @property
    def view(self) -> View:
        by = "bicubic" if self.resample is None else self.resample
        return View(self.size, colour=self.channels != "grey", fit=self.fit_to, resample=by)

    def _check(self) -> None:
        super()._check()
        if self.layout not in ("nchw", "nhwc") or self.channels not in ("rgb", "bgr", "grey"):
            raise ParameterError(
                f"layout is 'nchw' or 'nhwc', channels 'rgb', 'bgr' or 'grey'; got {self.layout!r}, {self.channels!r}."
            )
        planes = 1 if self.channels == "grey" else 3
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (1, planes) or not all(isinstance(v, int | float) for v in values):
                raise ParameterError(f"{name} has {planes} numbers, one a channel, or one for all; got {values!r}.")
        if min(self.std) <= 0:
            raise ParameterError(f"std is above 0; got {self.std!r}.")
        if self.pooling not in (None, "auto", *POOLINGS):
            raise ParameterError(f"pooling is None, 'auto', {', '.join(map(repr, POOLINGS))}; got {self.pooling!r}.")
        cut = (self.crop,) if isinstance(self.crop, int) else self.crop
        if cut is not None and (
            len(cut) != 2 or not all(isinstance(c, int) and 0 < c <= s for c, s in zip(cut, self.size, strict=True))
        ):
            raise ParameterError(f"crop is (height, width) within size {self.size}; got {self.crop!r}.")
        if not isinstance(self.source, str | None):
            raise ParameterError(f"source is a text for people, or None; got {self.source!r}.")
        if not isinstance(self.output, str | None):
            raise ParameterError(f"output is the name of an output, or None for the first; got {self.output!r}.")

    def _network(self) -> tuple[bytes, str]:
        """The bytes of the ONNX file and its name. Only the user says which file that is: see ``model_file``."""
        due: str | None = getattr(self, "sha256_", None)
        path = self.path
        if path is None and due is None:
            raise ParameterError("Say which network: path=, the name of an ONNX file.")
        if path is None and due is not None:
            if (content := onnx_runtime.load_cached(due)) is not None:
                return content, self._display_name
            path = os.environ.get("KCRC_MODEL") or None
        if path is None:
            raise StateError(
                f"These vectors were made by the network {self._display_name} (SHA-256 {str(due)[:12]}…), which is not "
                "in the cache. Name its file: --model FILE or KCRC_MODEL=FILE, in Python Gallery.open(…, model=FILE)."
            )
        content = onnx_runtime.read_model(path)
        found = sha256(content)
        if due not in (None, found):
            raise DataError(
                f"{path} is not the file these vectors were made with (SHA-256 {found[:12]}…, not {due[:12]}…). "
                "Give the original file, or build again from the images."
            )
        self.sha256_ = found
        return content, str(path)

    @property
    def _display_name(self) -> str:
        """The file's name without its folders, for people; out of a state it may be anything."""
        name = getattr(self, "file_", None) or PurePath(self.path or "").name
        return repr(name[:200])

    def _open(self) -> ApartSession:
        return self._opened_for(getattr(self, "output_", self.output))

    def _opened_for(self, output: str | None) -> ApartSession:
        content, source = self._network()
        return ApartSession(content, source=source, threads=self.threads, output=output)

    def keep(self) -> None:
        """Keep a copy of the network's file in the cache, so that a gallery finds it again."""
        if self.path is not None:
            onnx_runtime.keep(self._network()[0])

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Whether the pooling is still to be chosen."""
        return self.pooling == "auto" and not hasattr(self, "pooling_")

    @property
    def is_fitted(self) -> bool:
        return not self.learns

    def _learn(self, images: Images, labels: Any) -> None:
        """Choose output and pooling by left-out answers, where there is anything to choose."""
        asked = np.unique(np.linspace(0, len(images) - 1, MOST_ASKED).astype(int))  # of all classes, in whatever order
        some = [images[i] for i in asked]
        found = {(self.output, how): vectors for how, vectors in pool_tokens(self._raw(some, self._session)).items()}
        for name in self._session.vector_outputs[:MOST_OUTPUTS] if self.output is None else ():
            with contextlib.suppress(DataError):  # what cannot be computed is no candidate
                own = pool_tokens(self._raw(some, self._opened_for(name)))
                found |= {(name, how): vectors for how, vectors in own.items() if how == AS_ONE}
        found = {way: v for way, v in found.items() if len(v) == len(some) and v.size and np.isfinite(v).all()}
        if not found:
            raise DataError(
                f"The network {self._display_name} gives no vectors for pictures. Name an output by output=."
            )
        best = (
            next(iter(found))
            if labels is None or len(found) == 1
            else choose_pooling(found, [labels[i] for i in asked])
        )
        self.output_, how = best
        self.pooling_ = None if how == AS_ONE else how
        if self.output_ != self.output:
            del self._opened

    def _raw(self, images: Images, session: Session | ApartSession) -> Iterator[Array]:
        """What the network gives for pictures, a batch at a time, before anything is pooled."""
        for batch in self.batches(images):
            for start in range(0, len(batch), _BATCH):
                ready = self._prepare(_as_bytes_range(batch[start : start + _BATCH], self.kind))
                yield np.asarray(session.run(ready))

    def _pool(self, result: Array) -> Array:
        how = getattr(self, "pooling_", self.pooling)
        if how is not None and result.ndim == 3:
            return POOLINGS[how](result)
        return result

    def _prepare(self, pixels: Array) -> Array:
        if pixels.ndim == 3:
            pixels = pixels[..., None]
        if self.crop is not None:
            top, left = ((have - want) // 2 for have, want in zip(pixels.shape[1:3], self.crop, strict=True))
            pixels = pixels[:, top : top + self.crop[0], left : left + self.crop[1]]
        if self.channels == "bgr":
            pixels = pixels[..., ::-1]
        scaled = (pixels - np.asarray(self.mean, np.float32)) / np.asarray(self.std, np.float32)
        return np.ascontiguousarray(scaled if self.layout == "nhwc" else scaled.transpose(0, 3, 1, 2))

    @property
    def sha256(self) -> str:
        """Of the file's content."""
        if not hasattr(self, "sha256_"):
            self._network()
        return str(self.sha256_)

    def options(self) -> dict[str, Any]:
        found = {**super().options(), "sha256": self.sha256}
        if hasattr(self, "pooling_"):
            found |= {"pooling": self.pooling_, "output": self.output_}
        # Options that came later are left out where they are not used: the fingerprint of older galleries stays.
        return {name: value for name, value in found.items() if value is not None or name not in LATER}

    def state(self) -> dict[str, Any]:
        return {**super().state(), "file": getattr(self, "file_", None) or PurePath(self.path or "").name}

    @classmethod
    def from_state(cls, state: Mapping[str, Any], *, model: str | os.PathLike[str] | None = None) -> Self:
        """The feature again; ``model`` is the file that the user names for it. The path in older states is not used."""
        options = dict(state.get("options") or {})
        due = options.pop("sha256", None)
        called = state.get("file", state.get("path"))
        if not isinstance(due, str) or not onnx_runtime.is_sha256(due) or not isinstance(called, str):
            raise DataError("The state of the feature 'onnx' is damaged: its file's name or checksum is missing.")
        feature = super().from_state({**state, "options": options})
        feature.path, feature.sha256_, feature.file_ = model, due, PureWindowsPath(called).name
        return feature
