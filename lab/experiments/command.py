"""``python -m lab reproduce``: the paper's tables and figures, measured here and set beside the paper's own."""

from __future__ import annotations

from pathlib import Path

import click

from kcrc.report.terminal import note, say, shown


@click.command(short_help="Run the paper's tables and figures again.")
@click.argument("names", nargs=-1, required=True, metavar="NAME... | all")
@click.option(
    "--quick", is_flag=True, help="A short run: fewer sizes, queries and repeats; digits where data are missing."
)
@click.option("--full", is_flag=True, help="The paper's own repeats and all its queries: many hours.")
@click.option("--seeds", type=click.IntRange(1), help="Repeats with other random splits (default: the protocol's).")
@click.option("--queries", type=click.IntRange(1), help="Test samples asked, at most (default: the protocol's).")
@click.option("--data", type=click.Path(path_type=Path), help="Folder of the data sets (else $KCRC_DATA, the cache).")
@click.option("--out", type=click.Path(path_type=Path), default="reproduce-out", show_default=True, help="Results.")
@click.option("--page", type=click.Path(path_type=Path), help="The page to write (default: OUT/reproduction.md).")
@click.option("--fresh", is_flag=True, help="Measure again what was measured before.")
@click.option("--resume", is_flag=True, help="First say what earlier runs have left to do, and how long it takes.")
def reproduce(
    names: tuple[str, ...],
    quick: bool,
    full: bool,
    seeds: int | None,
    queries: int | None,
    data: Path | None,
    out: Path,
    page: Path | None,
    fresh: bool,
    resume: bool,
) -> int:
    """Measure NAME (table1, fig3, fig4, fig5, fig6, fig7, table2, tables34, table5, beyond, family, or all), write its
    tables and figures into OUT, and the page of all that was measured. An interrupted run goes on where it was, also
    from the runs.csv of an earlier one.
    """
    from kcrc.errors import ParameterError
    from lab import experiments
    from lab.experiments.base import Plan
    from lab.experiments.page import compose
    from lab.experiments.runner import left
    from lab.experiments.runner import reproduce as run

    for one, other, given in (("--quick", "--full", quick and full), ("--fresh", "--resume", fresh and resume)):
        if given:
            raise ParameterError(
                f"{one} and {other} were both given, and each undoes the other. Leave one of them out."
            )
    wanted = experiments.names() if "all" in names else names
    chosen = {found.name: found for found in (experiments.load(name) for name in wanted)}
    plan = Plan(out=out, data=data, quick=quick, full=full, seeds=seeds, queries=queries, fresh=fresh)
    if resume:
        for remaining in (left(experiment, plan) for experiment in chosen.values()):
            if remaining is not None:
                say(str(remaining))
    done = 0
    for experiment in chosen.values():
        report = run(experiment, plan, say=lambda text: note(f"kcrc: {shown(text)}"))
        if report is None:
            note(f"kcrc: {experiment.name} was not run.")
            continue
        done += 1
        say(f"\n{experiment.title}")
        for table in report.tables:
            say(f"\n{table.caption}\n\n{table.markdown()}", end="")
        for claim in report.claims:
            mark = {True: "holds", False: "does not hold here", None: "cannot be said"}[claim.held]
            say(f"  {claim.text} {mark}: {claim.detail}")
        for sentence in report.notes:
            say(f"  Note: {sentence}")
    if done:
        written = compose(out, page or out / "reproduction.md", experiments.names())
        note(f"wrote {shown(written)}")
    return 0 if done == len(chosen) else 1
