"""The compiled entries called directly: calls that the library makes, with some arguments changed to anything."""

from __future__ import annotations

import pickle
import random
import sys
from typing import Any

import numpy as np

from fuzz.area import Area, register
from fuzz.borrowed import from_tests
from fuzz.mutation import NUMBERS, TEXTS
from fuzz.place import Place
from kcrc import native as loader

Call = tuple[str, tuple[Any, ...], dict[str, Any]]
_EACH = 12  # healthy calls kept of an entry
_DTYPES = ("f2", "f4", "f8", "i1", "i4", "i8", "u1", "u8", "?", "c8", ">f8", ">i8", "U4", "O")


class _Recorder:
    """Stands where the compiled module stood, and keeps what it is called with."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.calls: dict[str, list[Call]] = {}

    def __getattr__(self, name: str) -> Any:
        entry = getattr(self.module, name)

        def recorded(*given: Any, **named: Any) -> Any:
            kept = self.calls.setdefault(name, [])
            size = sum(value.nbytes for value in (*given, *named.values()) if isinstance(value, np.ndarray))
            if len(kept) < _EACH and size < 2_000_000:
                kept.append(pickle.loads(pickle.dumps((name, given, named))))
            return entry(*given, **named)

        return recorded


@register("native", about="compiled entries called directly", share=5000)
class Native(Area):
    expected = (ValueError, TypeError, IndexError, OverflowError)

    def prepare(self) -> None:
        if loader.native is not None:
            (self.samples / "calls.pickle").write_bytes(pickle.dumps(_healthy_calls()))

    def load(self) -> None:
        self.calls: dict[str, list[Call]] = {}
        if loader.native is not None:
            self.calls = pickle.loads((self.samples / "calls.pickle").read_bytes())

    def plant(self, place: Place, rng: random.Random) -> Any:
        if not self.calls:
            return None
        if rng.random() < 0.5:
            return from_tests("native/native_entries.py").Case(rng.getrandbits(31))
        name, given, named = rng.choice(self.calls[rng.choice(sorted(self.calls))])
        values = [*given, *named.values()]
        copies = [np.array(value) if isinstance(value, np.ndarray) else value for value in values]
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            at = rng.randrange(len(copies))
            copies[at] = _changed(copies[at], rng, copies)
        return name, tuple(copies[: len(given)]), dict(zip(named, copies[len(given) :], strict=True))

    def use(self, place: Place, planted: Any) -> None:
        if hasattr(planted, "run"):
            planted.run()
        elif planted is not None:
            name, given, named = planted
            getattr(loader.native, name)(*given, **named)


def _healthy_calls() -> dict[str, list[Call]]:
    """Every compiled entry as the library itself calls it, by fitting classifiers of all kinds."""
    from kcrc import KCRCClassifier, distances
    from kcrc.method.learned import DKSVDClassifier

    compiled = loader.native
    recorder = _Recorder(compiled)
    callers = [m for n, m in sys.modules.items() if n.startswith("kcrc.") and getattr(m, "native", None) is compiled]
    for module in callers:
        module.native = recorder  # type: ignore[attr-defined]
    rng = np.random.default_rng(0)
    y = np.arange(24) % 3
    images = np.clip(rng.random((24, 8, 8)) * 0.3 + y[:, None, None] / 4, 0, 1)
    X = images.reshape(24, 64)
    settings: list[dict[str, Any]] = [
        {},
        {"coder": "lasso"},
        {"kernel": "polynomial"},
        {"form": "gram", "kernel": "rbf"},
    ]
    settings += [{"distance": name, "n_neighbors": 5, "kernel": "exp"} for name in distances.names()]
    for setting in settings:
        for dtype in (np.float32, np.float64):
            try:
                KCRCClassifier(**setting).fit(X.astype(dtype), y).predict(X.astype(dtype))
            except Exception:  # some distances need other samples
                continue
    tangent = distances.make("tangent").fit(X, y, sample_shape=(64,))
    for dtype in (np.float32, np.float64):
        tangent.within(tangent.prepare(X.astype(dtype)), np.array([[0, 1, 2], [3, 4, 5]]))
        DKSVDClassifier(n_atoms=6, sparsity=2).fit(X.astype(dtype), y).predict(X.astype(dtype))
    for module in callers:
        module.native = compiled  # type: ignore[attr-defined]
    return recorder.calls


def _changed(given: Any, rng: random.Random, others: list[Any]) -> Any:
    if isinstance(given, np.ndarray) and rng.random() < 0.9:
        return _changed_array(given, rng, others)
    if isinstance(given, tuple) and given and rng.random() < 0.7:
        at = rng.randrange(len(given))
        return (*given[:at], _changed(given[at], rng, others), *given[at + 1 :])
    arrays: list[Any] = [value for value in others if isinstance(value, np.ndarray)] or [None]
    return rng.choice(
        [rng.choice(NUMBERS), rng.choice(NUMBERS), rng.choice(TEXTS), None, True, [], (), rng.choice(arrays)]
    )


def _changed_array(array: Any, rng: random.Random, others: list[Any]) -> Any:
    kind = rng.randrange(9)
    if kind <= 2 and array.size:
        return _other_values(array, rng)
    if kind == 3:
        with np.errstate(all="ignore"):
            return array.astype(rng.choice(_DTYPES))
    if kind == 4:
        return array[tuple(slice(0, rng.choice([0, 1, max(0, n - 1), n])) for n in array.shape)]
    if kind == 5:
        return rng.choice(
            [array.T, array[..., None], array.ravel(), array[None], array[::-1], np.asfortranarray(array)]
        )
    if kind == 6:
        return np.concatenate([array, array]) if array.ndim else array
    if kind == 7:
        shape = tuple(rng.choice([n, n + 1, 0, 1]) for n in array.shape)
        return np.broadcast_to(np.zeros((), array.dtype), shape) if rng.random() < 0.5 else np.zeros(shape, array.dtype)
    array.flags.writeable = rng.random() < 0.5
    same = [value for value in others if isinstance(value, np.ndarray) and value.dtype == array.dtype]
    return rng.choice(same) if same else array


def _other_values(array: Any, rng: random.Random) -> Any:
    out = np.array(array)
    for _ in range(rng.choice([1, 1, 4, out.size])):
        at = tuple(rng.randrange(n) for n in out.shape)
        limits = np.iinfo(out.dtype) if out.dtype.kind in "iu" else None
        low, high = (int(limits.min), int(limits.max)) if limits else (0, 0)
        pool = [low, high, 0, 1, len(out), len(out) - 1, 10**6, 64] if limits else NUMBERS
        try:
            with np.errstate(all="ignore"):
                out[at] = rng.choice(pool)
        except (OverflowError, ValueError, TypeError):
            continue
    return out
