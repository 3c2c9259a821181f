"""``kcrc serve`` as a process of its own that notes every attempt to reach a network."""

from __future__ import annotations

import signal
import sys
from typing import Any

from kcrc.cli import main


def heard(event: str, given: tuple[Any, ...]) -> None:
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "subprocess.Popen"):
        print(f"REACHED {event} {given[1:]}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    sys.addaudithook(heard)
    sys.exit(main(["serve", *sys.argv[1:]]))
