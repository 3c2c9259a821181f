"""Damage copies of a gallery and use each: a clear error or the right data, with little memory, and no crash."""

from __future__ import annotations

import os
import random
import resource
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "support")]

from disks import wait_for_no_disk  # noqa: E402

from kcrc.errors import KCRCError  # noqa: E402
from kcrc.gallery import Gallery, verify  # noqa: E402

MEMORY = 1 << 30  # a forged size must not get near this


def mutate(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    page = 4096
    kind = rng.randrange(7)
    if kind == 0:
        del changed[rng.randrange(len(changed)) :]
    elif kind == 1:
        del changed[page * rng.randrange(len(changed) // page) :]
    elif kind in (2, 3):
        for _ in range(rng.choice([1, 1, 2, 8])):
            changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    elif kind == 4:  # the heads of pages, where SQLite's own structure is
        at = page * rng.randrange(len(changed) // page) + rng.randrange(120)
        changed[at] ^= 1 << rng.randrange(8)
    elif kind == 5:
        at, size = rng.randrange(len(changed)), rng.choice([1, 4, 64, 4096])
        changed[at : at + size] = rng.randbytes(min(size, len(changed) - at))
    else:
        a, b = (page * rng.randrange(len(changed) // page) for _ in range(2))
        changed[a : a + page], changed[b : b + page] = changed[b : b + page], changed[a : a + page]
    return bytes(changed)


def everything(gallery: Gallery) -> list[object]:
    ids, vectors, labels = gallery.vectors()
    pictures = [gallery.thumbnail(i) for i in ids.tolist()]
    sources = [gallery.example(i).source for i in ids.tolist()]
    state = {
        name: value if isinstance(value, dict | str) else value.tolist()
        for name, value in gallery.feature_state().items()
    }
    classifier = gallery.classifier()
    said = [classifier.predict(vectors).tolist(), classifier.predict_proba(vectors).round(6).tolist()]
    return [ids.tolist(), vectors.tolist(), labels.tolist(), pictures, sources, state, gallery.parameters, said]


def main(original: Path, first: int, last: int) -> None:
    wait_for_no_disk()
    data = original.read_bytes()
    with Gallery.open(original, readonly=True) as gallery:
        truth = everything(gallery)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    target = original.with_name("damaged.kcrc")
    refused = harmless = 0
    for seed in range(first, last):
        rng = random.Random(seed)
        for left in target.parent.glob("damaged.kcrc*"):
            left.unlink()
        target.write_bytes(mutate(data, rng))
        os.environ["KCRC_GALLERY_CACHE"] = "" if seed % 3 else str(target.parent / ".kcrc-cache")
        sound = verify(target).sound
        try:
            with Gallery.open(target, readonly=bool(seed % 2)) as gallery:
                found = everything(gallery)
                assert found == truth, f"seed {seed}: wrong data without an error"
                gallery.history()
            harmless += 1
        except KCRCError as problem:
            if sound or len(str(problem)) > 600:
                raise AssertionError(f"seed {seed}: verify was content, or the message is long") from problem
            refused += 1
        try:  # changing a damaged gallery may fail, but only in a clear way
            with Gallery.open(target) as gallery:
                gallery.add("new", [[1.0] * gallery.dim])
                gallery.undo()
                gallery.undo()
                gallery.compact()
        except KCRCError:
            pass
    print(refused, harmless)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
