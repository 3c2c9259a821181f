"""A Matplotlib figure as a file: drawn in memory, then written whole or not at all."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

from kcrc.errors import ParameterError
from kcrc.files.aside import aside


def save_figure(figure: Any, path: str | os.PathLike[str], *, dpi: int = 110) -> None:
    """Write ``figure`` as what the ending of ``path`` says: PNG (also without an ending), PDF, SVG, …"""
    kind = Path(path).suffix.removeprefix(".").lower() or "png"
    known = figure.canvas.get_supported_filetypes()
    if kind not in known:
        raise ParameterError(f"A figure cannot be written as '.{kind}'. Endings that can: {', '.join(sorted(known))}.")
    drawn = io.BytesIO()
    figure.savefig(
        drawn, format=kind, dpi=dpi, metadata={"Date": None} if kind == "svg" else None
    )  # no other file each day
    with aside(path) as file:
        file.write(drawn.getvalue())
