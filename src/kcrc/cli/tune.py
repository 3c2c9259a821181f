"""``kcrc tune``: the parameters chosen again, by leave-one-out."""

from __future__ import annotations

from pathlib import Path

import click

from kcrc.cli.arguments import Decimal, gallery_argument, open_gallery, option_value
from kcrc.cli.endings import Stopped
from kcrc.report.terminal import note, say, shown

NOTHING_TO_CHOOSE = "nothing to choose: all is fixed, or no class has two examples"


@click.command(short_help="Choose the parameters again, after many changes.")
@gallery_argument
@click.option("--seconds", default=60.0, show_default=True, type=Decimal(0, min_open=True), help="At most.")
@click.option("--fix", multiple=True, metavar="NAME=VALUE", help="Fix a parameter; NAME=auto leaves it to be chosen.")
@click.option("--plot", type=click.Path(path_type=Path), help="Draw what each parameter does, as a PNG or PDF.")
@click.option("--table", is_flag=True, help="Print what was tried, best first.")
def tune(gallery: Path, seconds: float, fix: tuple[str, ...], plot: Path | None, table: bool) -> int:
    """Choose the parameters of GALLERY again from its examples, and store them (kcrc undo takes that back).

    They are chosen when a gallery is built, or at the first question; after many changes they may no longer be the
    best.
    """
    with open_gallery(gallery, write=True) as opened:
        fixed = {**opened.parameters, **dict(option_value(text) for text in fix)}
        try:
            tuning = opened.tune(parameters={k: v for k, v in fixed.items() if v != "auto"}, seconds=seconds)
        except KeyboardInterrupt:
            raise Stopped("the parameters are as they were.") from None
        if tuning is None:
            note(f"kcrc: there was {NOTHING_TO_CHOOSE}.")
            return 0
        say(repr(tuning))
        if table:
            for row in tuning.table[:20]:
                values = "  ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.items())
                say(values)
        if plot is not None:
            tuning.plot(plot)
            note(f"wrote {shown(plot)}")
    return 0
