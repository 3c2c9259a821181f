"""A log: a new file that grows by lines, each on the disk before ``add`` returns. A kill may leave half of the last."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from kcrc.errors import FileError
from kcrc.files.aside import NameTaken


class GrowingLog:
    """JSON lines in plain ASCII."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = path
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
        try:
            self._file = os.open(path, flags, 0o666)
        except FileExistsError:
            raise NameTaken(f"'{path}' is there already.") from None
        except OSError as problem:
            raise FileError(f"'{path}' cannot be written: {problem.strerror or problem}.") from None

    def add(self, facts: Mapping[str, Any]) -> None:
        rest = json.dumps(facts, allow_nan=False).encode() + b"\n"
        try:
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError as problem:
            raise FileError(f"'{self.path}' cannot be written: {problem.strerror or problem}.") from None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)
