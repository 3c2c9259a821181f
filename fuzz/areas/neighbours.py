"""Files put beside the gallery, or in the way of what is written: journals, links, pipes, folders, caches."""

from __future__ import annotations

import json
import os
import random
import shutil
import struct
import zlib
from pathlib import Path
from typing import Any

from fuzz.area import Area, Wrong, register
from fuzz.healthy import DIM, vector_gallery
from fuzz.mutation import NUMBERS, damaged
from fuzz.place import CANARIES, Place
from kcrc.errors import KCRCError
from kcrc.gallery import Gallery, building, verify

_JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_NAMES = (
    "g.kcrc-journal", "g.kcrc-journal", "g.kcrc-journal", "g.kcrc-wal", "g.kcrc-shm", ".g.kcrc.building", ".kcrc-cache",
    ".g.kcrc.building-journal", ".kcrc-cache/g.kcrc.vectors", ".kcrc-cache/g.kcrc.vectors", "out.npz",
    "out.npz-journal",
    ".kcrc-cache/g.kcrc.vectors.x.new", ".kcrc-cache/gone.kcrc.vectors", "g.kcrc.npz", "g.kcrc.building", "new.kcrc",
    ".new.kcrc.building", "new.kcrc-journal", ".new.kcrc.building-journal", "new.kcrc-wal",
)  # fmt: skip
_ACTS = ("read", "read", "add", "build", "overwrite", "export", "compact", "erase", "verify", "import", "undo")


