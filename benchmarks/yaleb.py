"""Table 1 of the paper on Extended Yale B: 504 random faces, 32 pictures of each person as atoms, the rest asked.

    OPENBLAS_NUM_THREADS=1 python benchmarks/yaleb.py --splits 5 --queries 400

Every split draws its own training rows and its own random faces (504 zero-mean Gaussian directions). All parameters
(mu, the kernel's width, the dimension after projection) are chosen inside the training rows of the split, by the
search that ``fit`` runs; the test rows are asked once. ``--queries`` limits how many of the test rows are asked (all
of about 1198 by default), ``--tuning-seconds`` the search. About three minutes a split on two cores.

Ends with status 1 where what must hold does not: CRC ≥ 97, SRC ≥ 96.5, KCRC-Identity ≥ 97, and KPCA, RP and Graph
within 1.5 points of KCRC-Identity.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

from kcrc import methods

DATA = Path(os.environ.get("KCRC_DATA", Path(__file__).resolve().parents[2] / "shared" / "data")) / "yaleb.npz"
PAPER = {"CRC": 97.67, "SRC": 97.15, "KCRC-Identity": 97.23, "KCRC-KPCA": 97.07, "KCRC-RP": 96.61, "KCRC-Graph": 97.35}
NAMES = {"CRC": "CRC-GD", "SRC": "SRC-GD", "KCRC-Identity": "KCRC-GD"}  # the others go by the paper's name
LEAST = {"CRC": 97.0, "SRC": 96.5, "KCRC-Identity": 97.0}
NEAR = 1.5  # points: the reduced ones from KCRC-Identity


def random_faces(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X, y to learn from, and X, y to ask in random order: one split."""
    with np.load(DATA, allow_pickle=False) as stored:
        images, labels = stored["images"], stored["labels"]
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((504, images[0].size), dtype=np.float32)
    directions -= directions.mean(axis=1, keepdims=True)
    X = (images.reshape(len(images), -1).astype(np.float32) @ directions.T).astype(np.float64)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    order = [rng.permutation(np.flatnonzero(labels == person)) for person in np.unique(labels)]
    atoms = np.concatenate([rows[:32] for rows in order])
    asked = rng.permutation(np.concatenate([rows[32:] for rows in order]))
    return X[atoms], labels[atoms], X[asked], labels[asked]


def failures(means: dict[str, float]) -> list[str]:
    """What must hold and does not."""
    found = [f"{name} {means[name]:.2f} < {least}" for name, least in LEAST.items() if means.get(name, 100.0) < least]
    identity = means.get("KCRC-Identity")
    for name in ("KCRC-KPCA", "KCRC-RP", "KCRC-Graph"):
        if identity is not None and name in means and abs(means[name] - identity) > NEAR:
            found.append(f"{name} {means[name]:.2f} is more than {NEAR} from KCRC-Identity {identity:.2f}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=10, help="the first split; 0 to 4 were seen while it was built")
    parser.add_argument("--queries", type=int, default=None, help="test rows asked in each split")
    parser.add_argument("--tuning-seconds", type=float, default=15.0)
    parser.add_argument("--methods", nargs="+", choices=PAPER, default=list(PAPER))
    options = parser.parse_args()
    if not DATA.exists():
        sys.exit("There is no yaleb.npz: set KCRC_DATA to the folder that has it.")
    accuracy: dict[str, list[float]] = {name: [] for name in options.methods}
    for split in range(options.first, options.first + options.splits):
        X, y, Xq, yq = random_faces(split)
        Xq, yq = Xq[: options.queries], yq[: options.queries]
        for name in options.methods:
            start = time.perf_counter()
            model = methods.make(
                NAMES.get(name, name), tuning_seconds=options.tuning_seconds, random_state=split, verbose=False
            ).fit(X, y)
            fitted = time.perf_counter()
            accuracy[name].append(100.0 * float(np.mean(model.predict(Xq) == yq)))
            asked = (time.perf_counter() - fitted) / len(yq)
            best = model.tuning_.best
            chosen = f"mu {best.mu:g}" + (f", gamma {best.gamma:.3g}" if best.gamma else "")
            chosen += f", c {best.share:g} K" if best.share else ""
            print(
                f"split {split} {name:<14}{accuracy[name][-1]:6.2f}   fit {fitted - start:5.1f} s, "
                f"{1e3 * asked:5.1f} ms a query   {chosen}",
                flush=True,
            )
    print(f"\naccuracy %, mean ± standard deviation of {options.splits} splits, {len(yq)} queries each")
    means = {name: float(np.mean(values)) for name, values in accuracy.items()}
    for name, values in accuracy.items():
        print(f"{name:<14}{means[name]:6.2f} ± {np.std(values):.2f}   paper {PAPER[name]}")
    wrong = failures(means)
    print("\n".join(wrong) or "All that must hold does.")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
