"""Change a gallery without end, saying before each act what is tried and after it what was done, until killed."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kcrc.features.bare import as_jpeg
from kcrc.gallery import Gallery, building

PIXELS = np.random.default_rng(0).integers(0, 256, (48, 48, 3), np.uint8)
PICTURE = as_jpeg(PIXELS)  # about 3 kB


def vector(tag: int) -> np.ndarray:
    """The vector of the example with this tag: anyone who knows the tag can check it."""
    return np.random.default_rng(tag).standard_normal(64).astype(np.float32)


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def main(path: Path, seed: int, tag: int) -> None:
    rng = random.Random(seed)
    with Gallery.open(path) as gallery:
        say(ready=True)
        while True:
            ids = gallery.contents.ids.tolist()
            act = rng.choice(["add", "add", "add", "remove", "relabel", "rename", "undo", "compact", "build"])
            if act == "add":
                tags = list(range(tag, tag + rng.randint(1, 6)))
                tag = tags[-1] + 1
                label = rng.choice("abcde")
                say(trying="add", tags=tags, label=label)
                gallery.add(
                    label,
                    np.array([vector(t) for t in tags]),
                    sources=[str(t) for t in tags],
                    thumbnails=[PICTURE] * len(tags),
                )
            elif act == "remove" and ids:
                some = rng.sample(ids, min(len(ids), rng.randint(1, 4)))
                say(trying="remove", ids=some)
                gallery.remove(some)
            elif act == "relabel" and ids:
                some, label = rng.sample(ids, min(len(ids), rng.randint(1, 4))), f"new-{tag}-{rng.random()}"
                say(trying="relabel", ids=some, label=label)
                gallery.relabel(some, label)
            elif act == "rename" and ids:
                old, label = rng.choice(gallery.classes), f"named-{tag}-{rng.random()}"
                say(trying="rename", old=old, label=label)
                gallery.rename_class(old, label)
            elif act == "undo" and any(
                entry.undone_by is None and entry.action != "undo" for entry in gallery.history()[:1]
            ):
                if gallery.history(1)[0].action == "compact":
                    continue
                say(trying="undo")
                gallery.undo()
            elif act == "compact" and rng.random() < 0.3:
                say(trying="compact")
                gallery.compact()
            elif act == "build":
                name = f"built-{seed}-{rng.randrange(10**9)}.kcrc"
                tags = list(range(tag, tag + rng.randint(1, 40)))
                tag = tags[-1] + 1
                say(trying="build", name=name, tags=tags)
                with building(path.with_name(name), dim=64) as made:
                    for start in range(0, len(tags), 10):
                        some = tags[start : start + 10]
                        made.add("a", np.array([vector(t) for t in some]), sources=[str(t) for t in some])
            else:
                continue
            say(done=act)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
