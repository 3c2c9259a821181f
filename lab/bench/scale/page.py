"""``docs/scale.md``, made of the measurements in ``docs/scale/``: nobody writes it by hand.

    python -m lab bench --part NAME               # measures; leaves bench-out/scale/*.json
    cp bench-out/scale/*.json docs/scale/
    python -m lab.bench.scale.page      # writes docs/scale.md and the drawings in docs/scale/

To add a section: measure in a part (``lab.bench.parts``) that leaves ``run.results.scale["NAME"] = record`` (a
``Record``, begun before the measurement); write ``kcrc/bench/scale/sections/NAME.py`` with its ``TITLE`` and its
``pieces`` (see ``sections/__init__.py``); and put NAME into ``SECTIONS`` below, where it is to be read. A section
without a measurement is left out of the page.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kcrc.files.atomic import write_bytes
from kcrc.report.tables import Table
from lab.bench.scale.record import Record
from lab.bench.scale.sections import Drawing, Piece

SECTIONS = ("growth", "mapped", "engines")

HEAD = """# Scale: more examples, larger examples, more machines

This page is made by `python -m lab.bench.scale.page` from the measurements in `docs/scale/`; do not edit it. All
times are from one machine, so compare them with each other and not with those of another. The end of each section names
the command that measured it, the machine, and how busy that was. On a busy machine single times vary a good deal: look
at orders of magnitude.
"""


def text(folder: Path, sections: Sequence[str] = SECTIONS) -> str:
    """The page of the measurements in ``folder``, which lies beside it."""
    return "\n".join([HEAD, *(_section(name, record, folder.name) for name, record in _found(folder, sections))])


def drawings(folder: Path, sections: Sequence[str] = SECTIONS) -> list[Drawing]:
    """What the page of these measurements shows."""
    pieces = (piece for name, record in _found(folder, sections) for piece in _pieces(name, record))
    return [piece for piece in pieces if isinstance(piece, Drawing)]


def write(folder: Path) -> None:
    """Write the page beside ``folder`` and its drawings in it."""
    import matplotlib
    from matplotlib.figure import Figure

    from kcrc.files.figures import save_figure

    matplotlib.rcParams["svg.hashsalt"] = "kcrc"  # else every writing gives its parts other names
    for drawing in drawings(folder):
        figure = Figure(figsize=(6.4, 4.0), layout="constrained")
        drawing.draw(figure.subplots())
        save_figure(figure, folder / f"{drawing.name}.svg")
    write_bytes(folder.with_suffix(".md"), text(folder).encode())


def _found(folder: Path, sections: Sequence[str]) -> Iterator[tuple[str, Record]]:
    for name in sections:
        path = folder / f"{name}.json"
        if path.is_file():
            yield name, Record.read(path)


def _pieces(name: str, record: Record) -> Sequence[Piece]:
    pieces: Sequence[Piece] = importlib.import_module(f"lab.bench.scale.sections.{name}").pieces(record.measured)
    return pieces


def _section(name: str, record: Record, base: str) -> str:
    title = importlib.import_module(f"lab.bench.scale.sections.{name}").TITLE
    parts = [f"## {title}\n"]
    for piece in _pieces(name, record):
        if isinstance(piece, Table):
            parts.append(f"{piece.caption}\n\n{piece.markdown()}" if piece.caption else piece.markdown())
        elif isinstance(piece, Drawing):
            parts.append(f"![{piece.caption}]({base}/{piece.name}.svg)\n")
        else:
            parts.append(f"{piece}\n")
    parts.append(
        f"Measured by `{record.command}`, {record.when}, {record.machine}; the load average was {record.load:.1f} "
        "when it "
        f"began. Values: [{name}.json]({base}/{name}.json).\n"
    )
    return "\n".join(parts)


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/scale"))
