"""ONNX files written and audited, without the onnx package."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kcrc.errors import DataError
from kcrc.features.protobuf import block, fields, number
from kcrc.prepared import Array

_FLOAT = 1  # TensorProto.DataType
_IR_VERSION, _OPSET = 7, 13
_DEEPEST = 64  # graphs within graphs; real files have two or three levels


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


def refuse_external_data(content: bytes, source: str) -> None:
    """Raise a DataError when any tensor of an ONNX file lies in another file, or when it is no ONNX file.

    A tensor may name any path as the place of its numbers; reading it would open files the user never named.
    """
    try:
        found_graph = False
        for field, value in fields(memoryview(content)):
            if field == 7 and isinstance(value, memoryview):
                _audit_graph(value, 0)
                found_graph = True
            elif field == 20 and isinstance(value, memoryview):  # training_info: two graphs
                for _, inner in _messages(value, (1, 2)):
                    _audit_graph(inner, 0)
            elif field == 25 and isinstance(value, memoryview):  # functions: nodes
                for _, node in _messages(value, (7,)):
                    _audit_node(node, 0)
    except DataError as problem:
        raise DataError(f"{source} cannot be used as an ONNX file: {problem}.") from problem
    if not found_graph:
        raise DataError(f"{source} is not an ONNX file: it holds no graph.")


def _messages(message: memoryview, wanted: tuple[int, ...]) -> list[tuple[int, memoryview]]:
    return [(f, v) for f, v in fields(message) if f in wanted and isinstance(v, memoryview)]


def _audit_graph(graph: memoryview, depth: int) -> None:
    if depth > _DEEPEST:
        raise DataError(f"graphs are nested more than {_DEEPEST} deep")
    for field, value in _messages(graph, (1, 5, 15)):
        if field == 1:
            _audit_node(value, depth)
        elif field == 5:
            _audit_tensor(value)
        else:
            _audit_sparse(value)


def _audit_node(node: memoryview, depth: int) -> None:
    for _, attribute in _messages(node, (5,)):
        for field, value in _messages(attribute, (5, 6, 10, 11, 22, 23)):
            if field in (5, 10):
                _audit_tensor(value)
            elif field in (6, 11):
                _audit_graph(value, depth + 1)
            else:
                _audit_sparse(value)


def _audit_sparse(sparse: memoryview) -> None:
    for _, tensor in _messages(sparse, (1, 2)):
        _audit_tensor(tensor)


def _audit_tensor(tensor: memoryview) -> None:
    for field, value in fields(tensor):
        if field == 13 or (field == 14 and value != 0):
            raise DataError("some of its weights lie in another file, which is never opened; save it as a single file")
