"""ONNX files that mean harm, or nothing at all: ``hostile_onnx(seed)`` is one, the same for the same seed.

A small good network is spoiled in one place: its bytes (cut, flipped, repeated), its wire format (long tags, wrong
kinds, forged lengths), its structure (files to read, functions, depth, counts), or what its operators are told to do.
Most are for the audit to refuse; those of the last sort are for onnxruntime, and some bring it down.
"""

from __future__ import annotations

import random

import numpy as np

from images.features.onnx_files import (
    TYPES,
    Message,
    Value,
    attribute,
    described,
    encoded,
    good_message,
    good_onnx,
    model,
    node,
    outside,
    padded,
    tensor,
)
from kcrc.images.network.protobuf import varint

EXTREMES = (0, 1, -1, 2, -2, 7, 255, 2**31 - 1, -(2**31), 2**31, 2**32, 2**40, 2**62, 2**63 - 1, -(2**63))
# operator: how many inputs, and its attributes (i: a number, I: numbers, f: a fraction, s: a word)
OPERATORS = {
    "ArgMax": (1, "axis:i keepdims:i select_last_index:i"),
    "AveragePool": (1, "kernel_shape:I strides:I pads:I ceil_mode:i count_include_pad:i auto_pad:s"),
    "BatchNormalization": (5, "epsilon:f momentum:f"),
    "Cast": (1, "to:i"),
    "Clip": (3, ""),
    "Compress": (2, "axis:i"),
    "Concat": (2, "axis:i"),
    "ConstantOfShape": (1, ""),
    "Conv": (2, "kernel_shape:I strides:I pads:I dilations:I group:i auto_pad:s"),
    "ConvTranspose": (2, "kernel_shape:I strides:I pads:I dilations:I group:i output_padding:I output_shape:I"),
    "CumSum": (2, "exclusive:i reverse:i"),
    "DepthToSpace": (1, "blocksize:i"),
    "Div": (2, ""),
    "Expand": (2, ""),
    "EyeLike": (1, "k:i dtype:i"),
    "Flatten": (1, "axis:i"),
    "Gather": (2, "axis:i"),
    "GatherElements": (2, "axis:i"),
    "GatherND": (2, "batch_dims:i"),
    "Gemm": (3, "transA:i transB:i alpha:f beta:f"),
    "GridSample": (2, "align_corners:i"),
    "GroupNormalization": (3, "num_groups:i epsilon:f"),
    "LRN": (1, "size:i alpha:f beta:f bias:f"),
    "LayerNormalization": (2, "axis:i epsilon:f"),
    "LpPool": (1, "kernel_shape:I strides:I pads:I p:i"),
    "MatMul": (2, ""),
    "MaxPool": (1, "kernel_shape:I strides:I pads:I dilations:I ceil_mode:i storage_order:i"),
    "Mod": (2, "fmod:i"),
    "OneHot": (3, "axis:i"),
    "Pad": (3, "mode:s"),
    "Range": (3, ""),
    "ReduceMean": (1, "axes:I keepdims:i"),
    "ReduceSum": (2, "keepdims:i noop_with_empty_axes:i"),
    "Reshape": (2, "allowzero:i"),
    "Resize": (4, "mode:s"),
    "ScatterElements": (3, "axis:i"),
    "ScatterND": (3, ""),
    "Slice": (5, ""),
    "Softmax": (1, "axis:i"),
    "SpaceToDepth": (1, "blocksize:i"),
    "Split": (2, "axis:i num_outputs:i"),
    "Squeeze": (2, ""),
    "Tile": (2, ""),
    "TopK": (2, "axis:i largest:i sorted:i"),
    "Transpose": (1, "perm:I"),
    "Trilu": (2, "upper:i"),
    "Unsqueeze": (2, ""),
    "Where": (3, ""),
}
WORDS = ("NOTSET", "SAME_UPPER", "VALID", "constant", "reflect", "edge", "wrap", "nearest", "linear", "cubic", "")


