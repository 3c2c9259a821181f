"""Labels and logs that somebody sent: files of other programs, decisions on an audit, and the log of a sorting."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

from fuzz.area import Area, Wrong, register
from fuzz.healthy import photo_gallery
from fuzz.mutation import PATHS, TEXTS, as_json, damaged, tree
from fuzz.place import CANARIES, Place
from kcrc.gallery import Gallery
from kcrc.gallery.correcting import read_decisions
from kcrc.gallery.labels import export_labels, import_labels
from kcrc.gallery.sorting.sorter import NAME, take_back

_FILES = {"csv": "x.csv", "jsonl": "x.jsonl", "parquet": "x.parquet", "label-studio": "x.json", "coco": "c.json"}
_WAYS = (*_FILES, "fiftyone", "folders", "decisions", "log")


@register("labels", about="labels of other programs, decisions, logs of sortings", share=800)
class Labels(Area):
    uses_box = True  # Parquet

    def prepare(self) -> None:
        photo_gallery(self.samples / "g.kcrc", self.samples / "photos", each=2)
        with Gallery.open(self.samples / "g.kcrc") as gallery:
            for form in (*_FILES, "fiftyone", "folders"):
                out = self.samples / _FILES.get(form, form)
                export_labels(gallery, out, form=form, originals=True, file_names=True)

    def plant(self, place: Place, rng: random.Random) -> str:
        shutil.copy(self.samples / "g.kcrc", place.name("g.kcrc"))
        root = place.name("in")
        way = rng.choice(_WAYS)
        if way in ("fiftyone", "folders"):
            shutil.copytree(self.samples / way, root)
            file = root / ("labels.json" if way == "fiftyone" else "kcrc-classes.json")
        else:
            shutil.copytree(self.samples / "photos", root)
            file = root / {**_FILES, "decisions": "x.csv", "log": NAME}[way]
        (root / "way").symlink_to(place.outside)
        content = (self.samples / file.name).read_bytes() if way in _FILES else _made(way, place, rng)
        if way == "fiftyone":
            content = file.read_bytes()
        if way in ("jsonl", "log"):
            lines = [_changed(json.loads(line), place, rng) for line in content.splitlines()]
            content = "".join(as_json(line) + "\n" for line in lines).encode("utf-8", "backslashreplace")
        elif way in ("label-studio", "coco", "fiftyone", "folders"):
            changed = _changed(json.loads(content), place, rng)
            content = as_json(changed).encode("utf-8", "backslashreplace")
        elif way in ("csv", "decisions"):
            for _ in range(rng.choice([0, 1, 3])):
                word = rng.choice(content.replace(b"\n", b",").split(b",")) or b"a"
                content = content.replace(word, _name(place, rng).encode("utf-8", "backslashreplace"), 1)
        file.write_bytes(damaged(content, rng) if rng.random() < 0.3 else content)
        return way

    def use(self, place: Place, planted: str) -> None:
        root = place.folder / "in"
        if planted == "log":
            take_back(root)
            return
        with Gallery.open(place.folder / "g.kcrc") as gallery:
            before = {row.id: row.label for row in gallery.contents.rows}
            if planted == "decisions":
                found = read_decisions(gallery, root / "x.csv")
                gallery.correct(found.labels, remove=found.remove, seen=found.seen)
            else:
                where = root / _FILES[planted] if planted in _FILES else root
                import_labels(gallery, where, form=planted, images=root, relabel=True)
            if gallery.verify().problems:
                raise Wrong("the gallery is damaged")
            if {row.id: row.label for row in gallery.contents.rows} != before:
                gallery.undo()
            if {row.id: row.label for row in gallery.contents.rows} != before:
                raise Wrong("one undo does not take it back")


def _made(way: str, place: Place, rng: random.Random) -> bytes:
    if way == "decisions":
        rows = [f"{number},{rng.choice(['wren', 'robin', 'heron'])},{rng.choice(['keep', 'remove', 'relabel'])},auk"
                for number in range(1, 7)]  # fmt: skip
        return "\n".join(["example,label,decision,new_label", *rows]).encode()
    if way == "log":
        line = {"how": "move", "from": str(place.folder / "in" / "old.jpg"), "to": "wren/0.jpg", "sha256": "0" * 64}
        lines: list[Any] = [
            {"kcrc sort": 1},
            {"folder": "wren"},
            line,
            {**line, "how": "copy"},
            {**line, "how": "link"},
        ]
        return "\n".join(map(json.dumps, lines)).encode()
    return b"{}"


def _changed(given: Any, place: Place, rng: random.Random) -> Any:
    """A tree with some values replaced, some by names of files that nobody named."""
    if isinstance(given, dict) and given and rng.random() < 0.3:
        return {**given, rng.choice(list(given)): _name(place, rng)}
    return tree(given, rng, changes=rng.choice([0, 1, 3]))


def _name(place: Place, rng: random.Random) -> str:
    canary = rng.choice(CANARIES)
    away = [f"../../outside/{canary}", str(place.outside / canary), f"way/{canary}", f"file://{place.outside / canary}"]
    return rng.choice([*away, *PATHS, *TEXTS, str(Path("wren") / "0.jpg")])
