"""The drawings of a run: time against K, n, dimension and queries; share of the limit; memory."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kcrc.files.figures import save_figure
from lab.bench.growth import Curve
from lab.bench.memory import Peak
from lab.bench.stage import StageTime

OURS, LIMIT, OTHERS = "#1b6ca8", "#888888", ("#c0504d", "#8f6bb3", "#4f8f4f")
EXPECTED = {"K": 3, "n": 1, "dimension": 1, "queries": 0}


def draw(folder: Path, curves: Sequence[Curve], stages: Sequence[StageTime], peaks: Sequence[Peak]) -> list[Path]:
    """Writes the figures into ``folder``; their names."""
    import matplotlib

    matplotlib.use("Agg", force=False)
    from matplotlib.figure import Figure

    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for curve in curves:
        figure = Figure(figsize=(5.6, 3.8), layout="constrained")
        _curve(figure.subplots(), curve)
        written.append(_saved(figure, folder / f"time-by-{curve.along.lower()}.png"))
    figure = Figure(figsize=(5.6, 3.4), layout="constrained")
    _shares(figure.subplots(), stages)
    written.append(_saved(figure, folder / "share-of-limit.png"))
    if peaks:
        figure = Figure(figsize=(5.6, 3.0), layout="constrained")
        _memory(figure.subplots(), peaks)
        written.append(_saved(figure, folder / "memory.png"))
    return written


def _saved(figure: Any, path: Path) -> Path:
    save_figure(figure, path, dpi=120)
    return path


def _curve(axes: Any, curve: Curve) -> None:
    others = iter(OTHERS)
    for name, micros in curve.micros.items():
        ours = name.startswith("kcrc") or name == "local stage"
        limit = name in ("potrf", "matrix product")
        colour = OURS if ours else LIMIT if limit else next(others, "#333333")
        sizes = curve.sizes[: len(micros)]
        power = curve.powers.get(name)
        label = name if power is None else f"{name} (~ {curve.along}$^{{{power:.2f}}}$)"
        axes.plot(
            sizes, micros, "--" if limit else "-", marker="o", ms=3.5, color=colour, lw=2 if ours else 1.2, label=label
        )
    first = next(iter(curve.micros.values()))
    power = EXPECTED[curve.along]
    if power:
        guide = [first[-1] * (size / curve.sizes[-1]) ** power for size in curve.sizes]
        axes.plot(curve.sizes, guide, ":", color="#bbbbbb", lw=1, label=f"slope {power}")
    axes.set(xscale="log", yscale="log", xlabel=curve.along, ylabel="µs a query")
    axes.set_xticks(curve.sizes, [f"{size:,}" for size in curve.sizes], rotation=30, fontsize=8)
    axes.minorticks_off()
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False)


def _shares(axes: Any, stages: Sequence[StageTime]) -> None:
    names = [f"{s.dtype}\n{s.form}\nK = {s.K}" for s in stages]
    bars = axes.bar(range(len(stages)), [s.ratio for s in stages], color=OURS, width=0.6)
    axes.bar_label(bars, fmt="%.2f", fontsize=8)
    axes.axhline(1.0, color=LIMIT, ls="--", lw=1.2)
    axes.set_xticks(range(len(stages)), names, fontsize=7)
    axes.set_ylabel("local stage / bare potrf")


def _memory(axes: Any, peaks: Sequence[Peak]) -> None:
    mega = 1e-6
    for at, peak in enumerate(peaks):
        axes.barh(at, mega * peak.beyond, color=OURS, height=0.5)
        axes.plot([mega * peak.budget] * 2, [at - 0.35, at + 0.35], color="#c0504d", lw=2)
    axes.set_yticks(
        range(len(peaks)), [f"{p.n:,} × {p.width} {p.dtype}\n({mega * p.data:.0f} MB)" for p in peaks], fontsize=8
    )
    axes.set_xlabel("MB beyond the data at most (line: memory_budget)")
