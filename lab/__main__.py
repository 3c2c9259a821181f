"""``python -m lab``: the proof of what kcrc says of itself. Run it in a checkout; no wheel holds it.

::

    python -m lab bench                 how fast, beside other programs
    python -m lab reproduce NAME...     the paper's tables and figures
    python -m lab.experiments.studies.NAME   one of our own experiments
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from kcrc.cli.endings import report_failure
from kcrc.report.terminal import own_words
from lab.bench.command import bench
from lab.experiments.command import reproduce


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
def lab() -> None:
    """Measure kcrc: its speed, and the paper's tables and figures."""


lab.add_command(bench)
lab.add_command(reproduce)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code."""
    with own_words():
        try:
            result = lab.main(
                args=None if arguments is None else list(arguments), prog_name="python -m lab", standalone_mode=False
            )
        except (Exception, KeyboardInterrupt) as problem:
            return report_failure(problem, debug=os.environ.get("KCRC_DEBUG", "0") not in ("", "0"))
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    sys.exit(main())
