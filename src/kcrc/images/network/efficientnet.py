"""EfficientNet-Lite0 (Tan, Le 2019; without squeeze-and-excitation, ReLU6) as an ONNX graph up to its 1280 pooled
features, rebuilt from a state dict.

Batch normalisation y = γ (x − m)/√(v + ε) + β follows every convolution and is folded into its weights.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.files.box import Broken, Worker
from kcrc.files.boxed import Head, Reply
from kcrc.images.network.protobuf import block, number
from kcrc.images.network.torch_weights import read_state_dict

# ONNX files written without the onnx package.

_FLOAT = 1  # TensorProto.DataType
_IR_VERSION, _OPSET = 7, 13


class GraphWriter:
    """A chain of operators with its weights, put together node by node; ``content`` is the file."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._nodes: list[bytes] = []
        self._weights: list[bytes] = []

    def weight(self, values: Array) -> str:
        """Store float32 numbers; returns the name to use them by."""
        name = f"w{len(self._weights)}"
        values = np.asarray(values, "<f4")
        dims = b"".join(number(1, n) for n in values.shape)
        self._weights.append(dims + number(2, _FLOAT) + block(8, name) + block(9, values.tobytes()))
        return name

    def node(self, operator: str, inputs: Sequence[str], **attributes: int | Sequence[int]) -> str:
        """Append an operator; returns the name of its output."""
        output = f"x{len(self._nodes)}"
        body = b"".join(block(1, i) for i in inputs) + block(2, output) + block(3, output) + block(4, operator)
        for key, value in attributes.items():
            if isinstance(value, int):
                body += block(5, block(1, key) + number(3, value) + number(20, 2))
            else:
                body += block(5, block(1, key) + b"".join(number(8, v) for v in value) + number(20, 7))
        self._nodes.append(body)
        return output

    def content(self, *, input_shape: Sequence[int | str], output: str, output_shape: Sequence[int | str]) -> bytes:
        """The bytes of the ONNX file; the input is called ``images``."""
        graph = b"".join(block(1, n) for n in self._nodes) + block(2, self.name)
        graph += b"".join(block(5, w) for w in self._weights)
        graph += block(11, _value_info("images", input_shape)) + block(12, _value_info(output, output_shape))
        opset = block(8, block(1, "") + number(2, _OPSET))
        return number(1, _IR_VERSION) + block(2, "kcrc") + opset + block(7, graph)


def _value_info(name: str, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(block(1, number(1, n) if isinstance(n, int) else block(2, n)) for n in shape)
    return block(1, name) + block(2, block(1, number(1, _FLOAT) + block(2, dims)))


SIDE, FEATURES = 224, 1280
_MEMORY, _SECONDS = 500_000_000, 20.0  # that reading the weights and converting them may take; it takes 0.2 s
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


# The weights are read and converted by a worker of the box.


def network_of(weights: bytes, *, source: str) -> bytes:
    """The ONNX file made from the bytes of a file of weights; a DataError that names ``source`` if they are not its."""
    worker = Worker("kcrc.images.network.efficientnet", memory=_MEMORY)
    try:
        return bytes(worker.ask({"source": source}, weights, clock=6 * _SECONDS, seconds=_SECONDS, limit=1 << 28)[1])
    except Broken as problem:
        why = f"{source} cannot be read as weights: its worker was ended ({problem})."
    finally:
        worker.close()
    raise DataError(why)


def prepare() -> None:
    """All that it needs is imported already."""


def answer(head: Head, content: bytearray) -> Reply:
    network = efficientnet_lite0(read_state_dict(bytes(content), source=head["source"]))
    return Reply({}, len(network), [network])
