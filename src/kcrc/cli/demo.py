"""``kcrc demo``: the main job on data that comes along."""

from __future__ import annotations

import click

from kcrc.report.terminal import say


@click.command(short_help="Try kcrc on handwritten digits; needs no data of your own.")
@click.argument("folder", default="demo-out")
def demo(folder: str) -> int:
    """Classify handwritten digits, print accuracy and speed, and draw why into FOLDER."""
    from kcrc.cli.digits_demo import main

    return main(folder, say=say)
