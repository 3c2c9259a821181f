"""Writes the golden files of a format version: `python tests/golden/write.py FOLDER`, with the kcrc that is to be kept.

Run once for a version, by the last commit that writes it; the files are then never written again. ``answers.json``
holds what that kcrc answered, so that every later one can be compared with it (``test_golden.py``).
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from photos import folder, photo  # the tests' made-up photographs

from kcrc import Gallery, KCRCClassifier, distances, features, projections
from kcrc.gallery import building
from kcrc.images.network.efficientnet import GraphWriter

GIVEN = {
    "n_neighbors": 8,
    "scaling": "plain",
    "kernel": "rbf",
    "gamma": "scale",
    "mu": 0.01,
    "form": "rkhs",
    "decision": "ratio",
    "locality": "atoms",
}
CLASSIFIERS = {
    "plain": {},
    "global": {"n_neighbors": None, "kernel": "linear"},
    "mahalanobis": {"n_neighbors": 10, "distance": "mahalanobis", "kernel": "exp"},
    "manhattan": {"n_neighbors": 5, "n_candidates": 20, "distance": "manhattan", "scaling": "unit"},
    "chi2": {"distance": "chi2", "kernel": "exp"},
    "unified": {"distance": distances.make("unified", members=("manhattan", "cosine")), "kernel": "exp"},
    "classes": {"n_neighbors": 2, "locality": "classes", "form": "gram", "mu": 0.3},
    "raw": {"form": "raw", "decision": "residual", "kernel": "linear"},
    "polynomial": {"kernel": "polynomial", "degree": 2, "gamma": 0.5},
    "within": {"scaling": "within"},
    "standard": {"scaling": "standard"},
    "sparse": {"coder": "lasso", "n_neighbors": 12},
    "projected": {"projection": projections.make("kpca", n_components=4), "n_neighbors": None, "form": "gram"},
    "tangent": {"distance": "tangent", "kernel": "exp"},
    "textons": {"distance": "texton-chi2", "kernel": "exp"},
    "tuned": {"n_neighbors": 12, "scaling": "auto", "kernel": "auto", "mu": "auto"},
}
IMAGES = ("tangent", "textons")  # these see 12 x 12 pictures
LABELS = np.array(["wren", "robin", "owl", "zaunkönig"])


def problem(seed: int = 7, n: int = 48, d: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(examples, labels, queries), all positive, four overlapping classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % len(LABELS)
    centres = rng.uniform(1, 3, (len(LABELS), d))
    X = np.abs(centres[y] + 0.4 * rng.standard_normal((n, d)))
    Q = np.abs(centres[np.arange(16) % len(LABELS)] + 0.4 * rng.standard_normal((16, d)))
    return X, LABELS[y], Q


def said(classifier: KCRCClassifier, Q: np.ndarray) -> dict:
    """What is compared later: labels, neighbours, residuals, contributions, probabilities."""
    found = classifier.explain(Q)
    return {
        "labels": [str(label) for label in found.labels],
        "rows": np.asarray(found.rows).tolist(),
        "residuals": np.asarray(found.residuals, float).tolist(),
        "contributions": np.asarray(found.contributions, float).tolist(),
        "probabilities": classifier.predict_proba(Q).tolist(),
    }


def classifiers(where: Path) -> dict:
    answers = {}
    for name, parameters in CLASSIFIERS.items():
        X, y, Q = problem(d=144 if name in IMAGES else 5)
        made = KCRCClassifier(**{**GIVEN, **parameters}).fit(X[:-4], y[:-4]).partial_fit(X[-4:], y[-4:])
        made.forget([3])
        made.save(where / f"{name}.kcrcmodel")
        answers[name] = said(made, Q)
    return answers


def galleries(where: Path) -> dict:
    X, y, Q = problem(seed=8)
    answers = {}
    with Gallery.create(where / "vectors.kcrc", dim=X.shape[1], dtype="float64") as made:
        made.add(y[:40].tolist(), X[:40], sources=[f"birds/{i}.jpg" for i in range(40)])
        made.add(y[40:].tolist(), X[40:])
        made.remove([3, 7])
        made.relabel([9], "häher")
        made.rename_class("owl", "eule")
        made.remove([11])
        made.undo()
        made.tune()
        answers["vectors"] = {**said(made.classifier(), Q), "counts": made.counts, "history": len(made.history())}
    where = where.absolute()
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):  # so that sources are short names
        photos = folder(Path("photos"), 5)
        with Gallery.from_folder(photos, where / "photographs.kcrc", feature="hog") as made:
            made.add_images("owl", [photo(Path("owl.jpg"), "owl", 1)])
            asked = sorted((folder(Path("asked"), 2, first=20)).rglob("*.jpg"))
            vectors = made.answering.feature().transform([str(p) for p in asked])
            answers["photographs"] = {**said(made.classifier(), vectors), "counts": made.counts}
        made = Gallery.open(where / "photographs.kcrc")
        made.export(where / "photographs.export")
        made.close()
    shutil.rmtree(where / ".kcrc-cache", ignore_errors=True)
    return answers


def network(where: Path) -> dict:
    """A gallery made with a network of somebody's own, and the file of that network."""
    graph = GraphWriter("tiny")
    weight = graph.weight(np.random.default_rng(9).normal(size=(3 * 8 * 8, 6)) / 10)
    out = graph.node("MatMul", [graph.node("Flatten", ["images"], axis=1), weight])
    content = graph.content(input_shape=["n", 3, 8, 8], output=out, output_shape=["n", 6])
    where = where.absolute()
    (where / "tiny.onnx").write_bytes(content)
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        Path("tiny.onnx").write_bytes(content)  # named without folders
        feature = features.make("onnx", path="tiny.onnx", size=(8, 8))
        with Gallery.from_folder(folder(Path("photos"), 5), where / "network.kcrc", feature=feature) as made:
            asked = [str(p) for p in sorted(folder(Path("asked"), 2, first=20).rglob("*.jpg"))]
            said_now = {**said(made.classifier(), made.answering.feature().transform(asked)), "counts": made.counts}
    shutil.rmtree(where / ".kcrc-cache", ignore_errors=True)
    return said_now


def commands(where: Path) -> dict:
    """A gallery whose history has commands of several acts, the build among them, some undone, and some redone."""
    X, y, _ = problem(seed=10, n=12, d=3)
    with building(where / "commands.kcrc", dim=3) as made:
        made.add(y[:4].tolist(), X[:4])
        made.add(y[4:8].tolist(), X[4:8])
    with Gallery.open(where / "commands.kcrc") as made:
        before = made.add(y[8:10].tolist(), X[8:10])
        made.add(y[10:].tolist(), X[10:], continuing=before)
        made.relabel([1], "häher")
        made.remove([2])
        made.undo(to=1)
        made.redo()
        made.undo()
        return {"counts": made.counts, "history": told(made)}


def told(gallery: Gallery) -> list[list]:
    return [[entry.id, entry.action, entry.summary, entry.undone_by] for entry in gallery.history()]


def main() -> None:
    where = Path(sys.argv[1])
    where.mkdir(parents=True, exist_ok=True)
    (where / "network.json").write_text(json.dumps(network(where), ensure_ascii=False), "utf-8")
    (where / "commands.json").write_text(json.dumps(commands(where), ensure_ascii=False), "utf-8")
    answers = {"classifiers": classifiers(where), "galleries": galleries(where)}
    (where / "answers.json").write_text(json.dumps(answers, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main()
