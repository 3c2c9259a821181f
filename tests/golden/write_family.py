"""Writes the golden files of coders, decisions and searches: `python tests/golden/write_family.py FOLDER`.

A small saved classifier for each that the files of ``write.py`` do not hold; ``family.json`` has what they
answered. Like those of ``write.py`` they are written once for a version, by the last that writes it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from kcrc import KCRCClassifier, scaling

ANSWERS = "family.json"
FIXED = {"scaling": "plain", "kernel": "rbf", "gamma": 0.2, "mu": 0.05, "form": "rkhs", "locality": "atoms"}
CASES = {
    **{f"coder-{name}": {"coder": name} for name in ("augmented", "nonnegative", "nrs", "probabilistic", "tikhonov")},
    **{f"coder-{name}": {"coder": name, "form": "gram"} for name in ("bpdn", "l1l1", "robust")},
    **{f"decision-{name}": {"decision": name} for name in ("croc", "joint", "sum")},
    **{f"search-{name}": {"search": name} for name in ("cells", "hnsw", "ivf", "usearch")},
    "metric-bounded": {"scaling": scaling.Standard(bounded=True)},
}


def samples() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Three classes that overlap: examples, labels, queries."""
    rng = np.random.default_rng(5)
    y = np.arange(36) % 3
    centres = rng.normal(size=(3, 5))
    return centres[y] + rng.normal(size=(36, 5)), y, centres[[0, 1, 2, 0]] + rng.normal(size=(4, 5))


def answers(classifier: KCRCClassifier) -> dict[str, list]:
    """What is compared later."""
    queries = samples()[2]
    evidence = classifier.explain(queries)
    return {
        "labels": evidence.labels.tolist(),
        "rows": evidence.rows.tolist(),
        "residuals": np.nan_to_num(evidence.residuals, posinf=-1.0).tolist(),
        "probabilities": classifier.predict_proba(queries).tolist(),
    }


def main(target: str) -> None:
    goal = Path(target)
    goal.mkdir(parents=True, exist_ok=True)
    X, y, _ = samples()
    told = {}
    for name, options in CASES.items():
        clf = KCRCClassifier(n_neighbors=9, **{**FIXED, "decision": "ratio", **options}).fit(X, y)
        clf.save(goal / f"{name}.kcrcmodel")
        told[name] = answers(KCRCClassifier.load(goal / f"{name}.kcrcmodel"))
    (goal / ANSWERS).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
