"""Tables of vectors and labels that somebody sent: .npy, .npz and .csv files that claim, hide, pack or mix."""

from __future__ import annotations

import gzip
import io
import random
import zipfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from fuzz.area import Area, Wrong, register
from fuzz.mutation import NUMBERS, TEXTS, damaged
from fuzz.place import Place
from kcrc.images.features.vectors import read_vectors
from lab.datasets.archives import read_npz
from lab.datasets.digits import read_idx, read_usps_text
from lab.datasets.yaleb import read_pgm

_DESCRIPTIONS = ("<f4", "<f8", ">f2", "|O", "<U5", "<U99999999", "<c16", "<M8[s]", "|V10", "|b1", "x", "[('a', '<f4')]")


@register("tables", about="tables of vectors, labels and data sets", share=1000)
class Tables(Area):
    uses_box = True  # Parquet

    def plant(self, place: Place, rng: random.Random) -> str:
        kind = rng.choice(list(_MAKERS))
        make = _MAKERS[kind]
        data = make(rng)
        place.name(f"t.{kind}").write_bytes(damaged(data, rng) if rng.random() < 0.4 or kind == "parquet" else data)
        return f"t.{kind}"

    def use(self, place: Place, planted: str) -> None:
        if planted.split(".", 1)[1] in _READERS:
            _READERS[planted.split(".", 1)[1]](place.folder / planted)
            return
        table = read_vectors(place.folder / planted)
        if table.X.dtype != np.float32 or table.X.ndim != 2 or not np.isfinite(table.X).all():
            raise Wrong(f"vectors of {table.X.dtype}, shape {table.X.shape}, or not finite")


def _npy(rng: random.Random) -> bytes:
    """An array whose header is written by hand."""
    extents = [
        rng.choice([0, 1, 3, 4, 1000, 2**20, 2**31, 2**62, -1]) for _ in range(rng.choice([0, 1, 2, 2, 2, 3, 40]))
    ]
    shape = rng.choice([(3, 4), tuple(extents)])
    description = rng.choice(["<f4", rng.choice(_DESCRIPTIONS)])
    header = f"{{'descr': {description!r}, 'fortran_order': {rng.choice(['False', 'True', '7'])}, 'shape': {shape}, }}"
    header = rng.choice([header, header, header, "[" * 900, "__import__('os').system('true')", "{" * 60_000])
    body = np.arange(rng.choice([12, 12, 3]), dtype="<f4").tobytes()
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + min(len(text), 65_535).to_bytes(2, "little") + text + body


def _npz(rng: random.Random) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for name in rng.sample(
            ["vectors", "X", "labels", "classes", "names", "../up", "a" * 300], rng.choice([1, 2, 3, 4])
        ):
            archive.writestr(f"{name}.npy", _plain(name, rng) if rng.random() < 0.7 else _npy(rng))
        if rng.random() < 0.15:  # much from little
            stream = io.BytesIO()
            np.save(stream, np.zeros((rng.choice([100, 300_000]), 100), np.float32))
            archive.writestr("features.npy", stream.getvalue())
    return out.getvalue()


def _plain(name: str, rng: random.Random) -> bytes:
    arrays: dict[str, Any] = {
        "labels": rng.choice(
            [np.arange(5) % 2, np.array(["a", "b", "a", "b", "a"]), np.full(5, 2**40), np.zeros((5, 2))]
        ),
        "classes": rng.choice([np.array(["wren", "robin"]), np.array("x"), np.zeros((2, 0))]),
        "names": np.array([rng.choice(TEXTS) for _ in range(5)]),
    }
    values = np.array([rng.choice(NUMBERS) for _ in range(15)], object).astype(float).reshape(5, 3)
    stream = io.BytesIO()
    np.save(
        stream, arrays.get(name, values if rng.random() < 0.3 else np.ones((5, 3), rng.choice(["f4", "f8", "i8", "?"])))
    )
    return stream.getvalue()


def _csv(rng: random.Random) -> bytes:
    columns = rng.sample(["label", "name", "x1", "x2", "x1", "", *TEXTS[:12]], rng.choice([1, 3, 5]))
    lines = [",".join(columns)]
    for _ in range(rng.choice([0, 3, 30])):
        cells = [str(rng.choice([1, 0.5, rng.choice(NUMBERS), rng.choice(TEXTS)])) for _ in columns]
        lines.append(",".join(cells[: rng.choice([len(cells)] * 6 + [1])]))
    text = rng.choice(["\n", "\r\n", "\r", "\0"]).join(lines)
    text = rng.choice([text, text, text, '"' + "a" * 200_000, "," * 100_000 + "\n" + "," * 100_000])
    return text.encode(rng.choice(["utf-8", "utf-8", "utf-16", "latin-1"]), "backslashreplace")


def _parquet(rng: random.Random) -> bytes:
    if find_spec("pyarrow") is None:
        return b"PAR1"
    import pyarrow
    from pyarrow import parquet

    columns: Any = rng.choice(
        [{"vector": [[1.0, 2.0]] * 9}, {"a": [1.0] * 9, "b": [2] * 9}, {"a": ["x"] * 9, "b": [None] * 9}]
    )
    out = io.BytesIO()
    parquet.write_table(
        pyarrow.table({"label": list("ababababa"), **columns}), out, compression=rng.choice(["snappy", "gzip", "none"])
    )
    return out.getvalue()


def _idx(rng: random.Random) -> bytes:
    axes = rng.choice([0, 1, 2, 3, 255])
    lengths = b"".join(rng.choice([0, 1, 2, 3, 28, 2**31, 2**32 - 1]).to_bytes(4, "big") for _ in range(min(axes, 4)))
    return (
        bytes([0, 0, rng.choice([8, 9, 11, 12, 13, 14, 99]), axes]) + lengths + bytes(rng.choice([0, 6, 784, 100_000]))
    )


def _usps(rng: random.Random) -> bytes:
    line = b" ".join(
        str(rng.choice([0, 1, 0.5, rng.choice(NUMBERS), "x"])).encode() for _ in range(rng.choice([257, 257, 9]))
    )
    return rng.choice([line, line + b"\n" + line, b"0 " * 257, b"\n" * 5_000_000, bytes(5_000_000), b"0 " * 2_000_000])


def _pgm(rng: random.Random) -> bytes:
    between = rng.choice([b" ", b"\n", b" " * 3000, b"#\n" * 1000, b"# " * 1500, b"\n#x\n \t" * 300])
    sizes = [str(rng.choice([1, 8, 192, 10**9, 10**30])).encode() for _ in range(2)]
    return (
        rng.choice([b"P5", b"P2"])
        + between.join([b"", *sizes, rng.choice([b"255", b"65535", b""])])
        + b"\n"
        + bytes(64)
    )


def _packed(make: Callable[[random.Random], bytes]) -> Callable[[random.Random], bytes]:
    return lambda rng: gzip.compress(make(rng), 1)


_MAKERS: dict[str, Callable[[random.Random], bytes]] = {
    "npy": _npy, "npz": _npz, "csv": _csv, "parquet": _parquet, "set.npz": _npz, "idx": _idx, "idx.gz": _packed(_idx),
    "text": _usps, "text.gz": _packed(_usps), "pgm": _pgm,
}  # fmt: skip
_READERS: dict[str, Callable[[Path], Any]] = {
    "idx": read_idx, "idx.gz": read_idx, "text": read_usps_text, "text.gz": read_usps_text, "pgm": read_pgm,
    "set.npz": lambda path: read_npz(path, ("vectors", "labels"), ("classes",)),
}  # fmt: skip
