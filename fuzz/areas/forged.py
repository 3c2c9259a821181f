"""Galleries that are whole SQLite files with forged contents: checksums and seals fit, the values do not."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import sqlite3
import zlib
from typing import Any

from fuzz.area import Area, register
from fuzz.borrowed import TESTS
from fuzz.healthy import FEATURES, photo_gallery, vector_gallery
from fuzz.mutation import NUMBERS, TEXTS, as_json, damaged, tree, value
from fuzz.place import Place
from fuzz.sealing import Forgery
from fuzz.using import some_ways, use_gallery
from kcrc.gallery import Gallery

_FORGED_SCHEMAS = (
    "CREATE TRIGGER t AFTER INSERT ON examples BEGIN DELETE FROM vectors; END",
    "CREATE TRIGGER t BEFORE UPDATE ON settings BEGIN SELECT RAISE(ABORT, 'no'); END",
    "CREATE VIEW v AS SELECT * FROM examples",
    "CREATE INDEX i ON examples (abs(id))",
    "CREATE TABLE extra (x)",
    "CREATE TABLE extra (x, y GENERATED ALWAYS AS (randomblob(x)) STORED)",
    "CREATE VIRTUAL TABLE f USING fts5(x)",
    "ALTER TABLE vectors ADD COLUMN more DEFAULT (randomblob(1000000))",
    "ALTER TABLE vectors RENAME TO vektors",
    "DROP TABLE thumbnails",
    "PRAGMA user_version = 1",
    "PRAGMA user_version = 2",
    "PRAGMA user_version = 99",
    "PRAGMA user_version = -5",
    "PRAGMA application_id = 1",
    "PRAGMA encoding = 'UTF-16'",
    "PRAGMA journal_mode = WAL",
    "PRAGMA auto_vacuum = 2",
    "DELETE FROM seals",
    "UPDATE seals SET row_count = -1",
    "UPDATE seals SET row_count = 'many', total = x'00'",
    "UPDATE seals SET total = 1e300",
)


@register("forged", about="forged gallery files", share=3000)
class Forged(Area):
    uses_box = True

    def prepare(self) -> None:
        vector_gallery(self.samples / "vectors.kcrc")
        for feature in FEATURES:
            photo_gallery(self.samples / f"{feature}.kcrc", self.samples / "photos", feature=feature)
        for older in TESTS.glob("golden/*/*.kcrc"):
            target = self.samples / f"{older.parent.name}-{older.name}"
            shutil.copyfile(older, target)
            Gallery.open(target).close()  # brought up to this version

    def load(self) -> None:
        self.galleries = sorted(self.samples.glob("*.kcrc"))

    def plant(self, place: Place, rng: random.Random) -> dict[str, Any]:
        path = place.name("g.kcrc")
        shutil.copyfile(rng.choice(self.galleries), path)
        forgery = Forgery(path)
        # A second forgery may meet what the first has made unreadable.
        with contextlib.suppress(sqlite3.Error, ValueError, TypeError, RecursionError, AttributeError):
            for _ in range(rng.choice([1, 1, 2])):
                rng.choice([_settings, _settings, _cells, _cells, _tuned, _tuned, _state, _payloads, _schema])(
                    forgery, rng
                )
        forgery.close()
        cache = rng.random() < 0.2
        return {"ways": some_ways(rng), "readonly": rng.random() < 0.3, "cache": cache}

    def use(self, place: Place, planted: dict[str, Any]) -> None:
        os.environ["KCRC_GALLERY_CACHE"] = str(place.folder / ".kcrc-cache") if planted["cache"] else ""
        use_gallery(place.folder / "g.kcrc", planted["ways"], readonly=planted["readonly"])


def _settings(forgery: Forgery, rng: random.Random) -> None:
    """One setting says something else."""
    rows = dict(forgery.rows("settings"))
    key = rng.choice(sorted(rows))
    fate = rng.random()
    if fate < 0.05:
        del rows[key]
    elif fate < 0.1:
        rows[rng.choice(TEXTS)] = as_json(value(rng))
    elif fate < 0.2:
        rows[key] = rng.choice(["", "{", "NaN", "1e999", "-0", '"\\ud800"', "1" * 5000, "[" * 3000, '{"a":1,"a":2}'])
    elif fate < 0.6:
        rows[key] = as_json(tree(json.loads(rows[key]), rng, changes=rng.choice([1, 2])))
    else:
        rows[key] = as_json(value(rng))
    forgery.put("settings", list(rows.items()))


def _cells(forgery: Forgery, rng: random.Random) -> None:
    """A cell of some table holds something else, of its own type or another."""
    table = rng.choice(["examples", "examples", "history", "changes", "feature_state", "tuned"])
    rows = [list(row) for row in forgery.rows(table)]
    if not rows:
        return
    for _ in range(rng.choice([1, 1, 3, len(rows)])):
        row = rng.choice(rows)
        at = rng.randrange(len(row))
        if isinstance(row[at], int) and rng.random() < 0.7:
            row[at] = rng.choice([*(n for n in NUMBERS if isinstance(n, int)), row[at] + 1, -row[at]])
        elif isinstance(row[at], str) and rng.random() < 0.7:
            row[at] = rng.choice([*TEXTS, '{"label": 3}', '{"label": "x", "removed_by": 1e9}', "[]", "null"])
        else:
            row[at] = rng.choice([None, *NUMBERS, *TEXTS, b"", b"\0" * 32, rng.randbytes(40)])
    forgery.put(table, [tuple(row) for row in rows])


def _tuned(forgery: Forgery, rng: random.Random) -> None:
    """The stored classifier describes something else."""
    rows = [list(row) for row in forgery.rows("tuned")]
    texts = [row for row in rows if row[1] in ("classifier", "facts")]
    arrays = [row for row in rows if row[1].startswith("array")]
    if texts and (not arrays or rng.random() < 0.7):
        row = rng.choice(texts)
        row[2] = as_json(tree(json.loads(row[2]), rng, changes=rng.choice([1, 1, 2, 4]))).encode("utf-8", "replace")
    elif arrays:
        row = rng.choice(arrays)
        row[2] = damaged(row[2], rng) if rng.random() < 0.6 else rng.choice(arrays)[2]
    forgery.put("tuned", [tuple(row) for row in rows])


def _state(forgery: Forgery, rng: random.Random) -> None:
    """An array of the fitted feature is another one."""
    rows = [list(row) for row in forgery.rows("feature_state")]
    if rows:
        row = rng.choice(rows)
        row[1] = damaged(row[1], rng)
        if rng.random() < 0.2:
            row[0] = rng.choice([*TEXTS, "options", "feature", "version", "path"])
    else:
        rows = [[rng.choice(["basis", "options", "feature", "path"]), rng.randbytes(50)]]
    forgery.put("feature_state", [tuple(row) for row in rows])


def _payloads(forgery: Forgery, rng: random.Random) -> None:
    """Vectors and pictures of other lengths and contents, with checksums that fit."""
    table, column = rng.choice([("vectors", 7), ("thumbnails", 8)])
    rows = [list(row) for row in forgery.rows("examples")]
    row = rng.choice(rows)
    found = forgery.db.execute(f"SELECT data FROM {table} WHERE id = ?", (row[0],)).fetchone()
    old = found[0] if found else b""
    data: Any = rng.choice([
        b"", old[:-1], old + b"\0", b"\xff" * len(old), b"\x00\x00\xc0\x7f" * (len(old) // 4), old * 50, damaged(old,
        rng),
        b"\xff\x7f" * (len(old) // 2), rng.choice(TEXTS), rng.choice([0, 1, 2**62]),
    ])  # fmt: skip
    forgery.db.execute(f"UPDATE {table} SET data = ? WHERE id = ?", (data, row[0]))
    row[column] = zlib.crc32(data) if isinstance(data, bytes) else 0
    forgery.put("examples", [tuple(row) for row in rows])


def _schema(forgery: Forgery, rng: random.Random) -> None:
    """Tables, triggers and pragmas that are not the gallery's, also where SQLite itself would not write them."""
    if rng.random() < 0.7:
        forgery.db.execute(rng.choice(_FORGED_SCHEMAS))
        return
    forgery.db.execute("PRAGMA writable_schema = ON")
    names = [name for (name,) in forgery.db.execute("SELECT name FROM sqlite_master")]
    column, to = rng.choice([
        ("sql", "CREATE TABLE x AS SELECT 1"), ("sql", ""), ("sql", None), ("sql", "(" * 2000), ("rootpage", 1),
        ("rootpage", 2), ("rootpage", 10**6), ("rootpage", 0), ("type", "view"), ("type", "trigger"), ("name",
        "x" * 90),
        ("tbl_name", "seals"),
    ])  # fmt: skip
    forgery.db.execute(f"UPDATE sqlite_master SET {column} = ? WHERE name = ?", (to, rng.choice(names)))
