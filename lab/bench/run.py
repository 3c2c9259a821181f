"""The order of a run: local stage, classification, single queries, global dictionaries, agreement, growth, memory."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.parallel import worker_count
from kcrc.errors import DataError
from kcrc.native import native
from kcrc.report.tables import text_table
from lab.bench import agreement, growth, memory, parts, stage, tables
from lab.bench.contests import classification, global_dictionary, single_queries
from lab.bench.results import Requirement, Results
from lab.bench.rivals import load_faiss
from lab.bench.samples import Problem, clusters, digits, load
from lab.machine import facts

BOUNDS = {50: 2.0, 200: 1.5, 500: 1.5}  # local stage over potrf
NAMED = ("usps", "caltech256_clip", "scene15_spm")


@dataclass
class BenchRun:
    """What the steps share."""

    quick: bool
    cores: int
    faiss: Any
    results: Results
    say: Callable[[str], None]
    tick: Callable[[str], None]


def run(
    *,
    quick: bool,
    folder: Path | None,
    out: Path,
    jobs: int | None,
    say: Callable[[str], None],
    note: Callable[[str], None],
) -> Results:
    """Measure, print tables by ``say``, progress by ``note``; writes ``out``/bench.json and drawings."""
    started = time.perf_counter()
    mnist = None if folder is None or quick else load(folder, "mnist")
    if folder is not None and not quick and mnist is None:
        raise DataError(f"There is no mnist.npz in '{folder}'. Leave out --data to measure with made-up data.")
    cores = worker_count(jobs)
    faiss = load_faiss()
    results = Results(quick, facts(cores))
    state = BenchRun(
        quick, cores, faiss, results, say, lambda what: note(f"[{time.perf_counter() - started:5.1f} s] {what}")
    )
    versions = ", ".join(f"{name} {version}" for name, version in results.machine["versions"].items())
    say(f"{cores} cores, compiled path: {results.machine['compiled']}; {versions}")
    _leave_out(state, faiss is None, "faiss is not installed (pip install kcrc[faiss]): its search is left out.")
    _leave_out(state, native is None, "The compiled module is not built: the local stage alone is not measured.")
    _leave_out(state, mnist is None, "Without --data the classification is of made-up data.")
    stages = [] if native is None else _stages(state)
    _contests(state, mnist, folder)
    curves = _growth(state)
    peaks = _memory(state)
    _concluded(results, out, say)
    try:
        from lab.bench.figures import draw

        drawn = draw(out, curves, stages, peaks)
        say(f"\nwrote {out / 'bench.json'} and {len(drawn)} drawings in {time.perf_counter() - started:.0f} s")
    except ImportError:
        say(f"\nwrote {out / 'bench.json'}; the drawings need Matplotlib (pip install kcrc[plots])")
    return results


def run_parts(
    names: Sequence[str],
    *,
    quick: bool,
    folder: Path | None,
    out: Path,
    say: Callable[[str], None],
    note: Callable[[str], None],
) -> Results:
    """The contests of these parts alone; writes ``out``/bench.json."""
    results = Results(quick, facts(worker_count(None)))
    for name in names:
        note(f"part {name}")
        parts.load(name)(parts.PartRun(quick, folder, results, say))
    _concluded(results, out, say)
    say(f"\nwrote {out / 'bench.json'}")
    return results


def _concluded(results: Results, out: Path, say: Callable[[str], None]) -> None:
    """What must hold, and the file of all that was measured."""
    if results.claims:
        say("\n" + tables.claims(results.claims))
        held = sum(claim.holds for claim in results.claims)
        say(f"  {held} of {len(results.claims)} hold. Noise of a busy machine shows here first.")
    results.write(out / "bench.json")


def _leave_out(state: BenchRun, when: bool, why: str) -> None:
    if when:
        state.results.notes.append(why)
        state.say(f"  {why}")


def _stages(state: BenchRun) -> list[stage.StageTime]:
    wanted = [(np.float32, K, "rkhs") for K in BOUNDS] + [(np.float64, K, "rkhs") for K in BOUNDS]
    if not state.quick:
        wanted += [(np.float32, K, "gram") for K in BOUNDS]
    found = []
    for dtype, K, form in wanted:
        state.tick(f"local stage, {np.dtype(dtype).name}, {form} form, K = {K}")
        one = stage.measure(K, dtype, form=form, seconds=0.8 if state.quick else 4.0)
        found.append(one)
        state.results.ratios[f"local stage / potrf, {one.dtype}, {form}, K={K}"] = one.ratio
        if form == "rkhs":
            text = f"local stage / potrf, K = {K}, {one.dtype}"
            state.results.claims.append(Requirement(text, one.ratio, BOUNDS[K]))
    lines = [
        [
            f"{s.dtype}, {s.form}, K = {s.K}",
            *(tables.short(micros) for micros in (s.stage, s.potrf, s.staged)),
            f"{s.ratio:.2f}",
            f"{s.staged / s.potrf:.2f}",
        ]
        for s in found
    ]
    title = "\nLocal stage, all included, a query on one core (kernel matrix stored)"
    head = ["", "stage", "potrf", "in NumPy", "stage / potrf", "NumPy / potrf"]
    state.say(text_table(title, head, lines))
    return found


def _contests(state: BenchRun, mnist: Problem | None, folder: Path | None) -> None:
    quick, results = state.quick, state.results
    small = clusters(3000, 128, 400) if quick else (mnist or clusters(5000, 256, 1000)).part(5000, 1000)
    state.tick(f"classification of {small.name}, with a support vector machine")
    classification(state, small, svc=True)
    if not quick:
        whole = mnist or clusters(60_000, 256, 5000)
        state.tick(f"classification of {whole.name}: {len(whole.atoms)} examples, {len(whole.queries)} queries")
        labels = classification(state, whole, svc=False, main=True)
    state.tick("single queries of digits")
    single_queries(state, digits())
    state.tick("a global dictionary")
    global_dictionary(state, clusters(1000 if quick else 2000, 128, 500 if quick else 2000))
    found = [agreement.compare(digits(), 50, gamma=5e-4)]
    if quick:
        state.tick("agreement with the staged pipeline")
        found.append(agreement.compare(small, 50))
    elif mnist is not None:
        assert folder is not None
        for name in NAMED:
            state.tick(f"agreement with the staged pipeline in double precision, {name}")
            split = load(folder, name)
            if split is not None:
                found.append(agreement.compare(split, 50))
        state.tick("agreement with the staged pipeline in double precision, all MNIST queries")
        found.append(agreement.compare(mnist, 50, labels=labels))
    results.agreement = [
        {
            key: value if not isinstance(value, float) or math.isfinite(value) else None
            for key, value in asdict(one).items()
        }
        for one in found
    ]
    lines = []
    for one in found:
        widest = f"{one.widest_gap:.1e}" if one.different else "–"
        counts = [f"{one.n:,}", f"{one.queries:,}", str(one.different)]
        lines.append([one.name, *counts, widest, f"{one.smallest_gap:.1e}", f"{one.accuracy:.2%}"])
    state.say(
        text_table(
            "\nLabels against the staged pipeline in double precision (gap: relative, of the two best residuals)",
            ["", "examples", "queries", "different", "their widest gap", "smallest gap", "accuracy"],
            lines,
        )
    )
    ties = sum(one.different for one in found if one.widest_gap > 1e-3)
    results.claims.append(Requirement("labels that differ otherwise than at a tie", float(ties), 0.0))


def _growth(state: BenchRun) -> list[growth.Curve]:
    quick = state.quick
    curves = []
    if native is not None:
        curves.append(growth.with_k([20, 50, 100] if quick else [10, 20, 50, 100, 200, 400, 800], state.tick))
    n_sizes = [1000, 4000, 16_000] if quick else [1000, 4000, 16_000, 64_000]
    widths = [16, 64, 256] if quick else [16, 64, 256, 1024]
    queries = 200 if quick else 500
    curves += [
        growth.with_n(n_sizes, state.cores, state.faiss, state.tick, queries),
        growth.with_width(widths, state.cores, state.faiss, state.tick, queries, 2000 if quick else 8000),
        growth.with_queries(
            [1, 10, 100, 1000] if quick else [1, 10, 100, 1000, 10_000],
            state.cores,
            state.tick,
            2000 if quick else 4000,
        ),
    ]
    for curve in curves:
        names = list(curve.micros)
        lines = [
            [f"{curve.along} = {size:,}"]
            + [tables.short(curve.micros[n][i]) if i < len(curve.micros[n]) else "" for n in names]
            for i, size in enumerate(curve.sizes)
        ]
        lines.append(["grows as power"] + [f"{curve.powers.get(name, math.nan):.2f}" for name in names])
        state.say(text_table(f"\nTime a query by {curve.along}", ["", *names], lines))
        state.results.curves.append({**asdict(curve), "powers": curve.powers})
    return curves


def _memory(state: BenchRun) -> list[memory.Peak]:
    n, budget = (20_000, 64_000_000) if state.quick else (200_000, 128_000_000)
    peaks = []
    for dtype in ("float32",) if state.quick else ("float32", "float16"):
        state.tick(f"peak memory with {n:,} examples in {dtype}")
        peaks.append(memory.measure(n, 128, budget, dtype=dtype, queries=200 if state.quick else 1000))
    state.results.memory = [asdict(peak) for peak in peaks]
    lines = [
        [
            f"{p.n:,} × {p.width} {p.dtype}",
            f"{1e-6 * p.data:.0f} MB",
            f"{1e-6 * p.budget:.0f} MB",
            f"{1e-6 * p.beyond:.0f} MB",
        ]
        for p in peaks
    ]
    state.say(text_table("\nPeak memory", ["", "data", "memory_budget", "beyond the data"], lines))
    for p in peaks:
        text = f"memory beyond the data / memory_budget, {p.n:,} examples in {p.dtype}"
        state.results.claims.append(Requirement(text, p.beyond / p.budget, 1.0))
    return peaks
