"""Ray: tasks for pieces, actors for what is held. A lost worker's tasks run again, a lost actor is made again.

Everybody who reaches the ports of a Ray cluster can run code on its machines: a cluster of our own listens on loopback
alone and has no dashboard, and another cluster belongs in a network of its own.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

from kcrc._base.parallel import worker_count
from kcrc.errors import ParameterError, StateError
from kcrc.scale.engines import ENGINES
from kcrc.scale.engines.base import REPEATS, Engine, Held, check_workers

RESTARTS = 100  # of one actor: machines come and go in a long run; without end it would hide that none can hold it


def load_ray(*, alone: bool = False) -> Any:
    """Import the library, set to send nothing home and, with ``alone``, to stay on loopback."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if alone:  # Ray turns a loopback address into one that others reach, but on systems where it does not span machines
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    try:
        import ray
    except ImportError:
        raise ParameterError("The engine 'ray' needs Ray. Install it: pip install 'kcrc[ray]'.") from None
    return ray


class Holder:
    """Runs in an actor and passes calls on to its object, which it makes at the first call: so that the caller gets the
    error if that fails."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def ask(self, verb: str, *question: Any) -> Any:
        return getattr(self._object, verb)(*question)

    @cached_property
    def _object(self) -> Any:
        return self._make()


class Actors(Held):
    """Actors that restart by themselves."""

    def __init__(self, actors: list[Any]) -> None:
        self.actors = actors

    def __len__(self) -> int:
        return len(self.actors)

    def ask(self, verb: str, questions: Sequence[tuple[Any, ...]]) -> list[Any]:
        results = [actor.ask.remote(verb, *question) for actor, question in zip(self.actors, questions, strict=True)]
        return [_value(load_ray(), result) for result in results]


def _value(ray: Any, reference: Any) -> Any:
    """The result of a task or an actor; the error of the work itself if it raised one."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as problem:
        if problem.cause is None:  # an error that cannot be sent arrives as text
            raise StateError(f"A piece of work failed: {str(problem).strip().splitlines()[-1]}") from None
        raise problem.cause from None
    except ray.exceptions.UnserializableException as problem:  # or as a text that ends with what it was
        raise StateError(f"A piece of work failed: {str(problem).strip().splitlines()[-1]}") from None
    except ray.exceptions.RayError as problem:
        first = str(problem).strip().partition("\n")[0]
        raise StateError(
            f"A piece of work lost its worker again and again ({type(problem).__name__}: {first}). "
            "It may need more memory than a worker has; give it fewer workers, or smaller pieces."
        ) from None


@ENGINES.register("ray")
class OnRay(Engine):
    """A cluster at ``address`` ("auto", "host:port"), or one of our own with ``workers`` processes."""

    def __init__(self, *, address: str | None = None, workers: int | None = None) -> None:
        check_workers(workers)
        self._ray = ray = load_ray(alone=address is None)
        self._own = not ray.is_initialized()
        quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
        if not self._own and address is not None:
            raise StateError("This process is connected to a Ray cluster already; leave the address out to use it.")
        logging.getLogger("ray").setLevel(logging.ERROR)  # its own messages are not for readers of the answers
        try:
            if self._own and address is None:
                own = {"address": "local", "num_cpus": worker_count(workers), "include_dashboard": False}
                ray.init(**own, **quiet)  # "local" whatever RAY_ADDRESS says
            elif self._own:
                ray.init(address=address, **quiet)
        except (ConnectionError, ValueError, RuntimeError) as problem:
            first = str(problem).strip().partition("\n")[0]
            raise StateError(f"There is no Ray cluster to work with at {address or 'this machine'}: {first}") from None
        self.workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._makers: list[Any] = []
        self._run = ray.remote(num_cpus=1, max_retries=REPEATS)(_run)
        self._holder = ray.remote(num_cpus=0, max_restarts=RESTARTS, max_task_retries=RESTARTS)(Holder)

    def hold(self, makers: Sequence[Callable[[], Any]]) -> Held:
        sent = [self._ray.put(make) for make in makers]
        self._makers += sent  # Ray drops what has no reference, and an actor that is made again would miss it
        return Actors([self._holder.options(scheduling_strategy="SPREAD").remote(make) for make in sent])

    def close(self) -> None:
        self._makers.clear()
        if self._own:
            self._ray.shutdown()

    def _share(self, work: Callable[[Any], Any]) -> Any:
        return self._ray.put(work)

    def _start(self, shared: Any, piece: Any) -> Any:
        return self._run.remote(shared, piece)

    def _first_done(self, handles: list[Any]) -> Any:
        return self._ray.wait(handles, num_returns=1)[0][0]

    def _outcome(self, handle: Any) -> Any:
        return _value(self._ray, handle)

    def _stop(self, handles: list[Any]) -> None:
        """Cancel pieces on a cluster that was running before; on one of our own they end by themselves, or with it.

        Ray may end this process if a cancelled piece ends in the same moment (a check of its own fails), and then the
        reason for stopping would be lost.
        """
        for handle in [] if self._own else handles:
            with suppress(self._ray.exceptions.RayError, ValueError, TypeError):
                self._ray.cancel(handle)


def _run(work: Callable[[Any], Any], piece: Any) -> Any:
    return work(piece)
