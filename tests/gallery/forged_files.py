"""Files to be forged: each as JSON documents and arrays by name that can be changed, and the way back to a file.

Written back, its checksums and seals fit what it holds, as a forger would make them.
"""

from __future__ import annotations

import contextlib
import copy
import json
import shutil
import sqlite3
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT)]

from photos import folder as photographs  # noqa: E402
from photos import small_picture  # noqa: E402

from kcrc import Gallery, KCRCClassifier, features  # noqa: E402
from kcrc.files.archive import from_npy, to_npy  # noqa: E402
from kcrc.gallery.building import build_from_folder  # noqa: E402
from kcrc.gallery.stores import records  # noqa: E402
from kcrc.images.features.base import Feature  # noqa: E402
from kcrc.images.features.joined import JoinedLooks  # noqa: E402

GOLDEN = ROOT / "golden"
FIXED = {
    "n_neighbors": 4,
    "scaling": "plain",
    "kernel": "rbf",
    "gamma": 1.0,
    "mu": 0.01,
    "form": "rkhs",
    "decision": "ratio",
    "locality": "atoms",
}


class Forgery:
    """A copy of an original, with the documents and arrays in it that can be changed."""

    documents: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def save(self, path: Path) -> None:
        raise NotImplementedError


class ForgedArchive(Forgery):
    """An export or a saved classifier."""

    def __init__(self, original: Path) -> None:
        with zipfile.ZipFile(original) as archive:
            members = {name: archive.read(name) for name in archive.namelist()}
        self.documents = {"header": json.loads(members.pop("header.json"))}
        self.arrays = {name.removesuffix(".npy"): from_npy(data) for name, data in members.items()}

    def save(self, path: Path) -> None:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("header.json", _json(self.documents["header"]))
            for name, array in self.arrays.items():
                archive.writestr(f"{name}.npy", to_npy(array))


class ForgedGallery(Forgery):
    """A gallery: settings, details of the history and what was tuned are documents; columns are arrays of objects."""

    _COLUMNS = (
        *(("examples", column) for column in (1, 2, 4, 5, 6, 8)),
        *(("history", column) for column in (1, 2, 3, 5)),
        ("changes", 2),
    )

    def __init__(self, original: Path) -> None:
        self._original = original
        db = sqlite3.connect(original)
        self._rows = {
            table: [list(row) for row in db.execute(f"SELECT {', '.join(columns)} FROM {table}")]
            for table, columns in records.COLUMNS.items()
        }
        db.close()
        self.documents, self.arrays = {}, {}
        for number, row in enumerate(self._rows["settings"]):
            self.documents[f"settings {number} {row[0]}"] = json.loads(row[1])
        for number, row in enumerate(self._rows["history"]):
            self.documents[f"history {number} detail"] = json.loads(row[4])
        for table, column in self._COLUMNS:
            if self._rows[table]:
                self.documents[f"column {table} {column}"] = [row[column] for row in self._rows[table]]
        for table, name in (("tuned", 1), ("feature_state", 0)):
            for number, row in enumerate(self._rows[table]):
                if row[name] in ("facts", "classifier", "confidence"):
                    self.documents[f"{table} {number} {row[name]}"] = json.loads(row[-1])
                elif row[-1].startswith(b"\x93NUMPY"):
                    self.arrays[f"{table} {number} {row[name]}"] = from_npy(row[-1])
        self._had = tuple(self.arrays)

    def save(self, path: Path) -> None:
        rows = copy.deepcopy(self._rows)
        for name, document in self.documents.items():
            table, number, *rest = name.split(" ", 2)
            if table == "column":
                for row, value in zip(rows[number], document if isinstance(document, list) else [], strict=False):
                    row[int(rest[0])] = _storable(value)
            elif table == "tuned":
                rows[table][int(number)][-1] = _json(document).encode("utf-8", "surrogatepass")
            elif table in ("settings", "history"):
                rows[table][int(number)][1 if table == "settings" else 4] = _json(document)
        for name in reversed(self._had):
            table, number, _ = name.split(" ", 2)
            if name in self.arrays:
                rows[table][int(number)][-1] = to_npy(self.arrays[name])
            else:
                del rows[table][int(number)]
        shutil.copy(self._original, path)
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("BEGIN")
        for table, columns in records.COLUMNS.items():
            db.execute(f"DELETE FROM {table}")
            marks = ", ".join("?" * (len(columns) + 1))
            for row in rows[table]:
                with contextlib.suppress(sqlite3.IntegrityError, UnicodeEncodeError):
                    db.execute(f"INSERT INTO {table} VALUES ({marks})", (*row, 0))
        reseal(db)
        db.execute("COMMIT")
        db.close()


