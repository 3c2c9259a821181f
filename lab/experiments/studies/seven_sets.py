"""The seven sets that choices are judged by, and their splits: the same rows for as long as runs are compared."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.model_selection import train_test_split

from kcrc._base.arrays import Array
from kcrc.errors import UnknownName
from lab.experiments.studies.samples import dataset, per_class, vectors

SETS = ("digits", "mnist500", "usps", "yaleb", "scene15_spm", "caltech256_clip", "caltech101_spm")


def load(name: str, seed: int, data: Path | None = None) -> tuple[Array, Array, Array, Array]:
    """Training and test samples and labels of one split; seed 0 is the published split where there is one."""
    if name not in SETS:
        raise UnknownName("set", name, SETS)
    source = name.removesuffix("500")
    X, y = vectors(source, data)
    if name == "digits":
        train, test = train_test_split(np.arange(len(y)), test_size=0.5, random_state=seed, stratify=y)
    elif name == "mnist500":
        found = dataset(source, data)
        train, test = found.extras["author500_train"], found.test
        if seed:
            train = found.train[per_class(y[found.train], 50, seed)[0]]
    elif name in ("usps", "caltech256_clip"):
        train, test = dataset(source, data).train, dataset(source, data).test
        if seed:
            sizes = {"test_size": 2007} if name == "usps" else {"train_size": len(train)}
            train, test = train_test_split(np.arange(len(y)), random_state=seed, stratify=y, **sizes)
    else:
        train, test = per_class(y, {"yaleb": 32, "scene15_spm": 100, "caltech101_spm": 30}[name], seed)
        if name == "yaleb":
            faces = np.random.default_rng(1000 + seed).normal(size=(X.shape[1], 504)).astype(np.float32)
            X = X @ (faces / np.linalg.norm(faces, axis=0))
    return X[train], X[test], y[train], y[test]
