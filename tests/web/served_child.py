"""``kcrc serve`` as a process of its own that notes every attempt to reach a network."""

from __future__ import annotations

import signal
import sys
from typing import Any

from kcrc.cli import main

REACHING = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "subprocess.Popen")


def note_reaching(event: str, given: tuple[Any, ...]) -> None:
    is_box = event == "subprocess.Popen" and "kcrc.files.boxed" in given[1]  # decodes pictures, without a network
    if event in REACHING and not is_box:
        print(f"REACHED {event} {given[1:]}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    sys.addaudithook(note_reaching)
    sys.exit(main(["serve", *sys.argv[1:]]))
