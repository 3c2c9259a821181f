"""Erase examples one after another, saying before each which and after it that it is done, until killed."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from kcrc.gallery import Gallery


def main(path: Path, seed: int) -> None:
    rng = random.Random(seed)
    with Gallery.open(path) as gallery:
        gallery.vectors()
        print(json.dumps({"ready": True}), flush=True)
        while True:
            some = rng.sample(gallery.find(removed=True), rng.randint(1, 3))
            print(json.dumps({"trying": some}), flush=True)
            gallery.remove(some, erase=True)
            gallery.vectors()
            print(json.dumps({"done": some}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
