"""An area whose cases do what no case may do, run by the harness: each deed has to be noticed."""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))

from fuzz import confinement
from fuzz.__main__ import main
from fuzz.area import Area, Wrong, register
from fuzz.place import Place
from kcrc.errors import DataError

DEEDS = ("nothing", "refuse", "signal", "spin", "swell", "ask", "raise", "lie", "read", "delete", "make", "native read",
         "start", "native start", "connect", "native connect", "nothing")  # fmt: skip

confinement.MEMORY = 1 << 29  # the 2 GB of real cases may take a busy machine as long as a hang


@register("fakes", about="deeds that have to be noticed", share=len(DEEDS))
class Fakes(Area):
    def prepare(self) -> None:
        (self.samples / "done").touch()

    def plant(self, place: Place, rng: random.Random) -> str:
        """One deed after the other; what was done outlives the processes that end over it."""
        with open(self.samples / "done", "a") as done:
            deed = DEEDS[done.tell()]
            done.write("x")
        return deed

    def use(self, place: Place, planted: str) -> None:
        libc = ctypes.CDLL(None)
        canary = place.outside / "private.txt"
        if planted == "refuse":
            raise DataError("This is fine.")
        if planted == "signal":
            ctypes.string_at(1)
        elif planted == "spin":
            until = time.process_time() + 60
            while time.process_time() < until:
                pass
        elif planted == "swell":
            held = [bytes([1]) * (1 << 26) for _ in range(9)]
            raise DataError(f"This has held {len(held)} pieces.")
        elif planted == "ask":
            try:
                bytearray(1 << 40)
            except MemoryError:
                raise DataError("The file asks for more memory than there is.") from None
        elif planted == "raise":
            raise KeyError("not one of the library's")
        elif planted == "lie":
            raise Wrong("another answer")
        elif planted == "read":
            canary.read_bytes()
        elif planted == "delete":
            canary.unlink()
        elif planted == "make":
            (place.folder / "stray").touch()
        elif planted == "native read":
            libc.close(libc.open(os.fsencode(canary), 0))
        elif planted == "start":
            os.system("true")
        elif planted == "native start":
            libc.system(b"true")
        elif planted == "connect":
            with contextlib.suppress(OSError):
                socket.socket().close()
        elif planted == "native connect":
            libc.socket(2, 1, 0)


if __name__ == "__main__":
    sys.exit(main(["--area", "fakes", "--jobs", "1", "--out", sys.argv[1]]))
