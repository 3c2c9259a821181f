"""How a study is called: options that all have, what it ran on, and errors in a sentence."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from kcrc.cli.endings import report_failure
from kcrc.report.terminal import note, own_words
from lab import machine
from lab.experiments.provenance import commit

Study = Callable[[argparse.Namespace], bool | None]


def options(name: str, description: str | None) -> argparse.ArgumentParser:
    """A parser that knows ``--data``; the description is shown as it is written."""
    parser = argparse.ArgumentParser(
        f"python -m lab.experiments.studies.{name}",
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder of the data sets (else $KCRC_DATA, the cache)")
    return parser


def run(study: Study, parser: argparse.ArgumentParser, arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 unless the study says that what must hold does not (False), or could not be run."""
    given = parser.parse_args(arguments)
    note(f"{commit()}; {machine.summary()}")
    with own_words():
        try:
            return 1 if study(given) is False else 0
        except (Exception, KeyboardInterrupt) as problem:
            return report_failure(problem, debug=os.environ.get("KCRC_DEBUG", "0") not in ("", "0"))
