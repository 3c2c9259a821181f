"""Several processes that serve one gallery behind one address: each takes requests from the same socket, follows the
gallery's revision by itself, and shares what requests leave for later ones."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from kcrc.errors import KCRCError, StateError
from kcrc.gallery import Gallery
from kcrc.web.allowed import Allowed
from kcrc.web.app import application
from kcrc.web.guard import Guard
from kcrc.web.running import server
from kcrc.web.service import Service
from kcrc.web.shared import Shared, end_with_parent, held, without_interrupts

PATIENCE = 120.0  # seconds for the processes to begin
_LOOKS = 0.5  # seconds between two looks at whether they are there, and
_GLANCES = 0.05  # while they begin


@dataclass(frozen=True)
class Served:
    """What every process is told: by a pipe, for the words of a command are there for everybody to read."""

    gallery: Path | str
    readonly: bool
    model: Path | None
    names: tuple[str, ...]
    rate: float
    """Requests a second from one address, to all of them together; 0: any."""


def serve_by(count: int, served: Served, sock: socket.socket, *, started: Callable[[], None]) -> None:
    """Serve by so many processes until this one is interrupted or told to end; one that dies is started again."""
    sock.listen(256)
    spawning = multiprocessing.get_context("spawn")
    begun = [spawning.Event() for _ in range(count)]
    ending = threading.Event()

    def begin(number: int, shared: Shared) -> BaseProcess:
        process = spawning.Process(target=_serve, args=(served, sock, shared, begun[number]), daemon=True)
        with without_interrupts():
            process.start()
        return process

    with _told_to_end(ending), held(Allowed(), rate=served.rate) as (shared, is_held):
        processes = [begin(number, shared) for number in range(count)]
        try:
            _wait_until_all(begun, processes, ending)
            if not ending.is_set():
                started()
            while not ending.wait(_LOOKS):
                if not is_held():
                    raise StateError("The process that held what the others share has ended. Serve the gallery again.")
                for number, process in enumerate(processes):
                    if not process.is_alive():
                        processes[number] = begin(number, shared)
        finally:
            for process in processes:
                if process.is_alive() and process.pid is not None:
                    os.kill(process.pid, signal.SIGTERM)
            for process in processes:
                process.join()


def _wait_until_all(begun: list[Any], processes: list[BaseProcess], ending: threading.Event) -> None:
    """Until all of them serve, or there is an end; an error where one of them does not begin."""
    until = time.monotonic() + PATIENCE
    while not all(one.is_set() for one in begun):
        if time.monotonic() > until or not all(process.is_alive() for process in processes):
            raise StateError("The processes that serve the gallery did not begin.")
        if ending.wait(_GLANCES):
            return


@contextlib.contextmanager
def _told_to_end(ending: threading.Event) -> Iterator[None]:
    """Ctrl-C, or the signal to end, sets ``ending``."""
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {one: signal.signal(one, lambda *_: ending.set()) for one in signals}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _serve(served: Served, sock: socket.socket, shared: Shared, begun: Any) -> None:
    """One of the processes."""
    end_with_parent()
    from kcrc.cli.output import note, shown

    try:
        gallery = Gallery.open(served.gallery, readonly=served.readonly, model=served.model)
    except KCRCError as problem:
        note(f"kcrc: {shown(problem)}")
        raise SystemExit(1) from None
    service = Service(gallery, note=lambda text: note(f"kcrc: {shown(text)}"), shared=shared)
    guard = Guard(names=served.names, pace=shared.pace)
    server(application(service, guard), started=begun.set).run([sock])
