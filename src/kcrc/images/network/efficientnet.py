"""EfficientNet-Lite0 (Tan, Le 2019; without squeeze-and-excitation, ReLU6) as an ONNX graph up to its 1280 pooled
features, rebuilt from a state dict.

Batch normalisation y = γ (x − m)/√(v + ε) + β follows every convolution and is folded into its weights.
"""

from __future__ import annotations

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.images.network.onnx_graph import GraphWriter

SIDE, FEATURES = 224, 1280
_EPSILON = 1e-3  # of TensorFlow's batch normalisation, which trained these weights
_STAGES = ((1, 1), (2, 2), (2, 2), (3, 2), (3, 1), (4, 2), (1, 1))  # (blocks, stride of the first)


class _Builder:
    def __init__(self, weights: dict[str, Array]) -> None:
        self.weights = weights
        self.graph = GraphWriter("efficientnet-lite0")
        self.zero = self.graph.weight(np.array(0.0))
        self.six = self.graph.weight(np.array(6.0))
        self.side = SIDE

    def take(self, name: str) -> Array:
        if name not in self.weights:
            raise DataError(f"The weights are not those of EfficientNet-Lite0: '{name}' is missing.")
        return self.weights[name]

    def convolution(self, x: str, conv: str, norm: str, *, stride: int = 1, depthwise: bool = False) -> str:
        """A convolution with its normalisation folded in, padded as TensorFlow's SAME does."""
        kernel = self.take(f"{conv}.weight").astype(np.float64)
        if kernel.ndim != 4 or kernel.shape[2] != kernel.shape[3]:
            raise DataError(f"The weights are not those of EfficientNet-Lite0: '{conv}' has shape {kernel.shape}.")
        gain, shift, mean, variance = (
            self.take(f"{norm}.{part}").astype(np.float64) for part in ("weight", "bias", "running_mean", "running_var")
        )
        scale = gain / np.sqrt(variance + _EPSILON)
        size = kernel.shape[2]
        out_side = -(-self.side // stride)
        padding = max(0, (out_side - 1) * stride + size - self.side)
        before, after = padding // 2, padding - padding // 2
        self.side = out_side
        return self.graph.node(
            "Conv",
            [x, self.graph.weight(kernel * scale[:, None, None, None]), self.graph.weight(shift - mean * scale)],
            kernel_shape=[size, size],
            strides=[stride, stride],
            pads=[before, before, after, after],
            group=kernel.shape[0] if depthwise else 1,
        )

    def relu6(self, x: str) -> str:
        return self.graph.node("Clip", [x, self.zero, self.six])

    def block(self, x: str, name: str, stride: int) -> str:
        """Widen, convolve each channel, narrow; the input is added where it fits."""
        start = x
        if f"{name}._expand_conv.weight" in self.weights:
            x = self.relu6(self.convolution(x, f"{name}._expand_conv", f"{name}._bn0"))
        x = self.convolution(x, f"{name}._depthwise_conv", f"{name}._bn1", stride=stride, depthwise=True)
        x = self.convolution(self.relu6(x), f"{name}._project_conv", f"{name}._bn2")
        first = f"{name}._expand_conv.weight"
        width_in = self.weights[first].shape[1] if first in self.weights else None
        same_width = width_in == self.take(f"{name}._project_conv.weight").shape[0]
        return self.graph.node("Add", [x, start]) if stride == 1 and same_width else x


def efficientnet_lite0(weights: dict[str, Array]) -> bytes:
    """The ONNX file: ``images`` (n, 3, 224, 224) float32 -> features (n, 1280)."""
    build = _Builder(weights)
    x = build.relu6(build.convolution("images", "_conv_stem", "_bn0", stride=2))
    number = 0
    for blocks, first_stride in _STAGES:
        for i in range(blocks):
            x = build.block(x, f"_blocks.{number}", first_stride if i == 0 else 1)
            number += 1
    x = build.relu6(build.convolution(x, "_conv_head", "_bn1"))
    x = build.graph.node("Flatten", [build.graph.node("GlobalAveragePool", [x])], axis=1)
    return build.graph.content(input_shape=["n", 3, SIDE, SIDE], output=x, output_shape=["n", FEATURES])