def hostile_onnx(seed: int) -> bytes:
    """The file of this seed."""
    rng = random.Random(seed)
    return rng.choice((_spoiled_bytes, _spoiled_wire, _spoiled_wire, _spoiled_structure, _spoiled_operators))(rng)


# ------------------------------------------------------------------------------------------------ spoiling


def _spoiled_bytes(rng: random.Random) -> bytes:
    content = bytearray(good_onnx(rng.randrange(8)))
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        at = rng.randrange(len(content))
        end = min(len(content), at + rng.randrange(1, 40))
        how = rng.randrange(5)
        if how == 0:
            content[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            content[at] = rng.choice((0, 1, 0x7F, 0x80, 0xFF))
        elif how == 2:
            content[at:end] = b""
        elif how == 3:
            content[at:at] = content[at:end] * rng.choice((1, 2, 50))
        else:
            content[at:at] = rng.randbytes(end - at)
        if not content:
            return b""
    return bytes(content[: rng.randrange(len(content))] if rng.random() < 0.2 else content)


class _Spoil:
    """Spoils one field out of all, chosen beforehand."""

    def __init__(self, rng: random.Random, at: int) -> None:
        self.rng, self.left = rng, at

    def __call__(self, field: int, value: Value, whole: bytes) -> bytes:
        self.left -= 1
        if self.left != 0:
            return whole
        key = field << 3 | (0 if isinstance(value, int) else 5 if isinstance(value, float) else 2)
        body = whole[len(varint(key)) :]
        rng = self.rng
        return rng.choice(
            (
                lambda: varint(key | 1 << rng.randrange(32, 64)) + body,  # a tag of more than 32 bits
                lambda: padded(key, rng.randrange(2, 11)) + body,
                lambda: varint(key) + padded(rng.choice(EXTREMES) & (2**64 - 1), 10),
                lambda: varint(key & ~7 | rng.randrange(8)) + body,
                lambda: varint(rng.choice((0, 13, 26, 99, 2**29 - 1)) << 3 | key & 7) + body,
                lambda: whole + whole,
                lambda: whole + varint(key & ~7 | 3) + varint(key & ~7 | 4),  # a group
                lambda: varint(key & ~7 | 2) + varint(rng.choice((len(body) + 9, 2**31, 2**63, 2**64 - 1))) + body,
                lambda: varint(key & ~7) + varint(rng.choice(EXTREMES)),
                lambda: varint(key & ~7 | 2) + varint(40) + rng.randbytes(40),
                lambda: b"",
                lambda: whole * 2000,
            )
        )()


def _spoiled_wire(rng: random.Random) -> bytes:
    message = good_message(random.Random(rng.randrange(8)))
    count = _Spoil(rng, 0)
    encoded(message, count)
    return encoded(message, _Spoil(rng, rng.randrange(1, 1 - count.left)))


def _spoiled_structure(rng: random.Random) -> bytes:
    flat = [node("GlobalAveragePool", ["images"], ["p"]), node("Flatten", ["p"], ["f"])]
    last = node("MatMul", ["f", "w"], ["y"])
    out = [described("y", "n", 4)]
    weight = tensor("w", np.ones((3, 4)))
    away = outside(rng.choice(("external_data", "entry", "place")))
    constant = node("Constant", [], ["w"], attribute("value", away, 4))
    function: Message = [(1, "f"), (4, "a"), (5, "b"), (7, constant), (10, "own")]
    how = rng.randrange(12)
    if how == 0:
        return encoded(model([*flat, last], [away], out))
    if how == 1:
        return encoded(model([*flat, constant, last], [], out))
    if how == 2:
        return encoded(model([*flat, last], [weight], out, (25, function)))
    if how == 3:
        return encoded(model([*flat, last], [weight], out, (20, [(1, [(5, away)])])))
    if how == 4:
        sparse: Message = [(1, away), (2, tensor("", np.zeros(1), 7)), (3, 12)]
        return encoded([*model([*flat, last], [], out)[:-1], (7, [(2, "g"), (15, sparse)])])
    if how == 5:
        return _nested(rng.choice((2, 9, 100, 5000)))
    if how == 6:
        wrong = [*((1, rng.choice(EXTREMES)) for _ in range(rng.choice((0, 1, 2, 5, 40)))), *weight[2:]]
        return encoded(model([*flat, last], [wrong], out))
    if how == 7:
        wrong = [*weight[:2], (2, rng.randrange(25)), *weight[3:]]
        return encoded(model([*flat, last], [wrong], out))
    if how == 8:
        odd = rng.choice(("Loop", "Scan", "RandomNormal", "ImageDecoder", "SequenceEmpty", "Nothing", "matmul", ""))
        return encoded(model([*flat, node(odd, ["f", "w"], ["y"])], [weight], out))
    if how == 9:
        domain = rng.choice(("com.microsoft", "ai.onnx.ml", "own", "../evil"))
        return encoded(model([*flat, [*last, (7, domain)]], [weight], out))
    if how == 10:
        return varint(2 << 3 | 2) + varint(20) + b"xxORTM" + b"\0" * 14 + encoded(model([*flat, last], [weight], out))
    return encoded(model([*flat, last] + [node("Relu", ["f"], [f"r{i}"]) for i in range(2000)], [weight] * 500, out))


def _nested(depth: int) -> bytes:
    graph = encoded([(1, node("Identity", ["f"], ["y"])), (2, "g"), (12, described("y", "n", 3))])
    for _ in range(depth):
        graph = encoded([(1, node("If", ["yes"], ["y"], attribute("then_branch", graph, 5))), (2, "g")])
    return encoded([(1, 8), (8, [(1, ""), (2, 17)]), (7, graph)])


def _spoiled_operators(rng: random.Random) -> bytes:
    """Well-formed, of known operators, with numbers that make no sense."""
    tensors: list[Message] = []
    nodes: list[Message] = []
    source = "images"
    for _ in range(rng.choice((1, 1, 2, 3))):
        operator = rng.choice(sorted(OPERATORS))
        count, described_as = OPERATORS[operator]
        inputs = [source]
        for _ in range(count - 1):
            tensors.append(_odd_tensor(rng, f"w{len(tensors)}"))
            inputs.append(rng.choice((f"w{len(tensors) - 1}",) * 8 + ("images", "")))
        given = [_odd_attribute(rng, *word.split(":")) for word in described_as.split() if rng.random() < 0.8]
        source = f"x{len(nodes)}"
        nodes.append(node(operator, inputs, [source], *given))
    return encoded(model(nodes, tensors, [[(1, source)]]))


def _odd_tensor(rng: random.Random, name: str) -> Message:
    kind = rng.choice((1, 1, 7, 7, 7, 6, 9, 2))
    shape = tuple(rng.choice((0, 1, 1, 2, 3, 4)) for _ in range(rng.choice((0, 1, 1, 2, 4))))
    count = int(np.prod(shape, dtype=int))
    small = rng.random() < 0.6
    if kind == 1:
        values = [rng.choice((0.0, 1.0, -1.0, 0.5, 1e30, float("nan"), float("inf"))) for _ in range(count)]
    elif kind == 7:
        values = [rng.randint(-2, 8) if small else rng.choice(EXTREMES) for _ in range(count)]
    else:
        values = [rng.randint(0, 3) for _ in range(count)]
    return tensor(name, np.array(values, float if kind == 1 else np.int64).reshape(shape), kind)


def _odd_attribute(rng: random.Random, name: str, kind: str) -> Message:
    def number() -> int:
        return rng.randint(-1, 4) if rng.random() < 0.7 else rng.choice(EXTREMES)

    if kind == "i":
        return attribute(name, rng.choice(sorted(TYPES)) if name in ("to", "dtype") else number(), 2)
    if kind == "I":
        return attribute(name, [number() for _ in range(rng.choice((0, 1, 2, 2, 2, 4, 4, 5)))], 7)
    if kind == "f":
        return attribute(name, rng.choice((0.0, 1.0, -1.0, 1e30, float("nan"), float("inf"))), 1)
    return attribute(name, rng.choice(WORDS), 3)