def reseal(db: sqlite3.Connection) -> None:
    """Checksums and seals that fit what the tables hold now."""
    for table, columns in records.COLUMNS.items():
        keys = columns[: records.KEY_WIDTH.get(table, 1)]
        rows = db.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
        sums = [records.checksum(table, row) for row in rows]
        naming = " AND ".join(f"{key} = ?" for key in keys)
        db.executemany(
            f"UPDATE {table} SET checksum = ? WHERE {naming}",
            [(total, *row[: len(keys)]) for total, row in zip(sums, rows, strict=True)],
        )
        seal = (len(rows), sum(sums) % records.MODULUS, table)
        db.execute("UPDATE seals SET row_count = ?, total = ? WHERE name = ?", seal)


def _json(value: Any) -> str:
    return json.dumps(value)


def _storable(value: Any) -> Any:
    if isinstance(value, bool | None | float | bytes) or (isinstance(value, int) and -(1 << 63) <= value < 1 << 63):
        return value
    return value if isinstance(value, str) else str(value)


def originals(folder: Path) -> list[Path]:
    """Galleries, exports and classifiers to start from: the golden ones, and small ones of every kind of feature."""
    made = folder / "originals"
    if not made.exists():
        made.mkdir(parents=True)
        photos = photographs(made / "photos", 3)
        options: dict[str, dict[str, Any]] = {
            "pixels": {"size": (8, 8)},
            "random-faces": {"size": (8, 8), "n_components": 12},
            "eigenfaces": {"size": (8, 8), "n_components": 4},
            "hog": {"size": (32, 32)},
            "lbp": {"size": (32, 32)},
            "pyramid": {"n_words": 8, "size": 32, "n_components": 5},
        }
        all_features: dict[str, Feature] = {}
        for name, given in options.items():
            known = features.make(name).get_params()
            all_features[name] = features.make(name, **{k: v for k, v in given.items() if k in known})
        faces = features.make("eigenfaces", **options["eigenfaces"]).fit(sorted(photos.glob("*/*")))
        all_features["looks"] = JoinedLooks(
            names=("outlines", "faces"), members=(all_features["hog"], faces), weights=(7, 3)
        )
        for name, feature in all_features.items():
            build_from_folder(photos, made / f"{name}.kcrc", feature=feature)
            with Gallery.open(made / f"{name}.kcrc") as gallery:
                gallery.set_parameters(FIXED)  # nothing to choose: choosing takes seconds
                gallery.classifier()
        rng = np.random.default_rng(0)
        with Gallery.create(made / "fixed.kcrc", dim=3, dtype="float64") as gallery:
            labels = [f"c{i % 3}" for i in range(12)]
            pictures = [small_picture(i) for i in range(12)]
            gallery.add(labels, rng.standard_normal((12, 3)), thumbnails=pictures)
            gallery.set_parameters(FIXED)
            gallery.relabel([3], "c1")
            gallery.remove([5])
            gallery.classifier()
            gallery.export(made / "fixed.npz")
        X, y = rng.random((14, 4)), np.arange(14) % 3
        for name, given in {
            "numbers": {},
            "kpca": {"projection": "kpca", "form": "gram"},
            "lasso": {"coder": "lasso"},
            "elastic": {"distance": "mahalanobis", "kernel": "exp"},
        }.items():
            KCRCClassifier(**{**FIXED, **given}).fit(X, y).save(made / f"{name}.kcrcmodel")
        names = np.array(["x", "y"] * 7, object)
        KCRCClassifier(**FIXED).fit(X, names).save(made / "objects.kcrcmodel")
    golden = sorted(path for path in GOLDEN.rglob("*") if path.suffix in (".kcrc", ".kcrcmodel", ".export"))
    return golden + sorted(path for path in made.iterdir() if path.suffix in (".kcrc", ".kcrcmodel", ".npz"))
