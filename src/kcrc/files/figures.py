"""Write a Matplotlib figure to a file: drawn in memory, then written completely or not at all."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from kcrc.errors import ParameterError
from kcrc.files.atomic import atomic_write


def save_figure(figure: Any, path: str | os.PathLike[str], *, dpi: int = 110) -> None:
    """Write ``figure`` in the format that the ending of ``path`` names: PDF, SVG, …; PNG without an ending."""
    kind = Path(path).suffix.removeprefix(".").lower() or "png"
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise ParameterError(f"A figure cannot be written as '.{kind}'. Endings that can: {', '.join(sorted(known))}.")
    drawing = io.BytesIO()
    # Without the date, the same figure gives the same SVG file every day.
    figure.savefig(drawing, format=kind, dpi=dpi, metadata={"Date": None} if kind == "svg" else None)
    with atomic_write(path) as file:
        file.write(drawing.getvalue())
