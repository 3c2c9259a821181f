"""Galleries out and in: export to one plain file of arrays, import from such a file or another gallery."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.words import file_name
from kcrc.errors import FileError
from kcrc.files.archive import read_archive, write_archive
from kcrc.gallery import acts, tuned
from kcrc.gallery.adding import Added, Duplicates
from kcrc.gallery.building import building
from kcrc.gallery.contract import Snapshot
from kcrc.gallery.gallery import Gallery
from kcrc.images.features.metadata import strip_metadata

KIND = "kcrc-export"
VERSION = 1
_PREFIX = "feature-"  # before the names of the fitted feature's arrays
_TUNED = "tuned-"  # before the pieces of what was tuned, each as bytes


def export(gallery: Gallery, path: str | os.PathLike[str], *, file_names: bool = False) -> int:
    """Write all examples with their vectors, thumbnails and settings to a file ``numpy.load`` can read; how many.

    Arrays: ids, labels, vectors, sources, contents (n, 32), added_at (µs), thumbnails (all bytes in a row)
    and thumbnail_ends, where each ends; what was tuned, as bytes, in the pieces that the header names.
    ``file_names`` leaves the folders out of the sources.
    """

    def look(reading: Snapshot) -> tuple[dict[str, Any], dict[str, Array]]:
        settings = gallery.settings
        header = {
            "version": VERSION,
            "feature": settings.feature,
            "values": dict(settings.values),
            "fingerprint": settings.fingerprint,
            "dim": settings.dim,
            "dtype": settings.dtype,
            "parameters": dict(settings.parameters),
        }
        arrays = _arrays(gallery, reading)
        if file_names and len(arrays["sources"]):
            arrays["sources"] = np.array([file_name(source) for source in arrays["sources"].tolist()], dtype=str)
        state = {name: value for name, value in gallery.feature_state().items() if isinstance(value, np.ndarray)}
        arrays |= {_PREFIX + name: value for name, value in state.items()}
        if settings.tuned:
            carried = tuned.carried(reading, settings, gallery.contents)
            header["tuned"] = {"pieces": list(carried.state), "summary": carried.summary, "fresh": carried.fresh}
            pieces = enumerate(carried.state.values())
            arrays |= {f"{_TUNED}{number}": np.frombuffer(piece, np.uint8) for number, piece in pieces}
        return header, arrays

    header, arrays = gallery.read(look)
    write_archive(path, KIND, header, arrays)
    return len(arrays["ids"])


def import_(gallery: Gallery, path: str | os.PathLike[str], *, duplicates: Duplicates = "skip") -> Added:
    """Add the examples of an export or of another gallery, as one act; both have to have the same fingerprint."""
    fingerprint, arrays = _examples_of(path)
    return _add(gallery, fingerprint, arrays, duplicates)


def restore(path: str | os.PathLike[str], gallery: str | os.PathLike[str], *, overwrite: bool = False) -> Gallery:
    """A new gallery from an export: feature, parameters, what was tuned, and examples (ids and history begin anew)."""
    header, arrays = read_archive(path, KIND, version=VERSION)
    feature = _Exported(header, {k[len(_PREFIX) :]: v for k, v in arrays.items() if k.startswith(_PREFIX)}, path)
    with building(gallery, feature=feature, dtype=feature.dtype, overwrite=overwrite) as made:
        _add(made, feature.fingerprint, _checked(arrays, feature.dim, path), "keep")
        if feature.parameters:
            made.set_parameters(feature.parameters)
        chosen = _chosen(header, arrays, path)
        if chosen is not None:
            since = made.settings.revision if chosen.fresh else None
            made.store.write(acts.Tune(chosen.summary, chosen.state, asked=False, since=since))
    return Gallery.open(gallery)


def _chosen(header: dict[str, Any], arrays: dict[str, Array], path: object) -> tuned.Carried | None:
    """What was tuned, as an export brings it; what is in it is looked at, without trust, when it is first used."""
    said = header.get("tuned")
    if said is None:
        return None
    try:
        names, summary, fresh = said["pieces"], said["summary"], said["fresh"]
        state = {str(name): arrays[f"{_TUNED}{number}"].tobytes() for number, name in enumerate(names)}
    except (KeyError, TypeError):
        raise FileError(f"What was tuned is not readable in the export '{path}'; it is damaged.") from None
    return tuned.Carried(str(summary), state, fresh is True)


def _examples_of(path: str | os.PathLike[str]) -> tuple[str, dict[str, Array]]:
    # SQLite looks first: opening a file that is some gallery of this process by other means drops its locks.
    try:
        other = Gallery.open(path, readonly=True, recover=True)
    except FileError as not_a_gallery:
        if Path(path).suffix == ".kcrc":
            raise not_a_gallery from None
        header, arrays = read_archive(path, KIND, version=VERSION)
        feature = _Exported(header, {}, path)
        return feature.fingerprint, _checked(arrays, feature.dim, path)
    with other:
        return other.fingerprint, other.read(lambda reading: _arrays(other, reading))


def _arrays(gallery: Gallery, reading: Snapshot) -> dict[str, Array]:
    ids, vectors, labels = gallery.vectors()
    rows = gallery.contents.rows
    pictures = [strip_metadata(reading.thumbnail(row) or b"") or b"" for row in rows]  # old files hold comments
    return {
        "ids": ids,
        "labels": labels,
        "vectors": vectors,
        "sources": np.array([row.source for row in rows], dtype=str) if rows else np.zeros(0, "<U1"),
        "contents": np.frombuffer(b"".join(row.content for row in rows), np.uint8).reshape(-1, 32),
        "added_at": np.array([row.added_at for row in rows], np.int64),
        "thumbnails": np.frombuffer(b"".join(pictures), np.uint8),
        "thumbnail_ends": np.cumsum([0] + [len(picture) for picture in pictures])[1:].astype(np.int64),
    }


def _add(gallery: Gallery, fingerprint: str, arrays: dict[str, Array], duplicates: Duplicates) -> Added:
    if len(arrays["labels"]) == 0:
        return Added(())
    data, ends = arrays["thumbnails"].tobytes(), arrays["thumbnail_ends"].tolist()
    parts = [data[start:end] for start, end in zip([0, *ends[:-1]], ends, strict=True)]
    pictures: Sequence[bytes | None] = [strip_metadata(part) for part in parts]
    return gallery.add(
        arrays["labels"],
        arrays["vectors"],
        sources=arrays["sources"].tolist(),
        contents=[row.tobytes() for row in arrays["contents"]],
        thumbnails=pictures,
        fingerprint=fingerprint,
        duplicates=duplicates,
    )


def _checked(arrays: dict[str, Array], dim: int, path: object) -> dict[str, Array]:
    """The arrays of an export, once their shapes and types fit one another."""
    try:
        n = arrays["labels"].size
        ends = arrays["thumbnail_ends"]
        fine = (
            arrays["labels"].dtype.kind == "U" == arrays["sources"].dtype.kind
            and arrays["labels"].shape == arrays["sources"].shape == ends.shape == (n,)
            and arrays["vectors"].shape == (n, dim)
            and arrays["contents"].shape == (n, 32)
            and arrays["contents"].dtype == arrays["thumbnails"].dtype == np.uint8
            and arrays["thumbnails"].ndim == 1
            and ends.dtype == np.int64
            and bool((np.diff(ends, prepend=0) >= 0).all())
            and (n == 0 or ends[-1] == arrays["thumbnails"].size)
        )
    except KeyError as missing:
        raise FileError(f"The export '{path}' lacks its part {missing}.") from None
    if not fine:
        raise FileError(f"The parts of the export '{path}' do not fit one another; it is damaged.")
    return arrays


class _Exported:
    """The feature of an export, as far as a gallery stores it."""

    def __init__(self, header: dict[str, Any], state: dict[str, Array], path: object) -> None:
        try:
            self.kind = str(header["feature"])
            self.values = dict(header["values"])
            self.fingerprint = str(header["fingerprint"])
            self.dim = int(header["dim"])
            self.dtype = str(header["dtype"])
            self.parameters = dict(header["parameters"])
        except (KeyError, TypeError, ValueError):
            raise FileError(f"The header of the export '{path}' is not readable.") from None
        self._state = state

    def state(self) -> dict[str, Any]:
        return {**self.values, **self._state}

    def keep(self) -> None:
        """Nothing: an export brings no network file, and names none to be opened."""
