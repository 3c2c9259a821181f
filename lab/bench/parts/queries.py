"""Queries one at a time and a thousand at once, beside what users would pick instead and what limits them all.

Single queries of digits beside scikit-learn's nearest neighbour, SVC and faiss; whole classification beside the bare
matrix product, faiss, scikit-learn's neighbours and (where it is fitted in seconds) SVC; the local stage beside LAPACK.
Accuracy stands beside, so that no speed is bought with answers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kcrc._base.parallel import worker_count
from kcrc.native import native
from kcrc.report.tables import text_table
from lab.bench import stage
from lab.bench.contests import LIMIT, K, classification, single_queries
from lab.bench.parts import PartRun
from lab.bench.results import Requirement, Results
from lab.bench.rivals import load_faiss
from lab.bench.samples import clusters, digits
from lab.bench.tables import short

AGAINST_PRODUCT = 1.5  # whole classification over the bare product
AGAINST_POTRF = 1.0
SIZES = (50, 200, 500)  # neighbours of a local stage


@dataclass(frozen=True)
class Together:
    """What the contests share."""

    cores: int
    faiss: Any
    results: Results
    say: Callable[[str], None]


def measure(run: PartRun) -> None:
    state = Together(worker_count(None), load_faiss(), run.results, run.say)
    if state.faiss is None:
        run.say("faiss is not installed (pip install kcrc[faiss]): its search is left out.")
    single_queries(state, digits(), **({"queries": 20, "turns": 1} if run.quick else {}))
    classification(state, clusters(*((300, 16, 40) if run.quick else (5000, 128, 1000))), svc=True)
    whole = clusters(*((600, 16, 40) if run.quick else (64_000, 128, 1000)))
    classification(state, whole, svc=False)
    ratio = run.results.ratios[f"kcrc / {LIMIT}, {whole.name}, {len(whole.atoms):,} examples, K={K}"]
    text = f"whole classification / bare matrix product, {whole.name}, {len(whole.queries):,} queries"
    run.results.claims.append(Requirement(text, ratio, AGAINST_PRODUCT))
    if native is None:
        run.say("The compiled module is not built: the local stage alone is not measured.")
    else:
        local_stages(run)


def local_stages(run: PartRun) -> None:
    """The local stage in single precision, all included, beside one potrf."""
    lines = []
    for neighbours in SIZES[:1] if run.quick else SIZES:
        one = stage.measure(neighbours, np.float32, seconds=0.1 if run.quick else 4.0)
        run.results.ratios[f"local stage / potrf, {one.dtype}, {one.form}, K={neighbours}"] = one.ratio
        text = f"local stage / potrf, K = {neighbours}, {one.dtype}"
        run.results.claims.append(Requirement(text, one.ratio, AGAINST_POTRF))
        lines.append([f"K = {neighbours}", short(one.stage), short(one.potrf), f"{one.ratio:.2f}"])
    title = "\nLocal stage, all included, a query on one core (float32, kernel matrix stored)"
    run.say(text_table(title, ["", "stage", "potrf", "stage / potrf"], lines))
