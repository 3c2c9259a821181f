"""Any network in an ONNX file as a feature, with the preprocessing it was trained with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np

from kcrc.cache import sha256
from kcrc.errors import DataError, ParameterError
from kcrc.features.base import Feature, Pictures, register, stacked
from kcrc.features.onnx_graph import refuse_external_data
from kcrc.features.views import Fit, View
from kcrc.prepared import Array

_LARGEST = (1 << 31) - 1  # bytes: Protocol Buffers end there
_BATCH = 16


def open_session(content: bytes, *, source: str, threads: int | None) -> Any:
    """An onnxruntime session over the bytes of a file that has been audited."""
    try:
        import onnxruntime
    except ImportError:
        raise ParameterError(
            "This feature runs on onnxruntime, which is not installed. Install it: pip install 'kcrc[embedding]'."
        ) from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads or os.cpu_count() or 1
    options.log_severity_level = 3
    # Threads that wait by spinning take the cores from the decoding of the next images.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as problem:  # onnxruntime's own exceptions share no base class
        raise DataError(f"{source} cannot be used as an ONNX file: {str(problem).splitlines()[0]}") from problem


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

    def _network(self) -> tuple[bytes, str]:
        """The bytes of the ONNX file and its name."""
        raise NotImplementedError

    def _prepared(self, pixels: Array) -> Array:
        """Pictures (n, h, w[, 3]) 0…255 float32 as the network takes them."""
        raise NotImplementedError

    def _output(self) -> str | None:
        return None

    @property
    def view(self) -> View:
        return View(self.size, colour=True, fit=self.fit_to)

    def _check(self) -> None:
        if self.fit_to == "inside":
            raise ParameterError(f"The feature '{self.kind}' needs one shape: fit_to is 'stretch' or 'crop'.")
        _ = self.view

    @property
    def _session(self) -> Any:
        if getattr(self, "_opened", None) is None:
            content, source = self._network()
            self._opened = open_session(content, source=source, threads=1 if self.side_by_side else self.threads)
        return self._opened

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_opened": None}  # a session does not travel to other processes

    def _seen(self, image: Any) -> Array:
        seen = super()._seen(image)
        if seen.dtype == np.uint8:
            return seen
        # Bicubic resizing goes beyond the values that were given; what was between 0 and 1 stays there.
        given = np.asarray(image)
        return np.clip(seen, min(0.0, float(given.min())), max(1.0, float(given.max())))

    def _vectors(self, batch: Pictures) -> Array:
        session = self._session
        name = session.get_inputs()[0].name
        output = self._output() or session.get_outputs()[0].name
        size = _BATCH // 2 if self.side_by_side else _BATCH

        def part(start: int) -> Array:
            ready = self._prepared(_as_bytes_range(batch[start : start + size], self.kind))
            try:
                (result,) = session.run([output], {name: ready})
            except Exception as problem:
                raise DataError(f"The network of '{self.kind}' failed: {str(problem).splitlines()[0]}") from problem
            return _flat(np.asarray(result), len(ready), output)

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
    pixels = stacked(batch, kind)
    if pixels.size and (pixels.min() < -0.1 or pixels.max() > 1.1):  # a little beyond is rounding
        raise DataError(
            f"The feature '{kind}' takes floating point images from 0 to 1; got values from {pixels.min():g} to "
            f"{pixels.max():g}."
        )
    return np.clip(pixels, 0.0, 1.0) * np.float32(255.0)


def _flat(result: Array, n: int, output: str) -> Array:
    if result.ndim < 2 or len(result) != n or any(s != 1 for s in result.shape[2:]):
        raise DataError(
            f"The output '{output}' has shape {result.shape} for {n} images; (n, d) is needed. Name another by output=."
        )
    return result.reshape(n, -1)


@register("onnx")
class Onnx(NetworkFeature):
    """A network of the user's own: an ONNX file in one piece, with its preprocessing.

    ``mean`` and ``std`` are per channel on the scale 0…255; ``layout`` 'nchw' or 'nhwc'; ``channels`` 'rgb', 'bgr'
    or 'grey'; ``output`` the name of the output to take, or None for the first. The file is known by its content
    (SHA-256): moved it stays the same feature, changed it is another.
    """

    kind: ClassVar[str] = "onnx"
    only_speed: ClassVar[frozenset[str]] = frozenset({"threads", "path"})

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        size: tuple[int, int] = (224, 224),
        mean: tuple[float, ...] = (0.0, 0.0, 0.0),
        std: tuple[float, ...] = (255.0, 255.0, 255.0),
        layout: Literal["nchw", "nhwc"] = "nchw",
        channels: Literal["rgb", "bgr", "grey"] = "rgb",
        fit_to: Fit = "crop",
        output: str | None = None,
        threads: int | None = None,
    ) -> None:
        self.path = path
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
        return View(self.size, colour=self.channels != "grey", fit=self.fit_to)

    def _check(self) -> None:
        super()._check()
        if self.layout not in ("nchw", "nhwc") or self.channels not in ("rgb", "bgr", "grey"):
            raise ParameterError(
                f"layout is 'nchw' or 'nhwc', channels 'rgb', 'bgr' or 'grey'; got {self.layout!r}, {self.channels!r}."
            )
        planes = 1 if self.channels == "grey" else 3
        for name, values in (("mean", self.mean), ("std", self.std)):
            if len(values) not in (1, planes):
                raise ParameterError(f"{name} has {planes} values, one a channel, or one for all; got {values!r}.")
        if min(self.std) <= 0:
            raise ParameterError(f"std is above 0; got {self.std!r}.")

    def _read(self) -> bytes:
        path = Path(self.path)
        try:
            if path.stat().st_size > _LARGEST:
                raise DataError(f"{path} is larger than an ONNX file in one piece can be.")
            content = path.read_bytes()
        except OSError as problem:
            raise DataError(f"The ONNX file {path} cannot be read: {problem.strerror or problem}.") from problem
        refuse_external_data(content, str(path))
        return content

    def _network(self) -> tuple[bytes, str]:
        content = self._read()
        found, due = sha256(content), getattr(self, "sha256_", None)
        if due not in (None, found):
            raise DataError(
                f"{self.path} is not the file these vectors were made with (SHA-256 {found[:12]}…, not {due[:12]}…). "
                "Give the original file, or build again from the images."
            )
        self.sha256_ = found
        return content, str(self.path)

    def _output(self) -> str | None:
        return self.output

    def _prepared(self, pixels: Array) -> Array:
        if pixels.ndim == 3:
            pixels = pixels[..., None]
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
        return {**super().options(), "sha256": self.sha256}

    def state(self) -> dict[str, Any]:
        return {**super().state(), "path": os.fspath(self.path)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        options = dict(state.get("options") or {})
        due = options.pop("sha256", None)
        path = state.get("path")
        if not isinstance(due, str) or not isinstance(path, str):
            raise DataError("The state of the feature 'onnx' is damaged: its path or checksum is missing.")
        feature = super().from_state({**state, "options": {**options, "path": path}})
        feature.sha256_ = due
        return feature
