"""A measurement of the page on scale, as a file: what was measured, by which command, and on what machine."""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from kcrc.errors import DataError
from kcrc.files.atomic import write_bytes
from lab.machine import summary

FORMAT = "kcrc-scale-1"


@dataclass(frozen=True)
class Record:
    """``measured`` is what its section on the page is made of; ``load`` is how many processes wanted a core before the
    measurement began."""

    measured: dict[str, Any]
    command: str
    machine: str
    load: float
    when: str

    @classmethod
    def begun(cls, command: str) -> Record:
        """Of this machine, now; what is measured is filled in as it comes."""
        return cls({}, command, summary(), round(os.getloadavg()[0], 2), time.strftime("%Y-%m-%d", time.gmtime()))

    def write(self, path: Path) -> None:
        content = {"format": FORMAT, **asdict(self)}
        write_bytes(path, (json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode())

    @classmethod
    def read(cls, path: Path) -> Record:
        try:
            content = json.loads(path.read_text("utf-8"))
            if content.pop("format") != FORMAT:
                raise ValueError("its format is another")
            return cls(**content)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
            raise DataError(f"'{path}' is not a measurement of the page on scale ({problem}).") from None
