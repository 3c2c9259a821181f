"""Gallery files with flipped bits, lost, zeroed and swapped pages: an error, or the right data."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

from fuzz.area import Area, Wrong, register
from fuzz.borrowed import from_tests
from fuzz.healthy import vector_gallery
from fuzz.mutation import damaged
from fuzz.place import Place
from kcrc.errors import KCRCError
from kcrc.gallery import Gallery, verify

_PAGE = 4096


@register("damaged", about="damaged gallery files", share=2000)
class Damaged(Area):
    def prepare(self) -> None:
        vector_gallery(self.samples / "g.kcrc")

    def load(self) -> None:
        self.data = (self.samples / "g.kcrc").read_bytes()
        self.child = from_tests("gallery/mutation_child.py")
        with Gallery.open(self.samples / "g.kcrc", readonly=True) as gallery:
            self.truth = self.child.everything(gallery)

    def plant(self, place: Place, rng: random.Random) -> dict[str, Any]:
        path = place.name("g.kcrc")
        data = [self._mutated, self._pages, damaged][rng.randrange(3)](self.data, rng)
        path.write_bytes(data)
        return {"readonly": rng.random() < 0.5, "act": rng.randrange(6), "cache": rng.random() < 0.3}

    def _mutated(self, data: bytes, rng: random.Random) -> bytes:
        made: bytes = self.child.mutate(data, rng)
        return made

    def _pages(self, data: bytes, rng: random.Random) -> bytes:
        """Pages zeroed, doubled, or with a field of their head set to something else."""
        out = bytearray(data)
        pages = len(out) // _PAGE
        for _ in range(rng.choice([1, 1, 2])):
            at = _PAGE * rng.randrange(pages)
            kind = rng.randrange(3)
            if kind == 0:
                out[at : at + _PAGE] = bytes(_PAGE)
            elif kind == 1:
                other = _PAGE * rng.randrange(pages)
                out[at : at + _PAGE] = out[other : other + _PAGE]
            else:
                field = at + rng.choice([0, 1, 3, 5, 7, 8, 10, 12, 14, 28, 32, 36, 44, 52, 56, 60])
                out[field : field + 2] = rng.randbytes(2)
        return bytes(out)

    def use(self, place: Place, planted: dict[str, Any]) -> None:
        path = place.folder / "g.kcrc"
        os.environ["KCRC_GALLERY_CACHE"] = str(place.folder / ".kcrc-cache") if planted["cache"] else ""
        sound = verify(path).sound
        try:
            with Gallery.open(path, readonly=planted["readonly"]) as gallery:
                if self.child.everything(gallery) != self.truth:
                    raise Wrong("the gallery gave other data than were stored, and no error")
                gallery.history()
        except KCRCError as problem:
            if sound:
                raise Wrong(f"verify was content, but: {problem}") from problem
        with Gallery.open(path) as gallery:
            self._change(gallery, planted["act"])

    def _change(self, gallery: Gallery, act: int) -> None:
        if act == 0:
            gallery.add("new", [[1.0] * gallery.dim])
        elif act == 1:
            gallery.undo()
            gallery.undo()
        elif act == 2:
            gallery.compact()
        elif act == 3:
            gallery.erase([3])
        elif act == 4:
            gallery.rename_class("wren", "robin")
        else:
            gallery.export(Path(gallery.path).with_name("g.kcrc.npz"))
