"""Forged files: galleries, exports and saved classifiers with values nobody would write, and checksums that fit them.

``cases(folder, seed=, count=)`` yields (name, path), the same for the same seed; ``forged_use.py`` uses them.
"""

from __future__ import annotations

import contextlib
import copy
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("support", ".")]

from gallery.forged_files import ForgedArchive, ForgedGallery, Forgery, originals, reseal  # noqa: E402

__all__ = ["cases", "forge", "originals", "reseal"]

NESTED: Any = 1
for _ in range(200):
    NESTED = [NESTED]
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 255, 1 << 31, (1 << 63) - 1, 1 << 63, -(1 << 63), 10**30, 10**400),
    *(0.0, 0.5, -0.5, 1.5, 1e-320, 1e308, float("nan"), float("inf"), -float("inf")),
    *("", "x", "auto", "0", "nan", "rbf", "a/b", "..", "\x1b[31m\n", "\ud800", "\0", "ü" * 2000),
    *([], [1], [0, 0], [1 << 40, 1 << 40], ["x"], [None], [[1]], [1.5, 2], [-1, -1], [float("nan")], NESTED),
    *({}, {"x": 1}, {"": None}, {"a": {"b": NESTED}}),
]
PARTS: list[tuple[str, dict[str, Any]]] = [
    *(("metric/plain", {}), ("kernel/linear", {}), ("os.system", {}), ("kernels.CallableKernel", {"function": "x"})),
    *(("projection/random", {"n_components": 10**12}), ("projection/random", {"n_components": 50_000})),
    *(("coder/lasso", {"tol": 1e-300, "max_iter": 10**12}), ("coder/robust", {"max_iter": 10**9, "tol": 1e-300})),
    *(("kernel/polynomial", {"degree": 10**9}), ("method", {}), ("calibration", {"temperature": -1.0})),
    *(("distance/manhattan", {}), ("form/raw", {"normalize": 1}), ("distance/precomputed", {})),
    *(("kernel/precomputed", {}), ("distance-of-kernel", {"kernel": {"part": "kernel/rbf", "fields": {}}})),
    ("kernel/exp", {"distance": {"part": "distance/manhattan", "fields": {}}}),
    ("metric/standard", {"mean": {"array": "part-0"}, "scale": {"array": "part-1"}}),
    ("metric/within", {"mean": {"array": "part-0"}, "whitening": {"array": "part-1"}}),
    ("distance/texton-chi2", {"scales": {"tuple": [90.0] * 9}, "elongation": 99.0, "textons": {"array": "part-0"}}),
    ("distance/lbp-chi2", {"grid": {"tuple": [999, 999]}, "fitted_shape": {"tuple": [2, 2]}}),
    ("distance/sift", {"grid": {"tuple": [999, 999]}, "n_cells": 64, "n_angles": 999}),
    ("distance/shape-context", {"n_radii": 999, "n_angles": 999, "fitted_shape": {"tuple": [2, 2]}}),
    ("distance/geometric-blur", {"n_rings": 64, "n_spokes": 999, "n_angles": 999}),
    ("distance/tangent", {"sigma": 1e9, "shape": {"tuple": [2, 2, 1]}}),
    ("distance/unified", {"members": {"tuple": ["manhattan", "cosine"]}, "scales": "xy", "weights": {"tuple": [1, 2]}}),
]
ENCODED: list[Any] = [  # as ``kcrc.classifier.stored_parts`` writes what JSON has no word for
    *({"number": "nan"}, {"number": "inf"}, {"number": "x"}, {"array": "part-0"}, {"array": "none"}, {"array": 3}),
    *({"tuple": []}, {"tuple": [1, "x"]}, {"list": [1]}, {"dict": {}}, {"dict": 3}, {"pairs": [[1]]}, {"set": [1]}),
    *({"objects": [1, "x"]}, {"part": ["x"], "fields": {}}, {"part": "metric/plain", "fields": 3}),
    {"part": "metric/plain", "version": 99, "fields": {}},
    *({"part": tag, "version": 1, "fields": fields} for tag, fields in PARTS),
]


