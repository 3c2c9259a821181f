"""Decode image files in this process and say how much memory it took at most beyond what stood before.

``python image_memory_child.py '{"paths": [...], "size": [224, 224], "threads": 4}'`` prints a JSON line: the bytes
``beyond``, for each file the bytes ``held`` for it, and the mean of its pixels or the error.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from PIL import Image

from kcrc.errors import KCRCError
from kcrc.features import decoding, eight_bits
from kcrc.features.images import read
from kcrc.features.views import View

MARK, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")


def status(field: str) -> int:
    return 1024 * int(STATUS.read_text().split(f"{field}:")[1].split()[0])


def main(paths: list[str], size: list[int] | None, threads: int, out: str | None = None) -> None:
    view = View(tuple(size)) if size else View()
    held: list[int] = []
    plain = decoding.DECODING.hold

    @contextmanager
    def noted(needed):
        with plain(needed):
            held.append(needed)
            yield

    decoding.DECODING.hold = noted

    def one(path: str) -> object:
        try:
            pixels = read(path, view).pixels
        except KCRCError as problem:
            return str(problem)
        if out:
            Image.fromarray(pixels).save(out)
        return float(pixels.mean())

    small = eight_bits.pixels_of(Image.new("RGB", (9, 9)))  # imports are no part of it
    assert small.shape == (9, 9, 3)
    MARK.write_text("5")
    before = status("VmRSS")
    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(one, paths))
    print(json.dumps({"beyond": status("VmHWM") - before, "held": held, "found": found}))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
