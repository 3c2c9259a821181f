"""Small made-up photographs: a class is a colour and a direction of stripes."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

COLOURS = {"wren": (150, 100, 60), "robin": (200, 60, 40), "heron": (120, 140, 160)}


def photo(path: Path, label: str, seed: int) -> Path:
    """Write one image; the same label and seed give the same bytes."""
    rng = np.random.default_rng([seed, *label.encode()])
    across, down = np.mgrid[0:48, 0:64]
    phase = across if label == "wren" else down if label == "robin" else across + down
    if label == "owl":  # squares
        phase = np.where(np.sin(across / 4) * np.sin(down / 4) > 0, 2.0, 12.0)
    stripes = 0.75 + 0.25 * np.sign(np.sin(phase / (3 + rng.random())))
    noise = rng.normal(0, 6, (48, 64, 3))
    pixels = np.clip(stripes[:, :, None] * np.array(COLOURS.get(label, (90, 200, 90))) + noise, 0, 255)
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels.astype(np.uint8)).save(path, quality=90)
    return path


def shapes(seed: int, side: int = 96) -> Image.Image:
    """Smooth shapes in colour, different for every seed."""
    coarse = np.random.default_rng(seed).integers(0, 256, (7, 9, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((side * 4 // 3, side), Image.Resampling.BICUBIC)


def small_picture(seed: int = 0, side: int = 24) -> bytes:
    """A JPEG of noise in memory; the same seed and side give the same bytes."""
    out = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 256, (side, side, 3), np.uint8)
    Image.fromarray(pixels).save(out, "JPEG", quality=80)
    return out.getvalue()


def folder(where: Path, each: int, first: int = 0) -> Path:
    """A folder of class folders."""
    for label in COLOURS:
        for number in range(first, first + each):
            photo(where / label / f"{number}.jpg", label, number)
    return where


def two_ways(where: Path, each: int, first: int = 0) -> Path:
    """A folder of four classes that neither outlines nor colours tell apart: brown or grey, striped across or down, at
    a width and a phase of its own each."""
    for number in range(first, first + each):
        for tint, colour in (("brown", (150, 100, 60)), ("grey", (105, 105, 105))):
            for way in ("across", "down"):
                rng = np.random.default_rng([number, *f"{tint} {way}".encode()])
                rows, columns = np.mgrid[0:48, 0:64]
                along = rows if way == "across" else columns
                stripes = 0.75 + 0.25 * np.sign(np.sin(along / (2 + rng.random()) + 6 * rng.random()))
                lit = stripes[:, :, None] * np.array(colour) * (0.8 + 0.4 * rng.random())
                pixels = np.clip(lit + rng.normal(0, 12, (48, 64, 3)), 0, 255).astype(np.uint8)
                path = where / f"{tint} {way}" / f"{number}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(pixels).save(path)
    return where
