"""Pictures made by code, which nothing here was ever tuned to: letters, outlines, textures, marked tiles.

Every class varies by place, size, turn, light and noise, so that pixels alone tell it from the others poorly.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from kcrc._base.arrays import Array

LETTERS = "ABCDEFGHJKLMNPRSTUVWXYZ"
OUTLINES = ("triangle", "square", "pentagon", "hexagon", "star", "circle", "half", "cross", "arrow", "moon")
TEXTURES, TILES = 12, 10  # classes


def made(name: str, each: int, seed: int) -> tuple[Array, Array]:
    """Images (n, h, w) or (n, h, w, 3) of 8 bits and labels (n,), ``each`` of every class."""
    count, draw = MAKERS[name]
    rng = np.random.default_rng([seed, *name.encode()])
    labels = np.repeat(np.arange(count), each)
    return np.stack([draw(int(label), rng) for label in labels]), labels


def letter(label: int, rng: np.random.Generator) -> Array:
    """A capital in one of several typefaces, bent by hand: turned, sheared, thick or thin."""
    from matplotlib import get_data_path

    faces = ("Sans", "Sans-Bold", "Sans-Oblique", "Serif", "Serif-Italic", "SansMono", "SansMono-Bold")
    face = f"{get_data_path()}/fonts/ttf/DejaVu{faces[rng.integers(len(faces))]}.ttf"
    canvas = Image.new("L", (96, 96))
    font = ImageFont.truetype(face, int(rng.integers(48, 76)))
    place = tuple(48 + rng.uniform(-6, 6, 2))
    ImageDraw.Draw(canvas).text(place, LETTERS[label], fill=255, font=font, anchor="mm")
    return _noisy(_bent(canvas, rng, 0.2), 28, 12.0, rng)


def outline(label: int, rng: np.random.Generator) -> Array:
    """A shape, filled or drawn, anywhere and turned any way, light on dark or dark on light."""
    canvas = Image.new("L", (96, 96))
    pen = ImageDraw.Draw(canvas)
    radius, turn = rng.uniform(20, 32), rng.uniform(0, 2 * np.pi)
    centre = 48 + rng.uniform(-12, 12, 2)
    around = _corners(OUTLINES[label]) @ np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    points = [tuple(point) for point in centre + radius * around]
    if rng.random() < 0.5:
        pen.polygon(points, fill=255)
    else:
        pen.line([*points, points[0], points[1]], fill=255, width=int(rng.integers(4, 8)), joint="curve")
    found = _noisy(canvas, 32, 20.0, rng)
    return found if rng.random() < 0.5 else np.asarray(255 - found)


def texture(label: int, rng: np.random.Generator) -> Array:
    """A grain of its own direction, fineness and regularity; where it begins, and the light, are any."""
    side = 48
    down, across = np.mgrid[0:side, 0:side] / side
    angle = np.pi * (label % 4) / 4 + rng.normal(0, 0.08)
    along = across * np.cos(angle) + down * np.sin(angle)
    fine = (5.0, 8.0, 12.0)[label // 4] * rng.uniform(0.92, 1.08)
    wave = np.sin(2 * np.pi * (fine * along + rng.random()) + rng.normal(0, 0.5, (side, side)))
    light = 1.0 + rng.uniform(-0.6, 0.6) * across + rng.uniform(-0.6, 0.6) * down
    grey = 110 + rng.uniform(15, 50) * wave * light + rng.normal(0, 25, (side, side)) + rng.uniform(-30, 30)
    return np.asarray(np.clip(grey, 0, 255), np.uint8)


def tile(label: int, rng: np.random.Generator) -> Array:
    """Two colours in one of five patterns, each pattern in two pairs of colours, over ground of any colour."""
    side = 40
    down, across = np.mgrid[0:side, 0:side]
    y, x = side / 2 + rng.uniform(-6, 6, 2)
    far, reach = np.hypot(down - y, across - x), rng.uniform(10, 16)
    parts = (across > x, down > y, far < reach / 2, (across > x) ^ (down > y), (down - y) > (across - x))
    pattern = np.asarray(parts[label % 5])
    pairs = (((200, 60, 50), (60, 90, 190)), ((70, 160, 80), (210, 180, 60)))
    one, other = (np.array(colour) + rng.normal(0, 22, 3) for colour in pairs[label // 5])
    ground = rng.uniform(0, 255, 3)
    found = np.where(pattern[..., None], one, other)
    found = np.where((far < reach)[..., None], found, ground) * rng.uniform(0.7, 1.15)
    return np.clip(found + rng.normal(0, 18, found.shape), 0, 255).astype(np.uint8)


Draw = Callable[[int, np.random.Generator], Array]
MAKERS: dict[str, tuple[int, Draw]] = {
    "letters": (len(LETTERS), letter),
    "outlines": (len(OUTLINES), outline),
    "textures": (TEXTURES, texture),
    "tiles": (TILES, tile),
}


def _corners(shape: str) -> Array:
    """(m, 2) around the origin, of about length 1."""
    if shape == "cross":
        arm = [(0.3, 1), (0.3, 0.3), (1, 0.3), (1, -0.3), (0.3, -0.3), (0.3, -1)]
        return np.array([*arm, *((-x, -y) for x, y in arm)])
    if shape == "arrow":
        return np.array([(1, 0), (0, 0.8), (0, 0.3), (-1, 0.3), (-1, -0.3), (0, -0.3), (0, -0.8)])
    if shape == "moon":
        out, back = np.linspace(0.6, 2 * np.pi - 0.6, 40), np.linspace(2 * np.pi - 1.0, 1.0, 40)
        inner = np.stack([0.75 * np.cos(back) + 0.45, 0.75 * np.sin(back)], axis=1)
        return np.concatenate([np.stack([np.cos(out), np.sin(out)], axis=1), inner])
    if shape == "half":
        turn = np.linspace(0, np.pi, 40)
        return np.stack([np.cos(turn), np.sin(turn) - 0.4], axis=1)
    count = {"triangle": 3, "square": 4, "pentagon": 5, "hexagon": 6, "star": 10, "circle": 60}[shape]
    turn = 2 * np.pi * np.arange(count) / count
    length = np.where(np.arange(count) % 2, 0.45, 1.0) if shape == "star" else np.ones(count)
    return np.asarray(length[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1))


def _bent(canvas: Image.Image, rng: np.random.Generator, much: float) -> Image.Image:
    """Turned, sheared and scaled about its centre."""
    (a, b), (c, d) = np.eye(2) + rng.uniform(-much, much, (2, 2))
    half = canvas.width / 2
    move = half - a * half - b * half, half - c * half - d * half
    return canvas.transform(
        canvas.size, Image.Transform.AFFINE, (a, b, move[0], c, d, move[1]), Image.Resampling.BILINEAR
    )


def _noisy(canvas: Image.Image, side: int, noise: float, rng: np.random.Generator) -> Array:
    """(side, side) uint8."""
    small = np.asarray(canvas.resize((side, side), Image.Resampling.BOX), float) * rng.uniform(0.6, 1.0)
    return np.clip(small + rng.normal(0, noise, small.shape), 0, 255).astype(np.uint8)
