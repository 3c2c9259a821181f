"""Decode image files in this process and say how much memory it took at most beyond what stood before.

``python image_memory_child.py '{"asked": [["a.png", [224, 224]], ...], "threads": 4}'`` prints a JSON line: the bytes
``beyond`` (of all together, or, on one thread, of each), and for each file the bytes ``held`` for it and what was
``found``: the mean of its pixels or the error.
"""

from __future__ import annotations

import json
import resource
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from kcrc.errors import KCRCError
from kcrc.images.decoding import decoder
from kcrc.images.decoding import pixels as eight_bits
from kcrc.images.decoding.reading import read
from kcrc.images.decoding.resizing import View

MARK, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def status(field: str) -> int:
    return 1024 * int(STATUS.read_text().split(f"{field}:")[1].split()[0])


def main(asked: list[tuple[str, list[int] | None]], threads: int, out: str | None = None, room: int = 0) -> None:
    held: list[int] = []
    plain = decoder.DECODING.hold

    @contextmanager
    def noted(needed):
        with plain(needed):
            held.append(needed)
            yield

    decoder.DECODING.hold = noted

    def one(path: str, size: list[int] | None) -> object:
        try:
            pixels = read(path, View(tuple(size)) if size else View()).pixels
        except KCRCError as problem:
            return str(problem)
        if out:
            Image.fromarray(pixels).save(out)
        return float(pixels.mean())

    small = eight_bits.pixels_of(Image.new("RGB", (9, 9)))  # imports are no part of it
    assert small.shape == (9, 9, 3)
    if room:  # as on a machine that has no more
        most = status("VmSize") + room
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    found: list[object] = []
    beyond: list[int] = []
    for group in [[each] for each in asked] if threads == 1 else [asked]:
        MARK.write_text("5")
        before = status("VmRSS")
        with ThreadPoolExecutor(threads) as pool:
            found += pool.map(lambda each: one(*each), group)
        beyond.append(status("VmHWM") - before)
    print(json.dumps({"beyond": beyond, "held": held, "found": found}))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
