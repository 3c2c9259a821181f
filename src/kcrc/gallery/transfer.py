"""Export a gallery to one plain file of arrays; import from such a file or from another gallery."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from kcrc._base.arrays import Array
from kcrc._base.words import file_name, some_of
from kcrc.errors import DataError, FileError
from kcrc.files.archive import read_archive, write_archive
from kcrc.gallery import acts, stored_choice
from kcrc.gallery.adding import Added, Duplicates
from kcrc.gallery.building import building
from kcrc.gallery.contract import Snapshot
from kcrc.gallery.gallery import Gallery
from kcrc.images.features.metadata import strip_metadata

KIND = "kcrc-export"
VERSION = 1
_AT_ONCE = 64  # pictures looked at together
_PREFIX = "feature-"  # before the names of the fitted feature's arrays
_TUNED = "tuned-"  # before the pieces of the chosen parameters, each as bytes


def export(gallery: Gallery, path: str | os.PathLike[str], *, file_names: bool = False) -> int:
    """Write all examples with vectors, thumbnails and settings to a file ``numpy.load`` can read; return how many.

    Arrays: ids, labels, vectors, sources, contents (n, 32), added_at (µs), thumbnails (all bytes in a row)
    and thumbnail_ends, where each ends; the chosen parameters, as bytes, in the pieces that the header names.
    ``file_names`` leaves the folders out of the sources.
    """

    ready = None
    if gallery.settings.tuned and len(gallery) and gallery.answering.why_choose is None:
        ready = gallery.answering.ready()

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
            known = ready is not None and ready.is_calibrated and ready.contents.revision == settings.revision
            calibrated = ready.calibrated if known and ready is not None else None
            choice = stored_choice.portable_choice(reading, settings, gallery.contents, calibrated)
            header["tuned"] = {"pieces": list(choice.state), "summary": choice.summary, "fresh": choice.fresh}
            pieces = enumerate(choice.state.values())
            arrays |= {f"{_TUNED}{number}": np.frombuffer(piece, np.uint8) for number, piece in pieces}
        return header, arrays

    header, arrays = gallery.read(look)
    write_archive(path, KIND, header, arrays)
    return len(arrays["ids"])


def import_(gallery: Gallery, path: str | os.PathLike[str], *, duplicates: Duplicates = "skip") -> Added:
    """Add the examples of an export or of another gallery, as one act.

    If they were compared in another way, their photographs, or the small pictures kept of them, are looked at again."""
    fingerprint, arrays = _examples_of(path)
    if fingerprint != gallery.fingerprint and gallery.settings.feature != "vectors" and len(arrays["labels"]):
        fingerprint, arrays = gallery.fingerprint, {**arrays, "vectors": _look_again(gallery, arrays)}
    return _add(gallery, fingerprint, arrays, duplicates)


def _look_again(gallery: Gallery, arrays: dict[str, Array]) -> Array:
    """Return vectors of the examples' pictures by the gallery's own feature; an error if some have no picture."""
    from kcrc.gallery.labels import read_original

    feature = gallery.answering.feature()
    sources = zip(arrays["sources"].tolist(), arrays["contents"], _thumbnails(arrays), strict=True)
    pictures = [read_original(source, row.tobytes().hex()) or small for source, row, small in sources]
    missing = [int(arrays["ids"][i]) for i, picture in enumerate(pictures) if picture is None]
    if missing:
        raise DataError(
            f"The gallery compares pictures in another way, and {len(missing)} of {len(pictures)} examples have no "
            f"picture to look at again (number {some_of([*map(str, missing)], 8)}). Nothing was added. Run this from "
            "the folder that the other gallery was built in, so that their photographs are found, or remove these."
        )
    found = [picture for picture in pictures if picture is not None]
    return np.concatenate([feature.transform(found[at : at + _AT_ONCE]) for at in range(0, len(found), _AT_ONCE)])


def _thumbnails(arrays: dict[str, Array]) -> list[bytes | None]:
    data, ends = arrays["thumbnails"].tobytes(), arrays["thumbnail_ends"].tolist()
    return [strip_metadata(data[start:end]) for start, end in zip([0, *ends[:-1]], ends, strict=True)]


def restore(path: str | os.PathLike[str], gallery: str | os.PathLike[str], *, overwrite: bool = False) -> Gallery:
    """Make a new gallery from an export: feature, parameters, chosen parameters, examples (with new ids and
    history)."""
    header, arrays = read_archive(path, KIND, version=VERSION)
    feature = _Exported(header, {k[len(_PREFIX) :]: v for k, v in arrays.items() if k.startswith(_PREFIX)}, path)
    with building(gallery, feature=feature, dtype=feature.dtype, overwrite=overwrite) as made:
        _add(made, feature.fingerprint, _check_arrays(arrays, feature.dim, path), "keep")
        if feature.parameters:
            made.set_parameters(feature.parameters)
        chosen = _read_choice(header, arrays, path)
        if chosen is not None:
            since = made.settings.revision if chosen.fresh else None
            made.store.write(acts.Tune(chosen.summary, chosen.state, asked=False, since=since))
    return Gallery.open(gallery)


def _read_choice(header: dict[str, Any], arrays: dict[str, Array], path: object) -> stored_choice.PortableChoice | None:
    """Read the chosen parameters of an export; they are validated when they are first used."""
    tuned = header.get("tuned")
    if tuned is None:
        return None
    try:
        names, summary, fresh = tuned["pieces"], tuned["summary"], tuned["fresh"]
        state = {str(name): arrays[f"{_TUNED}{number}"].tobytes() for number, name in enumerate(names)}
    except (KeyError, TypeError):
        raise FileError(f"What was tuned is not readable in the export '{path}'; it is damaged.") from None
    return stored_choice.PortableChoice(str(summary), state, fresh is True)


def _examples_of(path: str | os.PathLike[str]) -> tuple[str, dict[str, Array]]:
    # SQLite looks first: opening a file that is some gallery of this process by other means drops its locks.
    try:
        other = Gallery.open(path, readonly=True, recover=True)
    except FileError as not_a_gallery:
        if Path(path).suffix == ".kcrc":
            raise not_a_gallery from None
        header, arrays = read_archive(path, KIND, version=VERSION)
        feature = _Exported(header, {}, path)
        return feature.fingerprint, _check_arrays(arrays, feature.dim, path)
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
    return gallery.add(
        arrays["labels"],
        arrays["vectors"],
        sources=arrays["sources"].tolist(),
        contents=[row.tobytes() for row in arrays["contents"]],
        thumbnails=_thumbnails(arrays),
        fingerprint=fingerprint,
        duplicates=duplicates,
    )


def _check_arrays(arrays: dict[str, Array], dim: int, path: object) -> dict[str, Array]:
    """Return the arrays of an export if their shapes and types fit one another; else raise an error."""
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
    """The feature of an export, as a gallery stores it."""

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
        """Do nothing: an export has no network file, and names none to be opened."""
