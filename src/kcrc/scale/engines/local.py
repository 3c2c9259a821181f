"""The default engine: this process, one piece after the other, with all cores on each piece."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from kcrc.errors import ParameterError
from kcrc.scale.engines import ENGINES
from kcrc.scale.engines.base import Engine, Held


class LocalObjects(Held):
    """Objects that this process holds; a question is a plain method call."""

    def __init__(self, objects: list[Any]) -> None:
        self._objects = objects

    def __len__(self) -> int:
        return len(self._objects)

    def ask(self, verb: str, questions: Sequence[tuple[Any, ...]]) -> list[Any]:
        return [getattr(held, verb)(*question) for held, question in zip(self._objects, questions, strict=True)]


@ENGINES.register("local")
class Local(Engine):
    """Runs each piece when the caller fetches its result, so never more than one at a time."""

    threads: ClassVar[int | None] = None
    workers = 1

    def __init__(self, *, address: str | None = None, workers: int | None = None) -> None:
        if address is not None or workers is not None:
            raise ParameterError(
                "The engine 'local' is this process and its threads: it takes no address and no workers. "
                "The engine 'ray' has them."
            )

    def hold(self, makers: Sequence[Callable[[], Any]]) -> Held:
        return LocalObjects([make() for make in makers])

    def close(self) -> None:
        """There is nothing to end: no worker was started."""

    def _share(self, work: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return work

    def _start(self, shared: Callable[[Any], Any], piece: Any) -> Callable[[], Any]:
        return lambda: shared(piece)

    def _first_done(self, handles: list[Any]) -> Any:
        return handles[0]

    def _outcome(self, handle: Callable[[], Any]) -> Any:
        return handle()

    def _stop(self, handles: list[Any]) -> None:
        """There is nothing to stop: a piece runs only inside ``_outcome``."""
