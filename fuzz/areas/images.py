"""Pictures made to do harm: damaged, lying about their size, packed small, with parts that are never read."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import numpy as np

from fuzz import pictures
from fuzz.area import Area, Wrong, register
from fuzz.mutation import CONTROL
from fuzz.place import Place
from kcrc.images.decoding import decoder
from kcrc.images.decoding.limits import Content
from kcrc.images.decoding.reading import decode, read_many
from kcrc.images.decoding.resizing import View
from kcrc.images.features import make
from kcrc.images.features.metadata import has_no_metadata, strip_metadata

_VIEWS = (View(), View((8, 8)), View((32, 20), colour=False), View((64, 64), fit="crop"), View((16, 16), fit="inside"))
_FEATURES = ("pixels", "hog", "lbp")
MOST_MEMORY = 600_000_000  # of a worker


@register("images", about="hostile pictures", share=4000)
class Images(Area):
    uses_box = True

    def load(self) -> None:
        pictures.hostile(random.Random(0))
        self.features = {name: make(name) for name in _FEATURES}

    def plant(self, place: Place, rng: random.Random) -> dict[str, Any]:
        content = pictures.hostile(rng)
        way = rng.choice(["decode", "decode", "decode", "bare", "files", "feature", "eight"])
        names: list[str] = []
        if way == "files":
            marks = rng.choice(["", "", *(mark for mark in CONTROL if mark != "\0")])
            names = [f"a{marks}.jpg", "b.png", "c.tif"]
            place.name(*names)
            for name in names:
                (place.folder / name).write_bytes(pictures.hostile(rng))
            if rng.random() < 0.2:
                os.mkfifo(place.folder / "d.png")
                place.name("d.png")
                names.append("d.png")
            names += rng.choice([[], ["missing.jpg", ".", "/dev/zero"], ["e\0.jpg"]])
        several = [pictures.hostile(rng) for _ in range(8)] if way == "eight" else []
        return {
            "several": several, "content": content, "way": way, "view": rng.choice(_VIEWS),
            "thumbnail": rng.choice([0, 0, 128]), "names": names, "feature": rng.choice(_FEATURES),
        }  # fmt: skip

    def use(self, place: Place, planted: dict[str, Any]) -> None:
        content, view = planted["content"], planted["view"]
        if planted["way"] == "decode":
            found = decode(content, view, thumbnail=planted["thumbnail"])
            pixels = found.pixels
            if pixels.dtype != np.uint8 or pixels.ndim != (3 if view.colour else 2) or 0 in pixels.shape:
                raise Wrong(f"decoded to {pixels.dtype} of shape {pixels.shape}")
        elif planted["way"] == "bare":
            made = strip_metadata(content)
            if made is not None and not has_no_metadata(made):
                raise Wrong("a picture that was made bare is not")
        elif planted["way"] == "files":
            batch = read_many(planted["names"], view, on_error="skip")
            if len(batch.pictures) + len(batch.problems) != len(planted["names"]):
                raise Wrong("a file was neither read nor complained of")
            if not all(str(problem).isprintable() for problem in batch.problems):
                raise Wrong(f"a message holds control characters: {batch.problems!r}")
        elif planted["way"] == "eight":
            eight_at_once(planted["several"], view)
        else:
            vectors = self.features[planted["feature"]].transform([content])
            if not np.isfinite(vectors).all():
                raise Wrong("a feature that is not finite")


def eight_at_once(several: list[bytes], view: View) -> None:
    """As many as there are workers, each with its memory to itself; and all are answered."""
    batch = read_many([Content(f"{number}.jpg", data) for number, data in enumerate(several)], view, on_error="skip",
                      threads=len(several))  # fmt: skip
    if len(batch.pictures) + len(batch.problems) != len(several):
        raise Wrong("a picture was neither read nor complained of")
    for pool in (decoder._workers(()), decoder._workers(("pi_heif",)), decoder._workers(("rawpy",))):
        for worker in pool._idle:
            status = Path(f"/proc/{worker.pid}/status")
            peak = 1024 * int(status.read_text().split("VmHWM:")[1].split()[0]) if status.exists() else 0
            if peak > MOST_MEMORY:
                raise Wrong(f"a worker took {peak >> 20} MB")
