"""``python -m lab bench``: speed, beside what users would pick instead and beside what the machine can do."""

from __future__ import annotations

from pathlib import Path

import click

from kcrc.report.terminal import note, say, shown
from lab.bench.parts import NAMES


@click.command(short_help="Measure speed, beside other programs.")
@click.option("--quick", is_flag=True, help="Half a minute, with data that come along.")
@click.option("--data", type=click.Path(path_type=Path), help="Folder that has mnist.npz (else $KCRC_DATA).")
@click.option("--out", type=click.Path(path_type=Path), default="bench-out", show_default=True, help="Results.")
@click.option(
    "--part",
    "parts",
    multiple=True,
    type=click.Choice(NAMES),
    help="Time this part alone, beside its own rival (may be given several times).",
)
@click.option("--compare", type=click.Path(path_type=Path), help="bench.json of an earlier run: flag what got slower.")
@click.option(
    "--tolerance",
    type=click.FloatRange(min=0.0),
    default=0.3,
    show_default=True,
    help="Share by which a ratio may grow against --compare.",
)
@click.option("--jobs", type=click.IntRange(min=1), help="Threads for all contestants (default: all cores).")
def bench(
    quick: bool,
    data: Path | None,
    out: Path,
    parts: tuple[str, ...],
    compare: Path | None,
    tolerance: float,
    jobs: int | None,
) -> int:
    """Time this library beside scikit-learn's neighbours and SVC, faiss (where installed), a plain NumPy version of
    the paper's algorithm, and the bare matrix routines that limit them all: same data, same threads, one run.

    --part times one part alone, beside its own rival:

    \b
    pixel        pixel and histogram distances, beside SciPy and scikit-learn
    tangent      the tangent distance, beside the Euclidean one
    robust       the robust coder, beside a Cholesky factor
    lasso        the lasso, beside celer
    photographs  correcting a gallery of 10,000, in units of a matrix product
    box          decoding in the box, beside the same without it
    asking       CPU time of "kcrc predict" from a cold start
    queries      one and many queries, beside scikit-learn, faiss and limits
    search       exact search alone, beside its matrix product and faiss
    indexes      approximate and exact search, beside faiss flat
    fitting      a fit, beside grid searches of SVC, neighbours and logistic
                 regression
    changing     a fit with all parameters given; adding and removing examples
    serving      "kcrc serve" under load
    server       a PostgreSQL server that is killed while others write and ask
    scaling      how the ways to search grow, beside faiss flat
    mapped       examples larger than memory, under a hard limit
    engines      work spread by Ray, beside bare processes

    Prints ratios, writes OUT/bench.json and drawings. With --compare the exit code is 1 where a ratio grew by more
    than the tolerance.
    """
    import os

    from lab.bench.compare import changes, slower
    from lab.bench.results import stored_ratios
    from lab.bench.run import run, run_parts
    from lab.bench.tables import comparison

    old = None if compare is None else stored_ratios(compare)  # before minutes of work, not after
    given = os.environ.get("KCRC_DATA")
    folder = data if data is not None else Path(given) if given else None
    if parts and jobs is not None:
        raise click.UsageError("--jobs is for the whole run; a part has threads of its own. Leave out one of the two.")
    if parts:
        found = run_parts(parts, quick=quick, folder=folder, out=out, say=say, note=note)
    else:
        found = run(quick=quick, folder=folder, out=out, jobs=jobs, say=say, note=note)
    if old is None:
        return 0
    then, was_quick = old
    if was_quick != quick:
        note("kcrc: one run was --quick and the other was not; only what both measured alike is compared.")
    compared = changes(then, found.ratios)
    say("\n" + comparison(compared, tolerance))
    worse = slower(compared, tolerance)
    if worse:
        note(
            f"kcrc: {len(worse)} of {len(compared)} ratios grew by more than {tolerance:.0%}: {shown(worse[0].name)}, …"
        )
        return 1
    return 0
