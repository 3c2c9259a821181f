"""Dask: tasks for pieces; what is held is kept by the process that made it, and made again where that is gone.

Whoever reaches the ports of a Dask cluster runs code on its machines: a cluster of our own listens on loopback alone
and has no dashboard, and one of others belongs in a network of its own.
"""

from __future__ import annotations

import multiprocessing
import secrets
import threading
from collections.abc import Callable, Sequence
from typing import Any

from kcrc.errors import ParameterError, StateError
from kcrc.parallel import worker_count
from kcrc.scale.engines import ENGINES
from kcrc.scale.engines.base import REPEATS, Engine, Held, check_workers

_objects: dict[tuple[str, int], Any] = {}  # of a worker's process: what it holds, by a name nobody else has
_making = threading.Lock()
BEGINNING = 60.0  # seconds for a first worker to come
GUARD = (
    'In a script, what it does has to be under if __name__ == "__main__": for the workers are processes that import '
    "it, and would start a cluster each."
)
PATIENCE = 2.0  # seconds until somebody looks whether a worker that is waited for is still there


def load_dask() -> Any:
    """The scheduler's library."""
    try:
        import distributed
    except ImportError:
        raise ParameterError("The engine 'dask' needs Dask. Install it: pip install 'kcrc[dask]'.") from None
    return distributed


class KeptByWorkers(Held):
    """Each object has a worker that it is asked of; where that one is gone, another makes it anew."""

    def __init__(self, name: str, makers: Sequence[Callable[[], Any]]) -> None:
        self._name, self._makers = name, makers

    def __len__(self) -> int:
        return len(self._makers)

    def ask(self, verb: str, questions: Sequence[tuple[Any, ...]]) -> list[Any]:
        distributed = load_dask()
        try:
            distributed.get_worker()
        except ValueError:
            return self._asked(distributed.get_client(), verb, questions)
        with distributed.worker_client() as client:  # work that waits leaves its place to what it waits for
            return self._asked(client, verb, questions)

    def _asked(self, client: Any, verb: str, questions: Sequence[tuple[Any, ...]]) -> list[Any]:
        asked = [self._sent(client, number, verb, what) for number, what in enumerate(questions)]
        found = []
        for number, (future, home) in enumerate(asked):
            while _first_done(client, [future]) is None:
                if home is not None and home not in client.nthreads():  # what waits for it may wait for ever
                    future, home = self._sent(client, number, verb, questions[number])
            found.append(_value(future))
        return found

    def _sent(self, client: Any, number: int, verb: str, asked: tuple[Any, ...]) -> tuple[Any, str | None]:
        """The question to one object, and the worker it was sent to; None where there is none to choose from."""
        homes = sorted(client.nthreads())  # as of now: a worker that was started anew has another address
        home = homes[number % len(homes)] if len(homes) > 1 else None
        where = {} if home is None else {"workers": [home], "allow_other_workers": True}
        make = self._makers[number]
        return client.submit(_ask_held, self._name, number, make, verb, asked, pure=False, **where), home


def _first_done(client: Any, futures: list[Any]) -> Any:
    """Wait a while for one of them; None where none is done. An error where nobody is left to do it."""
    distributed = load_dask()
    try:
        return next(iter(distributed.wait(futures, timeout=PATIENCE, return_when="FIRST_COMPLETED").done))
    except TimeoutError:
        try:
            client.wait_for_workers(1, timeout=BEGINNING)
        except TimeoutError:
            raise StateError("All workers of the Dask cluster are gone, and none came back.") from None
        return None


def _ask_held(name: str, number: int, make: Callable[[], Any], verb: str, asked: tuple[Any, ...]) -> Any:
    with _making:
        if (name, number) not in _objects:
            _objects[name, number] = make()
    return getattr(_objects[name, number], verb)(*asked)


def _let_go(name: str) -> None:
    for place in [place for place in _objects if place[0] == name]:
        del _objects[place]


def _value(future: Any) -> Any:
    """What a task answered, with the error of the work itself where it raised one."""
    distributed = load_dask()
    try:
        return future.result()
    except (distributed.KilledWorker, distributed.client.FutureCancelledError) as problem:
        first = str(problem).strip().partition("\n")[0]
        raise StateError(
            f"A piece of work lost its worker again and again ({type(problem).__name__}: {first}). "
            "It may need more memory than a worker has; give it fewer workers, or smaller pieces."
        ) from None


@ENGINES.register("dask")
class OnDask(Engine):
    """A cluster at ``address`` (tcp://host:port), or one of our own with ``workers`` processes."""

    def __init__(self, *, address: str | None = None, workers: int | None = None) -> None:
        check_workers(workers)
        distributed = load_dask()
        if address is None and getattr(multiprocessing.current_process(), "_inheriting", False):
            raise StateError(f"A worker that is being started cannot start a Dask cluster. {GUARD}")
        import dask

        self._settings: Any = dask.config.set({"distributed.scheduler.allowed-failures": REPEATS})
        self._names: list[str] = []
        self._cluster: Any = None
        self._client: Any = None
        try:
            if address is None:
                self._cluster = distributed.LocalCluster(
                    n_workers=worker_count(workers), threads_per_worker=1, processes=True, host="127.0.0.1",
                    dashboard_address="127.0.0.1:0", scheduler_kwargs={"dashboard": False},
                )  # fmt: skip
            self._client = distributed.Client(self._cluster if address is None else address, timeout=10)
            self._client.wait_for_workers(1, timeout=BEGINNING)
        except (OSError, ValueError, RuntimeError, TimeoutError, TypeError, ImportError) as problem:
            self.close()
            where = address or "this machine"
            hint = f" {GUARD}" if address is None and isinstance(problem, RuntimeError) else ""
            raise StateError(f"There is no Dask cluster to work with at {where}: {problem}{hint}") from None
        self.workers = max(1, sum(self._client.nthreads().values()))

    def hold(self, makers: Sequence[Callable[[], Any]]) -> Held:
        name = secrets.token_hex(8)
        self._names.append(name)
        return KeptByWorkers(name, makers)

    def close(self) -> None:
        if self._cluster is None:
            for name in self._names:
                self._client.run(_let_go, name)
        for started in (self._client, self._cluster):
            if started is not None:
                started.close()
        self._settings.__exit__(None, None, None)

    def _sent(self, work: Callable[[Any], Any]) -> Any:
        return work

    def _start(self, shared: Any, piece: Any) -> Any:
        return self._client.submit(_run, shared, piece, pure=False)

    def _first_done(self, handles: list[Any]) -> Any:
        while (done := _first_done(self._client, handles)) is None:
            pass
        return done

    def _outcome(self, handle: Any) -> Any:
        return _value(handle)

    def _stop(self, handles: list[Any]) -> None:
        self._client.cancel(handles)


def _run(work: Callable[[Any], Any], piece: Any) -> Any:
    return work(piece)
