"""Add examples to a gallery without end, saying after each that it is done, until killed."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from kcrc.gallery import Gallery


def main(path: Path) -> None:
    with Gallery.open(path) as gallery:
        number = len(gallery)
        while True:
            number += 1
            gallery.add("wren", np.full((1, 256), number, np.float32), sources=[str(number)])
            print(number, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
