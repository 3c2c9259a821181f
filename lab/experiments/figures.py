"""Figures a journal accepts: small serif type, colours that are told apart without colour vision, PNG and SVG.

Matplotlib is imported when a figure is drawn; pyplot is not used, so no display and no global state.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc.files.atomic import write_bytes

COLUMN, PAGE = 3.5, 7.16  # inches: one column, two columns
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F")
MARKERS = "osD^vP*X"
DASHES = ("-", "--", "-.", ":", "-", "--", "-.", ":")
STYLE: dict[str, Any] = {
    "font.family": "serif",
    "font.serif": ["STIXGeneral", "Times New Roman", "DejaVu Serif"],
    "mathtext.fontset": "stix",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.fontsize": 7,
    "legend.frameon": True,
    "legend.framealpha": 0.8,
    "legend.edgecolor": "none",
    "lines.linewidth": 1.0,
    "lines.markersize": 3.5,
    "svg.hashsalt": "kcrc",
    "svg.fonttype": "path",
}


def style() -> Any:
    """A context in which figures are made and saved."""
    import matplotlib as mpl

    return mpl.rc_context(rc=dict(STYLE))  # type: ignore[arg-type,unused-ignore]


def panels(rows: int, columns: int, *, width: float = PAGE, height: float = 2.4, **options: Any) -> tuple[Any, Any]:
    """A figure and its axes (rows, columns)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def save(figure: Any, folder: Path, name: str, *, dpi: int = 200) -> str:
    """``name.png`` and ``name.svg`` in ``folder``, the same bytes for the same figure; returns the name."""
    for kind in ("png", "svg"):
        file = io.BytesIO()
        figure.savefig(file, format=kind, dpi=dpi, metadata={"Date": None} if kind == "svg" else {"Software": None})
        write_bytes(folder / f"{name}.{kind}", file.getvalue())
    return name


def curves(axis: Any, series: Mapping[str, tuple[Sequence[float], Sequence[Sequence[float]]]]) -> None:
    """A line a method through the means, with the standard deviation over the repeats as bars.

    ``series``: name -> (x values, for each of them the repeats).
    """
    for place, (name, (x, repeats)) in enumerate(series.items()):
        means = [float(np.mean(values)) for values in repeats]
        spread = [float(np.std(values, ddof=1)) if len(values) > 1 else 0.0 for values in repeats]
        look = {"color": COLOURS[place % 8], "marker": MARKERS[place % 8], "linestyle": DASHES[place % 8]}
        axis.errorbar(x, means, spread, label=name, capsize=2, elinewidth=0.6, capthick=0.6, **look)
    axis.grid(axis="y", color="#dddddd", linewidth=0.4)
    axis.set_axisbelow(True)


def heat(axis: Any, matrix: Array, names: Sequence[str], *, title: str) -> None:
    """A confusion matrix in per cent of each true class; numbers where 1 or more."""
    share = 100.0 * matrix / np.maximum(matrix.sum(axis=1, keepdims=True), 1)
    axis.imshow(share, cmap="Greys", vmin=0, vmax=100)
    small = 4 if len(names) > 12 else 6
    for i, j in zip(*np.nonzero(share >= 1.0), strict=True):
        tone = "white" if share[i, j] > 50 else "black"
        axis.text(j, i, f"{share[i, j]:.0f}", ha="center", va="center", fontsize=small, color=tone)
    axis.set_xticks(range(len(names)), names, rotation=90, fontsize=5)
    axis.set_yticks(range(len(names)), names, fontsize=5)
    axis.spines[:].set_visible(False)
    axis.tick_params(length=0)
    axis.set_title(title)
    axis.set_xlabel("answer")
    axis.set_ylabel("true class")


def point(axis: Any, place: float, repeats: Sequence[float]) -> None:
    """A mean with its standard deviation over the repeats."""
    spread = float(np.std(repeats, ddof=1)) if len(repeats) > 1 else 0.0
    axis.errorbar(place, float(np.mean(repeats)), spread, fmt="o", color=COLOURS[0], capsize=2)
