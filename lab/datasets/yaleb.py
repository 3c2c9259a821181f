"""Extended Yale B, cropped: 38 people under 64 lights, from the folder of PGM files or ``yaleb.npz``."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from kcrc._base.arrays import Array
from kcrc.errors import DataError
from kcrc.images.datasets import Dataset, Provenance
from lab.datasets.archives import expect, read_npz

SHAPE = (192, 168)
# yaleB14 was never published; seven people have fewer than 64 usable pictures.
COUNTS = {f"yaleB{i:02d}": 64 for i in range(1, 40) if i != 14} | {
    "yaleB11": 60, "yaleB12": 59, "yaleB13": 60, "yaleB15": 63, "yaleB16": 62, "yaleB17": 63, "yaleB18": 63,
}  # fmt: skip

_LIGHT = re.compile(r"A([+-]\d{3})E([+-]\d{2})\.pgm$", re.IGNORECASE)
_BETWEEN = rb"(?:\s|#[^\n]*\n)+"  # one way to read each byte: nothing to try again
_HEADER = re.compile(rb"P5" + _BETWEEN + rb"(\d+)" + _BETWEEN + rb"(\d+)" + _BETWEEN + rb"(\d+)\s")
_FILE_LIMIT = 1 << 26


def read_pgm(path: Path | str) -> Array:
    """One binary grey map (P5, 8 bits) as (h, w) uint8."""
    path = Path(path)
    try:
        if path.stat().st_size > _FILE_LIMIT:
            raise DataError(f"{path} has {path.stat().st_size} bytes; a PGM of at most {_FILE_LIMIT} is read.")
        content = path.read_bytes()
    except OSError as problem:
        raise DataError(f"{path} cannot be read: {problem}.") from problem
    header = _HEADER.match(content[:4096])
    if header is None or int(header[3]) != 255:
        raise DataError(f"{path} is not a binary PGM of 8 bits (it begins with {content[:16]!r}).")
    width, height = int(header[1]), int(header[2])
    body = content[header.end() :]
    if len(body) != width * height:
        raise DataError(f"{path} should hold {width}×{height} pixels; it holds {len(body)}. Copy it again.")
    return np.frombuffer(body, np.uint8).reshape(height, width)


def read_cropped_yale(
    folder: Path | str, *, counts: dict[str, int] | None = None
) -> tuple[dict[str, Array], list[str]]:
    """All pictures of a CroppedYale folder, by subject and name; Ambient and ``.bad`` files are left out.

    ``counts`` says how many each subject must have. Returns ({images, labels, azimuth, elevation}, subjects).
    """
    folder = Path(folder)
    subjects = sorted(p.name for p in folder.iterdir() if p.is_dir() and p.name.startswith("yaleB"))
    if not subjects:
        raise DataError(f"{folder} has no folders yaleB01, yaleB02, … with PGM files.")
    files = {
        s: sorted(p for p in (folder / s).iterdir() if _LIGHT.search(p.name) and "ambient" not in p.name.lower())
        for s in subjects
    }
    for subject, due in (counts or {}).items():
        if len(files.get(subject, ())) != due:
            raise DataError(
                f"{folder / subject} holds {len(files.get(subject, ()))} pictures without Ambient; "
                f"{due} were due. "
                "The set is incomplete; copy it again."
            )
    images: list[Array] = []
    labels: list[int] = []
    angles: list[tuple[int, int]] = []
    for label, subject in enumerate(subjects):
        for path in files[subject]:
            light = _LIGHT.search(path.name)
            assert light is not None
            image = read_pgm(path)
            if images and image.shape != images[0].shape:
                raise DataError(f"{path} is {image.shape}, the others are {images[0].shape} (height, width).")
            images.append(image)
            labels.append(label)
            angles.append((int(light[1]), int(light[2])))
    if not images:
        raise DataError(f"{folder} has no PGM files named like yaleB01_P00A+000E+00.pgm.")
    azimuth, elevation = np.array(angles, np.int16).T
    parts = {
        "images": np.stack(images),
        "labels": np.array(labels),
        "azimuth": azimuth,
        "elevation": elevation,
    }
    return parts, subjects


def yaleb_from_folder(folder: Path, provenance: Provenance) -> Dataset:
    """The whole published set from its folder."""
    parts, subjects = read_cropped_yale(folder, counts=COUNTS)
    expect(folder, "pictures", parts["images"].shape[1:], SHAPE)
    return _yaleb(parts, subjects, provenance)


def yaleb_from_npz(path: Path, provenance: Provenance) -> Dataset:
    """The whole published set from ``yaleb.npz``."""
    parts = read_npz(path, ("images", "labels", "azimuth", "elevation", "subjects"))
    subjects = [str(s) for s in parts.pop("subjects")]
    expect(path, "images", parts["images"].shape, (sum(COUNTS.values()), *SHAPE))
    expect(path, "labels", parts["labels"].shape, (sum(COUNTS.values()),))
    found = dict(zip(subjects, np.bincount(parts["labels"], minlength=len(subjects)).tolist(), strict=False))
    short = next((s for s, due in COUNTS.items() if found.get(s) != due), None)
    if short:
        raise DataError(f"{path} holds {found.get(short, 0)} pictures of {short}; {COUNTS[short]} were due.")
    return _yaleb(parts, subjects, provenance)


def _yaleb(parts: dict[str, Array], subjects: list[str], provenance: Provenance) -> Dataset:
    return Dataset(
        "yaleb",
        parts["labels"].astype(np.int64),
        tuple(subjects),
        images=parts["images"],
        extras={"azimuth": parts["azimuth"], "elevation": parts["elevation"]},
        provenance=provenance,
    )
