"""ONNX files written without the onnx package."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kcrc._base.arrays import Array
from kcrc.images.network.protobuf import block, number

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
        graph += block(11, _described("images", input_shape)) + block(12, _described(output, output_shape))
        opset = block(8, block(1, "") + number(2, _OPSET))
        return number(1, _IR_VERSION) + block(2, "kcrc") + opset + block(7, graph)


def _described(name: str, shape: Sequence[int | str]) -> bytes:
    dims = b"".join(block(1, number(1, n) if isinstance(n, int) else block(2, n)) for n in shape)
    return block(1, name) + block(2, block(1, number(1, _FLOAT) + block(2, dims)))
