"""In shards, over machines: what Ray costs and survives, what a query costs by shards, and what that says of more."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from kcrc.report.tables import Table
from lab.bench.scale.sections import Drawing, Piece

TITLE = "In shards, over machines"


def pieces(measured: dict[str, Any]) -> Sequence[Piece]:
    beside, lost, slopes, more = (measured[name] for name in ("beside", "lost", "slopes", "projected"))
    return [
        f"**Spreading work.** {beside['queries']:,} queries to {beside['examples']:,} examples of width "
        f"{slopes['width']}, in pieces of 4,096. Two Ray workers answered {beside['share']:.2f} times as many "
        "queries per "
        f"second as two plain processes with half of the pieces each: {beside['rate']:,.0f} per second (best of "
        f"{len(beside['took']['ray'])} runs of each, one BLAS thread each, start-up not counted). "
        f"{_spread(beside['took'])}",
        f"**Losing workers.** {lost['queries']:,} queries to {lost['examples']:,} examples in two shards, on two nodes "
        f"of one machine, took {lost['calm']:.1f} s. When an actor was killed after a third of them, and a node "
        "after two "
        f"thirds, they took {lost['took']:.1f} s: {lost['took'] - lost['calm']:.1f} s lost, mostly while Ray made "
        "sure that the node was gone. Answers that were missing, given twice, or had another label or neighbour than "
        "in one "
        f"process: {lost['faults']}.",
        _slopes(slopes),
        Drawing("cost-by-shards", "Processor time of a query by examples and shards", lambda axes: _draw(slopes, axes)),
        f"With {slopes['nodes_examples']:,} examples in two shards, one node with one core answers "
        f"{slopes['nodes']['1']:,.0f} queries per second, and two nodes answer {slopes['nodes']['2']:,.0f}: "
        f"{slopes['nodes']['2'] / slopes['nodes']['1']:.2f} times as many. All nodes were on one machine with two "
        "cores, "
        "which other programs used too, and there was no network between them.",
        *_more(slopes, more),
    ]


def _spread(took: dict[str, list[float]]) -> str:
    turns = sorted(bare / ray for bare, ray in zip(took["bare"], took["ray"], strict=True))
    return (
        f"Comparing single runs, the factor was {turns[0]:.2f} to {turns[-1]:.2f}, with a median of "
        f"{statistics.median(turns):.2f}: other work on the machine matters more than the cost of Ray."
    )


def _slopes(slopes: dict[str, Any]) -> Table:
    alpha, beta, gamma = slopes["model"]
    rows = []
    for number, (examples, shards, seconds) in enumerate(slopes["points"]):
        said = alpha * examples + beta * shards + gamma
        role = "fitted" if number < slopes["fitted"] else "held out"
        rows.append(
            [
                f"{examples:,}",
                f"{shards}",
                role,
                f"{1e3 * seconds:.3f}",
                f"{1e3 * said:.3f}",
                f"{said / seconds - 1:+.0%}",
            ]
        )
    caption = (
        "**Cost of a query**, in milliseconds of processor time summed over all workers and shards, with "
        f"K = {slopes['neighbours']}. The model is {1e9 * alpha:.2g} ns per example + {1e6 * beta:.2g} µs per shard + "
        f"{1e6 * gamma:.2g} µs. It was fitted to some sizes and checked on the others."
    )
    return Table("cost", caption, ["examples", "shards", "", "measured", "by the model", "off by"], rows)


def _draw(slopes: dict[str, Any], axes: Any) -> None:
    alpha, beta, gamma = slopes["model"]
    for shards in sorted({shards for _, shards, _ in slopes["points"]}):
        there = sorted((n, seconds) for n, s, seconds in slopes["points"] if s == shards)
        sizes = [n for n, _ in there]
        line = axes.plot(sizes, [1e3 * seconds for _, seconds in there], "o", ms=5, label=f"{shards} shards")[0]
        axes.plot(sizes, [1e3 * (alpha * n + beta * shards + gamma) for n in sizes], color=line.get_color(), lw=1)
    axes.set(xscale="log", yscale="log", xlabel="examples", ylabel="core-milliseconds a query")
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, frameon=False, title="points measured, lines by the model", title_fontsize=8)


def _more(slopes: dict[str, Any], more: dict[str, Any]) -> list[Piece]:
    machine, simulated = more["machine"], more["simulated"]
    plans = [
        [f"{p['examples']:.0e}", f"{p['rate']:,.0f}", f"{p['shards']:,}", f"{p['by_memory']:,}", f"{p['by_search']:,}",
         f"{p['by_coding']:,}", f"{p['by_network']:,}", f"{p['machines']:,}", f"{p['month']:,.0f}", p["first"]]
        for p in more["plans"]
    ]  # fmt: skip
    times = [[name, f"{load:.2f}", *(f"{1e3 * t:.2f}" for t in seconds)] for name, load, *seconds in simulated["rows"]]
    return [
        "**Extrapolation**, by arithmetic, far beyond what was measured: what exact search would need for more, with "
        f"width {slopes['width']} and K = {slopes['neighbours']}. It assumes machines with {machine['cores']} "
        "cores like "
        f"the one measured, {machine['memory'] / 1e9:.0f} GB and {8e-9 * machine['network']:.0f} Gbit/s, at "
        f"{machine['price']:.2f} dollars an hour ({more['hours']} hours a month), which are 60 % busy with 70 % of "
        "their "
        "memory filled, and two bytes of memory for each byte of the vectors.",
        Table(
            "plans",
            "How many machines the memory, the search, the coding and the network would each need alone, and how many "
            "are needed in all (search and coding share the processors, so they add up):",
            [
                "examples",
                "queries per second",
                "shards",
                "memory",
                "search",
                "coding",
                "network",
                "machines",
                "dollars per month",
                "bottleneck",
            ],
            plans,
        ),
        "Exact search reads every example for every query, so with many queries per second it becomes the "
        "bottleneck. An "
        "approximate index in every shard would relieve the search, but not the memory.",
        Table(
            "simulated",
            f"**Simulation** of machines that we do not have: {simulated['examples']:.0e} examples in "
            f"{simulated['shards']} shards with {simulated['copies']} copies each, {simulated['rate']:,.0f} "
            "queries per "
            f"second, {1e3 * simulated['service']:.2f} ms per query and shard. The table has the milliseconds "
            "until the "
            "last shard has answered. (The simulation is seeded, and its queue is tested against the formulas for "
            "M/M/1 "
            "and M/D/1.)",
            ["trouble", "load", "half within", "99 % within", "99.9 % within"],
            times,
        ),
        "A query waits for the slowest of its shards, so what is rare on one machine is not rare overall. When a "
        "copy is "
        "lost, its queries wait until it is back; asking a second copy after a while would help, but is not "
        "implemented.",
    ]
