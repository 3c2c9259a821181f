"""PyTorch weight files that mean harm, or nothing at all: ``hostile_weights(seed)`` is one, the same for the same seed.

Good small files of both layouts are cut, flipped and repeated; pickles are made of random instructions; and there are
those that ask for names, for memory without end, or for time without end.
"""

from __future__ import annotations

import io
import random
import struct
import zipfile

from images.features.torch_files import TABLE, Stored, Tensor, as_stream, as_zip, pickled

NAMES = ("os system", "builtins eval", "torch load", "torch FloatStorage", "collections OrderedDict", "numpy array")
SIZES = (0, 1, 255, 2**16, 2**31 - 1, 2**32 - 1)


def hostile_weights(seed: int) -> bytes:
    """The file of this seed."""
    rng = random.Random(seed)
    return rng.choice((_spoiled_bytes, _spoiled_bytes, _random_pickle, _greedy_pickle, _odd_tensors, _odd_zip))(rng)


def _wrapped(rng: random.Random, index: bytes) -> bytes:
    """A pickle in a file of either layout."""
    if rng.random() < 0.5:
        return as_zip(index=index)
    return as_stream().replace(pickled(TABLE), index)


def _spoiled_bytes(rng: random.Random) -> bytes:
    content = bytearray(rng.choice((as_stream, as_zip))())
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


def _random_pickle(rng: random.Random) -> bytes:
    """Instructions in any order, with arguments of the right form."""
    steps = [b"\x80\x02"]
    for _ in range(rng.randrange(1, 60)):
        steps.append(
            rng.choice(
                (
                    lambda: bytes([rng.choice(b"(t\x85\x86\x87)}]N\x8802")]),
                    lambda: bytes([rng.choice(b"RbsuaeQ.o\x81\x921")]),
                    lambda: b"q" + bytes([rng.randrange(4)]),
                    lambda: b"h" + bytes([rng.randrange(4)]),
                    lambda: b"r" + struct.pack("<I", rng.choice(SIZES)),
                    lambda: b"K" + bytes([rng.randrange(256)]),
                    lambda: b"X" + struct.pack("<I", rng.choice((3, 3, *SIZES))) + b"abc",
                    lambda: b"\x8a" + bytes([4]) + rng.randbytes(4),
                    lambda: b"c" + rng.choice(NAMES).replace(" ", "\n").encode() + b"\n",
                    lambda: b"ctorch._utils\n_rebuild_tensor_v2\n",
                    lambda: bytes([rng.randrange(256)]),
                )
            )()
        )
    return _wrapped(rng, b"".join(steps) + b".")


def _greedy_pickle(rng: random.Random) -> bytes:
    """Few bytes that would take all memory, or all time."""
    pairs = rng.choice((20, 40, 90))
    tuples = b"\x80\x02)q\x00" + b"".join(b"h%c\x86q%c" % (i, i + 1) for i in range(pairs))
    made = (
        b"\x80\x02Nr" + struct.pack("<I", rng.choice(SIZES)) + b".",  # an index of the memory
        b"\x80\x04\x8e" + struct.pack("<Q", rng.choice((2**31, 2**40, 2**62))) + b".",  # bytes
        b"\x80\x05\x96" + struct.pack("<Q", rng.choice((2**31, 2**36, 2**62))) + b".",  # a bytearray
        b"\x80\x04\x8d" + struct.pack("<Q", rng.choice((2**31, 2**40, 2**62))) + b".",  # text
        tuples.replace(b"\x80\x02", b"\x80\x02}", 1) + b"Ns.",  # the hash of pairs of pairs of pairs …
        b"\x80\x02" + b"(" * rng.choice((10, 10_000)) + b"t" * 10_000 + b".",
        b"\x80\x02" + b"]" * 20_000 + b"a" * 20_000 + b".",
        b"\x80\x02I" + b"9" * rng.choice((100, 100_000)) + b"\n.",
    )
    return _wrapped(rng, rng.choice(made))


def _odd_tensors(rng: random.Random) -> bytes:
    """A table of tensors that do not fit their numbers, or share them too often."""
    sizes = (0, 1, 2, 3, 12, 13, 2**31, 2**62, 2**70)
    table = {}
    for number in range(rng.choice((1, 1, 5, 2000))):
        axes = rng.choice((0, 1, 1, 2, 3, 40))
        storage = Stored(
            rng.choice("ab"), rng.choice(("FloatStorage", "LongStorage")), rng.choice((12, 12, 1, 0, 2**40))
        )
        shape, stride = ([rng.choice(sizes[:5] if rng.random() < 0.7 else sizes) for _ in range(axes)] for _ in "ab")
        table[f"t{number}"] = Tensor(storage, rng.choice((0, 0, 0, 5, 2**62)), tuple(shape), tuple(stride))
    if rng.random() < 0.2:
        shared = Tensor(Stored("a", "FloatStorage", 12), 0, (3, 4), (4, 1))
        table = {f"t{number}": shared for number in range(3_000)}
    return as_zip(table) if rng.random() < 0.5 else as_stream(table, keys=rng.choice((("a",), ("a", "b"), ("a", "a"))))


def _odd_zip(rng: random.Random) -> bytes:
    out = io.BytesIO()
    packed = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))
    members = {
        rng.choice(("m/data.pkl", "data.pkl", "x", "a/b/data.pkl")): pickled(TABLE),
        "m/data/a": b"\0" * rng.choice((0, 47, 48, 49, 2_000_000)),
        rng.choice(("m/data/b", "../data/b", "/data/b")): b"\0" * 8,
    }
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, packed)
    made = bytearray(out.getvalue())
    if rng.random() < 0.5:  # the directory says other sizes than there are
        at = made.rfind(b"PK\x01\x02") + rng.choice((20, 24, 42))
        made[at : at + 4] = struct.pack("<I", rng.choice(SIZES))
    return bytes(made)
