"""What can go wrong in a case, by kind."""

from __future__ import annotations

import traceback
from dataclasses import asdict, dataclass
from typing import Any

KINDS = {
    "crash": "ended by a signal",
    "hang": "took more than 5 s of processor or 30 s of waiting",
    "memory": "took more than 2 GB, or asked for it",
    "traceback": "raised what is not an error of the library",
    "wrong": "gave a wrong answer without an error",
    "file": "opened, made, changed or deleted a file nobody named",
    "process": "started a process",
    "socket": "made a network connection",
    "output": "printed control characters or ended with an unknown exit code",
}


@dataclass(frozen=True)
class Failure:
    """One thing that went wrong in one case."""

    kind: str
    detail: str

    def to_dict(self) -> dict[str, str]:
        return asdict(self)


def of_exception(problem: BaseException, expected: tuple[type[BaseException], ...]) -> Failure | None:
    """What an exception says of a case; None for an error that the library raises on purpose."""
    from fuzz.area import Wrong

    link: BaseException | None = problem
    while link is not None:  # a lack of memory turned into a polite error is still a lack of memory
        if isinstance(link, MemoryError):
            return Failure("memory", _told(problem))
        link = link.__cause__ or link.__context__
    if isinstance(problem, Wrong):
        return Failure(problem.kind, _told(problem))
    if isinstance(problem, expected):
        return None
    return Failure("traceback", _told(problem))


def _told(problem: BaseException) -> str:
    lines = traceback.format_exception(problem)
    return "".join(lines)[-6000:]


def last_line(detail: str) -> str:
    """The line of a detail that says most, short and printable."""
    lines = [line for line in detail.strip().splitlines() if line.strip()] or [""]
    return "".join(c if c.isprintable() else "·" for c in lines[-1])[:200]


def from_dict(values: dict[str, Any]) -> Failure:
    return Failure(str(values["kind"]), str(values["detail"]))
