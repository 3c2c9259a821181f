"""ONNX files as nested lists of (field, value), and a small good one: what tests and hostile files are made from."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

import numpy as np

from kcrc.images.network.protobuf import varint

Value = int | float | bytes | str | list  # list: a message
Message = list[tuple[int, Value]]

TYPES = {1: "<f4", 2: "<u1", 3: "<i1", 6: "<i4", 7: "<i8", 9: "?", 10: "<f2", 11: "<f8"}


def good_onnx(seed: int = 0) -> bytes:
    """A small network with a little of everything that is let through."""
    return encoded(good_message(random.Random(seed)))


def encoded(message: Message, spoil: Callable[[int, Value, bytes], bytes] | None = None) -> bytes:
    """The bytes of a message; ``spoil`` gets a look at each field."""
    parts = []
    for field, value in message:
        whole = _field(field, encoded(value, spoil) if isinstance(value, list) else value)
        parts.append(whole if spoil is None else spoil(field, value, whole))
    return b"".join(parts)


def _field(field: int, value: Value) -> bytes:
    if isinstance(value, int):
        return varint(field << 3) + varint(value)
    if isinstance(value, float):
        return varint(field << 3 | 5) + struct.pack("<f", value)
    content = value.encode() if isinstance(value, str) else bytes(value)
    return varint(field << 3 | 2) + varint(len(content)) + content


def tensor(name: str, values: np.ndarray, kind: int = 1) -> Message:
    """A TensorProto with raw numbers."""
    with np.errstate(all="ignore"):
        raw = np.asarray(values).astype(TYPES[kind]).tobytes()
    return [*((1, int(n)) for n in np.shape(values)), (2, kind), (8, name), (9, raw)]


def node(operator: str, inputs: list[str], outputs: list[str], *attributes: Message) -> Message:
    """A NodeProto."""
    names = [(1, name) for name in inputs] + [(2, name) for name in outputs]
    return [*names, (3, f"{operator} node"), (4, operator), *((5, a) for a in attributes)]


def attribute(name: str, value: int | float | str | list[int] | Message, kind: int) -> Message:
    """An AttributeProto of type ``kind``: 1 fraction, 2 number, 3 word, 4 tensor, 5 graph, 7 numbers."""
    fields = {1: 2, 2: 3, 3: 4, 4: 5, 5: 6, 7: 8}
    values = value if kind == 7 else [value]
    return [(1, name), *((fields[kind], v) for v in values), (20, kind)]


def described(name: str, *dims: int | str) -> Message:
    """A ValueInfoProto of fractions."""
    shape = [(1, [(1, d) if isinstance(d, int) else (2, d)]) for d in dims]
    return [(1, name), (2, [(1, [(1, 1), (2, shape)])])]


def model(nodes: list[Message], tensors: list[Message], outputs: list[Message], *more: tuple[int, Value]) -> Message:
    """A ModelProto that takes images (n, 3, 8, 8)."""
    graph: Message = [*((1, n) for n in nodes), (2, "g"), *((5, t) for t in tensors)]
    graph += [(11, described("images", "n", 3, 8, 8)), *((12, o) for o in outputs)]
    return [(1, 8), (2, "tests"), (8, [(1, ""), (2, 17)]), (7, graph), *more]


def good_message(rng: random.Random) -> Message:
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    width = rng.choice((2, 4))
    branch = [(1, node("Identity", ["flat"], ["b"])), (2, "branch"), (12, described("b", "n", width))]
    nodes = [
        node("Conv", ["images", "w"], ["c"], attribute("pads", [1, 1, 1, 1], 7), attribute("group", 1, 2)),
        node("Relu", ["c"], ["r"]),
        node("MaxPool", ["r"], ["m"], attribute("kernel_shape", [2, 2], 7), attribute("strides", [2, 2], 7)),
        node("GlobalAveragePool", ["m"], ["p"]),
        node("Flatten", ["p"], ["flat"], attribute("axis", 1, 2)),
        node("If", ["yes"], ["i"], attribute("then_branch", branch, 5), attribute("else_branch", branch, 5)),
        node("LeakyRelu", ["i"], ["l"], attribute("alpha", 0.1, 1)),
        node("Constant", [], ["k"], attribute("value", tensor("", np.ones((width, 3))), 4)),
        node("MatMul", ["l", "k"], ["y"]),
    ]
    typed: Message = [(1, 1), (2, 9), (5, 1), (8, "yes")]  # numbers that are spelled out, not raw
    weights = [tensor("w", numbers.normal(size=(width, 3, 3, 3))), typed]
    return model(nodes, weights, [described("y", "n", 3)], (14, [(1, "made"), (2, "for tests")]), (6, "doc"))


def padded(value: int, size: int) -> bytes:
    """A whole number in more bytes than it needs."""
    return bytes(value >> 7 * i & 0x7F | (0x80 if i < size - 1 else 0) for i in range(size))


def outside(kind: str = "external_data") -> Message:
    """A tensor whose numbers lie in another file."""
    entries = [(13, [(1, "location"), (2, "secret.bin")]), (13, [(1, "length"), (2, "48")])]
    given = {"entry": entries, "place": [(14, 1)]}.get(kind, [*entries, (14, 1)])
    return [(1, 3), (1, 4), (2, 1), (8, "w"), *given]
