"""Ways to damage bytes and to make plain values hostile, shared by the areas."""

from __future__ import annotations

import json
import random
from typing import Any

CONTROL = ["\x1b[31m", "\x1b]0;title\x07", "\r", "\n", "\x08", "\x7f", "\x9b2J", "\u202e", "\u2028", "\0"]
PATHS = [
    "../outside/private.txt",
    "/etc/passwd",
    "~/.ssh/id_rsa",
    "..",
    "/",
    "",
    ".",
    "C:\\Windows\\x",
    "//host/share/x",
]
TEXTS = [
    "",
    " ",
    "a" * 5000,
    "<script>alert(1)</script>",
    "=1+1",
    "%s%n",
    "nan",
    "None",
    "\udcff",
    "e\u0301",
    *CONTROL,
    *PATHS,
]
NUMBERS: list[Any] = [
    0, -1, 1, 2, 3, 7, 255, 256, 65535, 2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**62, 2**63 - 1, -(2**63), 2**63,
    10**30,
    0.0, -0.0, 0.5, -1.5, 1e-320, 5e-324, 1e-30, 1e20, 1e40, 1e154, 1e200, 1.7e308, -1e308,
    float("inf"), float("-inf"), float("nan"),
]  # fmt: skip


def damaged(data: bytes, rng: random.Random) -> bytes:
    """A copy with some bits, bytes or stretches changed, cut, doubled, zeroed or moved."""
    out = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        if not out:
            break
        at = rng.randrange(len(out))
        size = min(rng.choice([1, 2, 4, 8, 64, 512, 4096]), len(out) - at)
        kind = rng.randrange(9)
        if kind <= 1:
            out[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            out[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF])
        elif kind == 3:
            out[at : at + size] = bytes(size)
        elif kind == 4:
            out[at : at + size] = rng.randbytes(size)
        elif kind == 5:
            del out[at : len(out) if rng.random() < 0.5 else at + size]
        elif kind == 6:
            out[at:at] = out[at : at + size]
        elif kind == 7:
            width = rng.choice([2, 4, 8])
            value = rng.choice([0, 1, 2 ** (8 * width - 1) - 1, 2 ** (8 * width - 1), 2 ** (8 * width) - 1, 1 << 20])
            out[at : at + width] = (value % 2 ** (8 * width)).to_bytes(width, rng.choice(["little", "big"]))
        else:
            to = rng.randrange(len(out))
            out[to : to + size] = out[at : at + size]
    return bytes(out)


def value(rng: random.Random, depth: int = 0) -> Any:
    """A plain value that is not expected."""
    kind = rng.randrange(7 if depth < 3 else 4)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.choice(NUMBERS)
    if kind == 2:
        return rng.choice(TEXTS)
    if kind == 3:
        return rng.choice([[], {}, [[]], [0] * 1000, {"": None}])
    if kind == 4:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    if kind == 5:
        return {rng.choice(TEXTS)[:20]: value(rng, depth + 1) for _ in range(rng.randrange(4))}
    return nested(rng.choice([10, 60, 900, 5000]))


def nested(depth: int) -> Any:
    """Lists in lists."""
    made: Any = []
    for _ in range(depth):
        made = [made]
    return made


def as_json(given: Any) -> str:
    """JSON of plain values, also of those that JSON has no word for, and of lists too deep to be written."""
    try:
        return json.dumps(given, ensure_ascii=False, default=str)
    except RecursionError:
        return "[" * 5000 + "]" * 5000


def tree(given: Any, rng: random.Random, *, changes: int = 1) -> Any:
    """A copy of a tree of plain values with some nodes replaced, dropped, doubled or swapped."""
    for _ in range(changes):
        given = _changed(given, rng)
    return given


def _changed(given: Any, rng: random.Random) -> Any:
    """Walk down at random and change what is there."""
    if isinstance(given, dict) and given and rng.random() < 0.85:
        key = rng.choice(list(given))
        fate = rng.random()
        if fate < 0.06:
            return {k: v for k, v in given.items() if k != key}
        if fate < 0.12:
            return {**given, rng.choice([*TEXTS[:6], "__class__", "__init__", "model_", key + "_"]): value(rng)}
        if fate < 0.18:
            return {**given, key: given[rng.choice(list(given))]}
        return {**given, key: _changed(given[key], rng)}
    if isinstance(given, list) and given and rng.random() < 0.85:
        at = rng.randrange(len(given))
        fate = rng.random()
        if fate < 0.08:
            return given[:at] + given[at + 1 :]
        if fate < 0.16:
            return given + given
        return [*given[:at], _changed(given[at], rng), *given[at + 1 :]]
    if isinstance(given, bool) or given is None:
        return value(rng)
    if isinstance(given, int | float) and rng.random() < 0.7:
        return rng.choice([rng.choice(NUMBERS), given + 1, -given, given * 1000, float(given)])
    if isinstance(given, str) and rng.random() < 0.5:
        return rng.choice([rng.choice(TEXTS), given + rng.choice(TEXTS), given[:-1], given.upper()])
    return value(rng)