@register("neighbours", about="files planted beside the gallery", share=2000)
class Neighbours(Area):
    def prepare(self) -> None:
        vector_gallery(self.samples / "g.kcrc", tuned=False)
        with Gallery.open(self.samples / "g.kcrc") as gallery:
            gallery.vectors()
            gallery.export(self.samples / "g.npz")

    def load(self) -> None:
        self.data = (self.samples / "g.kcrc").read_bytes()
        self.cache = (self.samples / ".kcrc-cache" / "g.kcrc.vectors").read_bytes()
        with Gallery.open(self.samples / "g.kcrc", readonly=True) as gallery:
            self.truth = [part.tolist() for part in gallery.vectors()]

    def plant(self, place: Place, rng: random.Random) -> dict[str, Any]:
        place.name("g.kcrc", "out.npz", "new.kcrc", "given.npz")
        shutil.copyfile(self.samples / "g.npz", place.folder / "given.npz")
        (place.folder / "g.kcrc").write_bytes(self.data)
        journalled = False
        for name in rng.sample(_NAMES, rng.choice([1, 1, 2, 3])):
            path = place.folder / name
            if not os.path.lexists(path.parent):
                path.parent.mkdir()
            if not os.path.lexists(path) and path.parent.is_dir():
                journalled |= self._planted(path, rng) and name.startswith("g.kcrc-")
        return {
            "acts": rng.sample(_ACTS, rng.choice([1, 2, 3])),
            "readonly": rng.random() < 0.3,
            "journalled": journalled,
        }

    def _planted(self, path: Path, rng: random.Random) -> bool:
        """Put something there; whether it may be played back into the gallery, as a journal is."""
        outside = f"../outside/{rng.choice(CANARIES)}"
        if ".kcrc-cache" in str(path.parent):
            outside = f"../{outside}"
        kind = rng.randrange(8)
        if kind == 0:
            path.symlink_to(outside)
        elif kind == 1:
            path.symlink_to(rng.choice(["/dev/zero", "/dev/full", "g.kcrc", ".", "nowhere/x", "../outside", path.name]))
        elif kind == 2:
            os.mkfifo(path)
        elif kind == 3:
            path.mkdir(mode=rng.choice([0o755, 0o000]))
        elif kind == 4:
            path.write_bytes(rng.choice([b"", b"\0" * 5000, rng.randbytes(3000), self.data, self.data[:4096]]))
            return True
        elif kind == 5:
            path.write_bytes(self._cache_file(rng))
        else:
            path.write_bytes(self._journal(path.parent, outside, rng))
            return True
        return False

    def _journal(self, folder: Path, outside: str, rng: random.Random) -> bytes:
        """A rollback journal that looks hot, with the name of a super-journal at its end."""
        pages = len(self.data) // 4096
        count = rng.choice([0, 0, 1, 2, 0xFFFFFFFF])
        nonce = rng.getrandbits(32)
        original = rng.choice([pages, pages, 0, 1, 2**31])
        head = _JOURNAL + struct.pack(">IIIII", count, nonce, original, rng.choice([512, 512, 1, 65536]), 4096)
        body = head.ljust(512, b"\0")
        for _ in range(min(count, 3)):
            number = rng.choice([1, 2, pages, pages + 5, 0])
            page = bytearray(self.data[:4096] if rng.random() < 0.5 else rng.randbytes(4096))
            total = (nonce + sum(page[at] for at in range(4096 - 200, 0, -200))) % 2**32
            body += struct.pack(">I", number) + page + struct.pack(">I", total)
        if rng.random() < 0.8:
            target = rng.choice([
                os.path.abspath(folder / outside), outside, str(folder / "private.txt"), str(folder / "g.kcrc"),
                "g.kcrc",
                "/dev/zero", "x" * 600,
            ])  # fmt: skip
            name = os.fsencode(target)
            total = sum(byte - 256 if byte > 127 else byte for byte in name) % 2**32
            body += struct.pack(">I", 1 + 0x40000000 // 4096) + name
            body += struct.pack(">II", len(name), total) + _JOURNAL
        return damaged(body, rng) if rng.random() < 0.2 else body

    def _cache_file(self, rng: random.Random) -> bytes:
        """The cache of vectors with a header that says something else, or bytes that are."""
        if rng.random() < 0.4:
            return damaged(self.cache, rng)
        n = rng.choice([0, -1, 1, 17, 2**31, 2**62, 10**30, 1.5, "17", None, *NUMBERS])
        header = {"n": n, "dim": rng.choice([DIM, 0, 2**40]), "dtype": rng.choice(["float32", "float64", "O", "V9", 3])}
        text = json.dumps(
            rng.choice([header, [], {"n": [[]]}, {"n": 17, "dim": DIM, "dtype": "float32"}]), default=str
        ).encode()
        head = struct.pack("<8sII", b"KCRCVEC1", rng.choice([len(text), 2**32 - 1]), zlib.crc32(text)) + text
        return head.ljust(4096, b"\0") + rng.choice([self.cache[4096:], self.cache[4096:] * 2, b"", rng.randbytes(999)])

    def use(self, place: Place, planted: dict[str, Any]) -> None:
        path = place.folder / "g.kcrc"
        before = path.read_bytes()
        for act in planted["acts"]:
            try:
                self._act(place, act, planted["readonly"], planted["journalled"])
            except KCRCError:
                continue
        if planted["acts"] in (["read"], ["verify"]) and not planted["journalled"] and path.read_bytes() != before:
            raise Wrong("reading changed the gallery")

    def _act(self, place: Place, act: str, readonly: bool, journalled: bool) -> None:
        path, out, new = (place.folder / name for name in ("g.kcrc", "out.npz", "new.kcrc"))
        if act == "build" or act == "overwrite":
            with building(new if act == "build" else path, dim=DIM, overwrite=act == "overwrite") as made:
                made.add("x", [[1.0] * DIM])
            return
        if act == "verify":
            verify(path)
            return
        with Gallery.open(path, readonly=readonly and act == "read") as gallery:
            if act == "read":
                found = [part.tolist() for part in gallery.vectors()]
                if found != self.truth and not journalled and gallery.settings.revision == 5:
                    raise Wrong("what lies beside the gallery changed what is read from it")
            elif act == "add":
                gallery.add("new", [[1.0] * DIM])
            elif act == "export":
                gallery.export(out)
            elif act == "compact":
                gallery.compact()
            elif act == "erase":
                gallery.erase([3])
            elif act == "import":
                gallery.import_(place.folder / "given.npz")
            else:
                gallery.undo()
