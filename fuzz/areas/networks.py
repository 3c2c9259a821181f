"""ONNX files and tables of weights made to do harm: they name other files, claim sizes, nest, run, or are cut short."""

from __future__ import annotations

import io
import random
import struct
import zipfile
from typing import Any

import numpy as np

from fuzz.area import Area, Wrong, register
from fuzz.borrowed import from_tests
from fuzz.mutation import TEXTS, damaged
from fuzz.place import Place
from kcrc.images.network.efficientnet import GraphWriter
from kcrc.images.network.onnx_audit import audit
from kcrc.images.network.protobuf import block, number, varint
from kcrc.images.network.torch_weights import read_state_dict

_OPERATORS = (
    "MatMul", "Reshape", "Expand", "Tile", "ConstantOfShape", "Loop", "If", "Scan", "Pad", "Resize", "Gather", "Range",
    "OneHot", "Conv", "Einsum", "NonZero", "Where", "CumSum", "MaxPool", "Identity", "com.microsoft.X", "",
)  # fmt: skip


@register("networks", about="ONNX files and tables of weights", share=2000)
class Networks(Area):
    def load(self) -> None:
        self.weights = from_tests("images/features/network/test_torch_weights.py")
        self.hostile_onnx = from_tests("images/features/hostile_onnx.py").hostile_onnx
        self.hostile_weights = from_tests("images/features/hostile_weights.py").hostile_weights
        self.network: bytes = from_tests("images/features/onnx_files.py").good_onnx()
        self.tables = (self.weights.as_stream(), self.weights.as_zip())

    def plant(self, place: Place, rng: random.Random) -> Any:
        if rng.random() < 0.5:
            place.name("weights.pth").write_bytes(self._table(rng))
            return "weights"
        place.name("m.onnx").write_bytes(self._network(rng))
        return "onnx"

    def _network(self, rng: random.Random) -> bytes:
        kind = rng.randrange(7)
        if kind <= 1:
            return damaged(self.network, rng)
        if kind == 2:
            return bytes(self.hostile_onnx(rng.getrandbits(32)))
        if kind == 3:
            inner = b""
            for _ in range(rng.choice([3, 70, 5000])):
                inner = block(rng.choice([1, 5, 6, 7]), inner)
            return number(1, 7) + block(7, inner)
        if kind == 4:
            shape = [rng.choice([1, 2, 3, 2**20, 2**31, 2**62, -1]) for _ in range(rng.choice([0, 1, 2, 4, 9]))]
            tensor = b"".join(number(1, n) for n in shape) + number(2, rng.randrange(20)) + block(8, "w0")
            tensor += block(9, rng.randbytes(rng.choice([0, 4, 60])))
            return self.network + block(7, block(5, tensor))
        if kind == 5:
            return b"".join(self._field(rng) for _ in range(rng.randrange(12)))
        return self._graph(rng)

    def _field(self, rng: random.Random) -> bytes:
        key = varint(rng.randrange(30) << 3 | rng.randrange(8))
        return key + rng.choice([b"", varint(rng.getrandbits(64)), varint(5) + b"abcde", b"\xff" * 11, varint(2**60)])

    def _graph(self, rng: random.Random) -> bytes:
        """Operators at random, with sizes that grow."""
        graph = GraphWriter("g")
        out = "images"
        for _ in range(rng.randrange(1, 5)):
            values = np.array([float(rng.choice([0, 1, 2, 1e9, -1])) for _ in range(rng.choice([0, 1, 4]))], np.float32)
            attributes: dict[str, Any] = {rng.choice(["axis", "to", "group"]): rng.choice([0, 1, -1, 7, 2**40])}
            if rng.random() < 0.4:
                name = rng.choice(["pads", "kernel_shape", "strides", "dilations", "axes"])
                attributes[name] = [rng.choice([0, 1, 2, -1, 2**31, 2**40]) for _ in range(rng.choice([1, 2, 4]))]
            inputs = [out, graph.weight(values)][: rng.choice([1, 2])]
            out = graph.node(
                rng.choice(_OPERATORS), rng.choice([inputs, inputs[::-1], [*inputs, "nowhere"]]), **attributes
            )
        side: Any = rng.choice([8, 8, "h", 2**31])
        return graph.content(input_shape=["n", 3, side, 8], output=out, output_shape=["n", 5])

    def _table(self, rng: random.Random) -> bytes:
        kind = rng.randrange(6)
        whole: bytes = rng.choice(self.tables)
        if kind == 0:
            return damaged(whole, rng)
        if kind == 1:
            evil: bytes = rng.choice(list(self.weights.hostile().values()))
            wraps = (self.weights.as_zip(index=evil), self.weights.as_stream(first=evil), evil, whole + evil)
            return damaged(rng.choice(wraps), rng) if rng.random() < 0.3 else rng.choice(wraps)
        if kind == 2:
            return self._tensors(rng)
        if kind == 3:
            return self._opcodes(rng)
        if kind == 4:
            return bytes(self.hostile_weights(rng.getrandbits(32)))
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
            archive.writestr("m/data.pkl", self.weights.pickled(self.weights.TABLE))
            archive.writestr("m/data/a", bytes(rng.choice([0, 48, 30_000_000])))
            archive.writestr(rng.choice(["m/data/b", "../b", "m/data.pkl"]), struct.pack("<q", 7))
        return out.getvalue()

    def _tensors(self, rng: random.Random) -> bytes:
        def size() -> Any:
            return rng.choice([0, 1, 2, 12, 13, 2**31, 2**62, -1, 10**30, 1.5, "x", None])

        shape = tuple(size() for _ in range(rng.randrange(5)))
        stride = tuple(size() for _ in range(len(shape) if rng.random() < 0.8 else 1))
        kind, key = rng.choice(["FloatStorage", "LongStorage", "X"]), rng.choice(["a", "b", *TEXTS[:8]])
        storage = self.weights.Stored(key, kind, rng.choice([12, 12, size()]))
        table = {rng.choice(["x", "", "a" * 999]): self.weights.Tensor(storage, rng.choice([0, size()]), shape, stride)}
        made: bytes = self.weights.as_zip(table) if rng.random() < 0.5 else self.weights.as_stream(table, keys=("a",))
        return made

    def _opcodes(self, rng: random.Random) -> bytes:
        """Opcodes of a pickle at random."""
        pieces = [
            b"(", b".", b"0", b"2", b"N", b"]", b"}", b")", b"t", b"l", b"d", b"u", b"a", b"e", b"s", b"b", b"R",
            b"Q", b"o",
            b"\x81", b"\x93", b"\x94", b"\x8f", b"\x90", b"\x91", b"\x95\xff\xff\xff\xff\xff\xff\xff\x7f", b"h\x00",
            b"q\x00",
            b"j\xff\xff\xff\x7f", b"r\xff\xff\xff\x7f", b"B\xff\xff\xff\x7f", b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7f",
            b"\x8a\x20" + b"\xff" * 32, b"I9999999999\n", b"L" + b"9" * 3000 + b"L\n", b"cos\nsystem\n",
            b"ccollections\nOrderedDict\n",
            b"ctorch\nFloatStorage\n", b"ctorch._utils\n_rebuild_tensor_v2\n", b"X\x04\x00\x00\x00name",
            b"J" + struct.pack("<i", 5),
            b"U\x03abc", b"\x96" + b"\xff" * 7 + b"\x7f", b"P1\n", b"i__main__\nX\n", b"G" + struct.pack(">d",
            rng.choice([1e308, 0.0])),
        ]  # fmt: skip
        body = b"\x80\x02" + b"".join(rng.choice(pieces) for _ in range(rng.randrange(1, 40))) + b"."
        made: bytes = self.weights.as_zip(index=body) if rng.random() < 0.6 else body
        return made

    def use(self, place: Place, planted: str) -> None:
        if planted == "weights":
            self.weights.RAN.clear()
            content = (place.folder / "weights.pth").read_bytes()
            read = read_state_dict(content)
            if self.weights.RAN or sum(array.nbytes for array in read.values()) > 50 * len(content) + 100:
                raise Wrong("a table of weights ran something, or became more than it holds")
        else:
            audit((place.folder / "m.onnx").read_bytes(), "m.onnx")
