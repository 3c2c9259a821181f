"""How time and memory grow with the examples, their width and K."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from kcrc.report.tables import Table
from lab.bench.scale.sections import Drawing, Piece
from lab.bench.tables import short
from lab.bench.timing import slope

TITLE = "How time and memory grow"
WORDS = {"n": "the number of examples", "width": "their width d", "K": "the number of neighbours K"}
COLOURS = ("#888888", "#1b6ca8", "#c0504d", "#4f8f4f", "#8f6bb3", "#b8860b")
FLAT = "faiss flat"
CHOICES = {
    "exact": ("the examples fit into memory (the default)", '`search="exact"`'),
    "mapped": ("they fit on a disk but not into memory; also exact", '`fit(np.load(FILE, mmap_mode="r"), y)`'),
    "ivf": ("exact search is too slow, and missing some neighbours is acceptable", '`search="ivf"`'),
    "hnsw": ("the same, for single queries, if there is time to build a graph", '`search="hnsw"`'),
    "usearch": ("the same, in less memory", '`search="usearch"`'),
}
CHOICE_COLUMNS = ("if", "choose", "measured at n =", "one query", "build", "memory")


def pieces(measured: dict[str, Any]) -> Sequence[Piece]:
    typical = measured["typical"]
    found: list[Piece] = [
        f"The standard case is n = {typical['n']:,} examples of d = {typical['width']} numbers each, with "
        f"K = {typical['K']} neighbours; n, d and K are varied one at a time. The examples are random vectors around "
        "1,000 centres, with as much variance between the centres as around them. The rows are the ways to find "
        "neighbours: *exact*, the default; *mapped*, exact with the examples in a file (see below); *ivf*, *hnsw* and "
        "*usearch*, which are [approximate](search.md); and for comparison *faiss flat*, the exact search of the "
        "library `faiss`.",
        "The times of kcrc are for the whole answer, search and code; those of `faiss` are for the search alone. "
        '"/ flat" is the time divided by that of *faiss flat*. Memory is the peak of the process beyond what it had '
        "before it saw the examples; it includes examples that are read into memory, but not mapped files. (`faiss` "
        'keeps its own copy of the examples.) "/ examples" is the memory divided by the size of the examples. The last '
        "column is the share of 200 labels that are the same as with exact search.",
    ]
    found.append(Table("choice", "**What to choose**", CHOICE_COLUMNS, _choice(measured["points"])))
    for along, words in WORDS.items():
        points = [point for point in measured["points"] if point["along"] == along]
        if not points:
            continue
        found.append(Table(f"by-{along}", f"**By {words}**", _columns(along), _rows(along, points)))
        found.append(_powers(along, points))
        for what, unit in (("one", "ms for one query"), ("memory", "MB")):
            caption = f"{'Time' if what == 'one' else 'Memory'} by {words}"
            found.append(Drawing(f"{what}-by-{along}", caption, partial(_draw, along, points, what, unit)))
    return found


def _choice(points: Sequence[dict[str, Any]]) -> list[list[Any]]:
    """A line for each way that was measured, with what it took where it had the most examples."""
    rows = []
    for way, (when, told) in CHOICES.items():
        there = [point for point in points if point["along"] == "n" and way in point["ways"]]
        if there:
            most = max(there, key=lambda point: int(point["n"]))
            took = most["ways"][way]
            memory = f"{took['memory'] / took['data']:.2f} × the examples"
            rows.append([when, told, f"{most['n']:,}", short(1e6 * took["one"]), f"{took['build']:.0f} s", memory])
    return rows


def _ways(points: Sequence[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(way for point in points for way in point["ways"]))


def _symbol(along: str) -> str:
    return "d" if along == "width" else along


def _columns(along: str) -> list[str]:
    times = ["one query", "/ flat", "in a batch", "/ flat", "build"]
    return [_symbol(along), "search", *times, "memory", "/ examples", "labels as exact"]


def _rows(along: str, points: Sequence[dict[str, Any]]) -> list[list[Any]]:
    rows = []
    for point in points:
        flat = point["ways"].get(FLAT)
        for way, took in point["ways"].items():
            beside = [None if flat is None else f"{took[what] / flat[what]:.2g}" for what in ("one", "batch")]
            times = [
                short(1e6 * took["one"]),
                beside[0],
                short(1e6 * took["batch"]),
                beside[1],
                f"{took['build']:.1f} s",
            ]
            memory = [f"{1e-6 * took['memory']:.0f} MB", f"{took['memory'] / took['data']:.2f}"]
            same = f"{took['agreement']:.1%}" if "agreement" in took else None
            rows.append([f"{point[along]:,}", way, *times, *memory, same])
    return rows


def _powers(along: str, points: Sequence[dict[str, Any]]) -> str:
    """p of time ~ size^p for each way, over the upper half of the sizes."""
    told = []
    for way in _ways(points):
        there = [point for point in points if way in point["ways"]]
        if len(there) > 1:
            sizes = [point[along] for point in there]
            time, memory = (
                slope(sizes, [max(1e-9, point["ways"][way][what]) for point in there]) for what in ("one", "memory")
            )
            told.append(f"{way} {time:.2f} and {memory:.2f}")
    return (
        f"Exponents of growth with {_symbol(along)}, for the time of one query and for memory: "
        f"{'; '.join(told)}. They are "
        "fitted over the upper half of the sizes."
    )


def _draw(along: str, points: Sequence[dict[str, Any]], what: str, unit: str, axes: Any) -> None:
    factor = 1e3 if what == "one" else 1e-6
    for way, colour in zip(_ways(points), COLOURS, strict=False):
        there = [point for point in points if way in point["ways"]]
        values = [factor * point["ways"][way][what] for point in there]
        axes.plot([point[along] for point in there], values, marker="o", ms=4, color=colour, label=way)
    axes.set(xscale="log", yscale="log", xlabel=_symbol(along), ylabel=unit)
    axes.set_xticks([point[along] for point in points], [f"{point[along]:,}" for point in points])
    axes.minorticks_off()
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False)