def forge(forgery: Forgery, rng: random.Random) -> str:
    """Change one thing; in words, which."""
    if forgery.arrays and rng.random() < 0.35:
        name = rng.choice(sorted(forgery.arrays))
        if rng.random() < 0.1:
            del forgery.arrays[name]
            return f"without {name}"
        kind, made = _forged_array(forgery.arrays[name], rng)
        forgery.arrays[name] = made
        return f"{name} {kind}"
    name = rng.choice(sorted(forgery.documents))
    places = list(_places(forgery.documents[name]))
    place = rng.choice(places) if rng.random() < 0.9 else ()
    value = rng.choice(ENCODED if rng.random() < 0.3 else VALUES)
    what = f"{name} {'/'.join(map(str, place))}"
    if place and rng.random() < 0.1:
        parent = _at(forgery.documents[name], place[:-1])
        del parent[place[-1]]
        return f"{what} left out"
    if place and rng.random() < 0.1:
        value = copy.deepcopy(_at(forgery.documents[name], rng.choice(places)))
    if place and isinstance(_at(forgery.documents[name], place[:-1]), dict) and rng.random() < 0.1:
        _at(forgery.documents[name], place[:-1])[rng.choice(["x", "kind", "model_", "__class__"])] = value
        return f"{what} with one more"
    forgery.documents[name] = _replaced(forgery.documents[name], place, copy.deepcopy(value))
    return f"{what} = {str(value)[:40]!r}"


def _places(tree: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    yield before
    for key, value in items:
        yield from _places(value, (*before, key))


def _at(tree: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        tree = tree[key]
    return tree


def _replaced(tree: Any, place: tuple[Any, ...], value: Any) -> Any:
    if not place:
        return value
    _at(tree, place[:-1])[place[-1]] = value
    return tree


def _forged_array(array: np.ndarray, rng: random.Random) -> tuple[str, np.ndarray]:
    changed = np.array(array)
    flat = changed.reshape(-1)
    kinds: dict[str, Callable[[], np.ndarray]] = {
        "empty": lambda: changed[:0],
        "of no axes": lambda: np.array(flat[0] if flat.size else 0.0),
        "shorter": lambda: changed[:-1] if changed.ndim else changed,
        "doubled": lambda: np.concatenate([changed, changed]) if changed.ndim else changed,
        "transposed": lambda: np.ascontiguousarray(changed.T),
        "flat": lambda: flat,
        "with one more axis": lambda: changed[..., None],
        "as text": lambda: changed.astype(str),
        "as truth values": lambda: changed.astype(str) != "0",
        "as halves": lambda: np.zeros(changed.shape, np.float16),
        "big-endian": lambda: np.ones(changed.shape, ">f8"),
        "of zeros": lambda: np.zeros(changed.shape, changed.dtype),
        "as unsigned bytes": lambda: np.ones(changed.shape, np.uint8),
        "of NaN": lambda: np.full(changed.shape, np.nan),
        "infinite": lambda: np.full(changed.shape, -np.inf),
        "tiny": lambda: np.full(changed.shape, 5e-324),
        "huge": lambda: np.full(changed.shape, 1e308),
        "of the least": lambda: np.full(changed.shape, -(1 << 63), np.int64),
        "of the most": lambda: np.full(changed.shape, (1 << 63) - 1, np.int64),
        "minus one": lambda: np.full(changed.shape, -1, np.int64),
        "wide": lambda: np.zeros((*changed.shape[:-1], 40_000), np.float32) if changed.ndim else changed,
        "one NaN": lambda: _with_one(changed, np.nan),
        "one minus one": lambda: _with_one(changed, -1),
        "one huge": lambda: _with_one(changed, 1 << 62),
        "same": lambda: changed[rng.choice([[0], [-1]]) * len(changed)] if changed.ndim and len(changed) else changed,
    }
    kind = rng.choice(sorted(kinds))
    return kind, kinds[kind]()


def _with_one(array: np.ndarray, value: float) -> np.ndarray:
    made = array.astype(float if np.isnan(value) else np.int64) if array.dtype.kind in "biuf" else array.copy()
    if made.size and made.dtype.kind != "U":
        made.reshape(-1)[made.size // 2] = value
    return made


def cases(folder: Path, *, seed: int = 0, count: int = 1000) -> Iterator[tuple[str, Path]]:
    """(what was forged, the file) one after the other; a file is gone when the next is asked for."""
    every = originals(folder)
    for number in range(seed, seed + count):
        rng = random.Random(number)
        original = every[number % len(every)]
        forgery = ForgedGallery(original) if original.suffix == ".kcrc" else ForgedArchive(original)
        said = [forge(forgery, rng)]
        if rng.random() < 0.15:
            with contextlib.suppress(KeyError, IndexError, TypeError):  # the first may have left no place for a second
                said.append(forge(forgery, rng))
        path = folder / f"forged-{number}{original.suffix}"
        forgery.save(path)
        yield f"{number}: {original.name}: {'; '.join(said)}", path
        for left in folder.glob(f"forged-{number}*"):
            left.unlink()
