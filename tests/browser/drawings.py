"""Made-up pictures of fruit for the page: drawn by code, the same for the same seed, alike enough to be mistaken."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops, ImageDraw, ImageFilter

SIDE, FINE = 176, 2  # pixels of a picture; it is drawn this many times as large, and made smooth by being reduced
COLOURS = {
    "apple": ((196, 40, 44), (232, 92, 60)),
    "tomato": ((206, 44, 30), (240, 96, 52)),
    "orange": ((232, 128, 24), (250, 170, 60)),
    "lemon": ((240, 206, 48), (252, 232, 110)),
    "pear": ((168, 180, 60), (212, 214, 110)),
    "plum": ((92, 44, 110), (140, 84, 160)),
}
TABLES = ((222, 206, 184), (186, 152, 116), (204, 214, 220), (236, 232, 226), (120, 132, 124), (232, 214, 214))
LEAF, STEM = (74, 128, 58), (96, 66, 40)


def drawing(label: str, seed: int) -> Image.Image:
    """One fruit on a table, in some light, somewhat turned."""
    rng = np.random.default_rng([seed, *label.encode()])
    big = SIDE * FINE
    wide = big * rng.choice([1.0, 1.0, 1.3])
    size = (int(wide), big)
    scene = _table(rng, size)
    radius = big * rng.uniform(0.27, 0.35)
    centre = (size[0] * rng.uniform(0.42, 0.58), big * rng.uniform(0.48, 0.58))
    shadow = Image.new("L", size)
    ImageDraw.Draw(shadow).ellipse(
        _around((centre[0] + 0.12 * radius, centre[1] + 0.92 * radius), 1.05 * radius, 0.28 * radius), fill=120
    )
    scene.paste((40, 32, 28), mask=shadow.filter(ImageFilter.GaussianBlur(radius * 0.14)))
    fruit = _fruit(label, rng, size, centre, radius).rotate(
        rng.uniform(-22, 22), Image.Resampling.BICUBIC, center=centre
    )
    scene.paste(fruit, mask=fruit.getchannel("A"))
    small = scene.resize((size[0] // FINE, SIDE), Image.Resampling.LANCZOS)
    noise = rng.normal(0, 4.0, (SIDE, small.width, 1))
    return Image.fromarray(np.clip(np.asarray(small, float) + noise, 0, 255).astype(np.uint8))


def _table(rng: np.random.Generator, size: tuple[int, int]) -> Image.Image:
    """A wall and a table, lit from one side."""
    wall, table = (
        np.array(TABLES[at], float) * rng.uniform(0.85, 1.05) for at in rng.choice(len(TABLES), 2, replace=False)
    )
    edge = int(size[1] * rng.uniform(0.45, 0.68))
    pixels = np.where((np.arange(size[1]) < edge)[:, None, None], wall, table) * np.ones((1, size[0], 1))
    light = np.linspace(rng.uniform(0.8, 1.0), rng.uniform(0.95, 1.12), size[0])[None, :, None]
    grain = (
        1
        + 0.03
        * np.sin(np.arange(size[1]) / rng.uniform(7, 16))[:, None, None]
        * (np.arange(size[1]) >= edge)[:, None, None]
    )
    return Image.fromarray(np.clip(pixels * light * grain, 0, 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(2))


def _fruit(
    label: str, rng: np.random.Generator, size: tuple[int, int], centre: tuple[float, float], radius: float
) -> Image.Image:
    """The fruit alone, shaded like a ball, with what grows on it."""
    outline = Image.new("L", size)
    pen = ImageDraw.Draw(outline)
    x, y = centre
    if label == "pear":
        pen.ellipse(_around((x, y + 0.2 * radius), 0.82 * radius, 0.8 * radius), fill=255)
        pen.ellipse(_around((x, y - 0.5 * radius), 0.46 * radius, 0.6 * radius), fill=255)
        outline = outline.filter(ImageFilter.GaussianBlur(radius * 0.16)).point(lambda v: 255 if v > 120 else 0)
    elif label == "lemon":
        pen.ellipse(_around(centre, 1.08 * radius, 0.76 * radius), fill=255)
        pen.ellipse(_around((x - 1.06 * radius, y), 0.2 * radius, 0.15 * radius), fill=255)
        pen.ellipse(_around((x + 1.06 * radius, y), 0.2 * radius, 0.15 * radius), fill=255)
        outline = outline.filter(ImageFilter.GaussianBlur(radius * 0.09)).point(lambda v: 255 if v > 126 else 0)
    elif label == "apple":
        for side in (-1, 1):
            pen.ellipse(_around((x + side * 0.26 * radius, y), 0.72 * radius, 0.9 * radius), fill=255)
    else:
        flat = {"tomato": 0.86, "plum": 1.12}.get(label, 1.0)
        pen.ellipse(_around(centre, radius * (0.84 if label == "plum" else 1.0), 0.95 * radius * flat), fill=255)
    dark, bright = (np.array(colour, float) for colour in COLOURS[label])
    lean = rng.uniform(-14, 14, 3)
    down, across = np.mgrid[0 : size[1], 0 : size[0]]
    light = np.clip(1.25 - np.hypot(across - (x - 0.34 * radius), down - (y - 0.38 * radius)) / (1.5 * radius), 0, 1)[
        ..., None
    ]
    skin = (dark * (0.62 + 0.38 * light) * (1 - light) + bright * light) + lean
    if label == "apple" and rng.random() < 0.5:  # a side the sun did not reach
        green = np.clip((across - x) / radius + rng.uniform(-0.5, 0.3), 0, 1)[..., None]
        skin = skin * (1 - 0.55 * green) + np.array((186, 190, 84)) * 0.55 * green
    spark = np.clip(
        1 - np.hypot(across - (x - 0.38 * radius), (down - (y - 0.45 * radius)) * 1.3) / (0.24 * radius), 0, 1
    )[..., None]
    skin = skin + (255 - skin) * 0.55 * spark
    made = Image.fromarray(np.clip(skin, 0, 255).astype(np.uint8)).convert("RGBA")
    made.putalpha(outline.filter(ImageFilter.GaussianBlur(1.5)))
    return Image.alpha_composite(made, _growth(label, rng, size, centre, radius))


def _growth(
    label: str, rng: np.random.Generator, size: tuple[int, int], centre: tuple[float, float], radius: float
) -> Image.Image:
    """Stem and leaf, or a tomato's star."""
    made = Image.new("RGBA", size)
    pen = ImageDraw.Draw(made)
    x, y = centre
    top = y - {"pear": 1.05, "apple": 0.78, "plum": 1.02, "tomato": 0.72, "orange": 0.86}.get(label, 0.7) * radius
    if label == "tomato":
        for angle in np.linspace(0, 2 * np.pi, 6)[:-1] + rng.uniform(0, 1):
            tip = (x + 0.5 * radius * np.cos(angle), top + 0.26 * radius * np.sin(angle))
            pen.line((x, top, *tip), fill=(*LEAF, 255), width=int(0.13 * radius))
        pen.ellipse(_around((x, top), 0.13 * radius, 0.1 * radius), fill=(*LEAF, 255))
    elif label in ("apple", "pear", "plum"):
        pen.line(
            (x, top + 0.12 * radius, x + rng.uniform(-0.1, 0.2) * radius, top - 0.3 * radius),
            fill=(*STEM, 255),
            width=int(0.08 * radius),
        )
        if label != "plum" and rng.random() < 0.6:
            leaf = Image.new("L", size)
            half = ImageDraw.Draw(leaf)
            half.ellipse(_around((x + 0.34 * radius, top - 0.1 * radius), 0.32 * radius, 0.2 * radius), fill=255)
            other = ImageChops.offset(leaf, 0, int(0.14 * radius))
            made.paste((*LEAF, 255), mask=ImageChops.multiply(leaf, other))
    elif label == "orange":
        pen.ellipse(_around((x, top + 0.12 * radius), 0.09 * radius, 0.06 * radius), fill=(*LEAF, 255))
    return made


def _around(centre: tuple[float, float], across: float, down: float) -> tuple[float, float, float, float]:
    return centre[0] - across, centre[1] - down, centre[0] + across, centre[1] + down


def jpeg(label: str, seed: int) -> bytes:
    """The drawing as a file."""
    out = io.BytesIO()
    drawing(label, seed).save(out, "JPEG", quality=85)
    return out.getvalue()


def put(where: Path, label: str, seeds: range) -> list[Path]:
    """Files of a class in a folder of its name."""
    folder = where / label
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{label}-{seed}.jpg" for seed in seeds]
    for path, seed in zip(paths, seeds, strict=True):
        path.write_bytes(jpeg(label, seed))
    return paths
