"""Draws what each look finds near, and what is chosen to tell shapes apart: `python docs/pictures/looks.py` (needs
matplotlib and the extra `embedding`; a few minutes).

The pictures are made by code: five shapes in five colours with four fillings, each anywhere near the middle, turned a
little, on a grey of its own. So two of them may be alike by shape, by colour or by filling, and a look shows which of
the three it sees.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from kcrc import ImageClassifier, distances, looks
from kcrc._base.arrays import Array
from kcrc.images.looks.base import Look, descriptions, kind_of, looks_for

HERE = Path(__file__).parent
SIDE, FINE, NEAREST = 96, 4, 6
RADII = {"triangle": [1.0] * 3, "square": [1.0] * 4, "star": [1.0, 0.45] * 5, "cross": [1.0, 1.0, 0.42] * 4,
         "disc": [1.0] * 60}  # fmt: skip
COLOURS = {"red": (205, 60, 50), "blue": (60, 95, 190), "green": (70, 150, 80), "yellow": (225, 180, 60),
           "violet": (140, 80, 160)}  # fmt: skip
FILLINGS = ("plain", "stripes", "checks", "dots")
KINDS = tuple(product(RADII, COLOURS, FILLINGS))
ASKED = (("star", "red", "stripes"), ("cross", "blue", "dots"))
FEW = ["pixels", "colour", "tangent", "hog", "lbp", "textons"]


def picture(shape: str, colour: str, filling: str, rng: np.random.Generator) -> Array:
    """(SIDE, SIDE, 3) uint8."""
    side = SIDE * FINE
    turns = np.linspace(0, 2 * np.pi, len(RADII[shape]), endpoint=False) - np.pi / 2 + rng.uniform(-0.4, 0.4)
    corners = np.array(RADII[shape])[:, None] * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    x, y = corners.T
    area = 0.5 * abs(np.sum(x * np.roll(y, 1) - y * np.roll(x, 1)))  # all cover as much: size tells no shape
    corners = side * (0.5 + rng.uniform(-0.08, 0.08, 2) + corners * np.sqrt(rng.uniform(0.2, 0.3) / area))
    canvas = Image.new("L", (side, side))
    ImageDraw.Draw(canvas).polygon([tuple(corner) for corner in corners], fill=255)
    inside = np.asarray(canvas)[..., None] / 255
    ink = (np.array(COLOURS[colour]) + rng.normal(0, 8, 3)) * filled(filling, rng)[..., None]
    whole = np.clip(inside * ink + (1 - inside) * rng.uniform(190, 245), 0, 255).astype(np.uint8)
    small = np.asarray(Image.fromarray(whole).resize((SIDE, SIDE), Image.Resampling.BOX), float)
    return np.clip(small + rng.normal(0, 4, small.shape), 0, 255).astype(np.uint8)


def filled(filling: str, rng: np.random.Generator) -> Array:
    """(side, side) how light the ink is: 1, or 0.3 in the darker parts of the pattern, which begins anywhere."""
    down, across = np.mgrid[0 : SIDE : 1 / FINE, 0 : SIDE : 1 / FINE] + rng.uniform(0, 18, (2, 1, 1))
    dark = {
        "plain": np.zeros(down.shape, bool),
        "stripes": np.sin((down + across) * 2 * np.pi / 9) > 0,
        "checks": np.sin(down * np.pi / 9) * np.sin(across * np.pi / 9) > 0,
        "dots": np.hypot(down % 8 - 4, across % 8 - 4) < 2.3,
    }[filling]
    return np.where(dark, 0.3, 1.0)


def pictures(each: int = 2) -> tuple[list[Array], Array, list[Array]]:
    """``each`` of every kind, their kinds (n, 3), and new ones of the kinds ASKED."""
    rng = np.random.default_rng(0)
    made = [picture(*kind, rng) for kind in KINDS for _ in range(each)]
    return made, np.repeat(np.array(KINDS), each, axis=0), [picture(*kind, rng) for kind in ASKED]


def nearest(look: Look, examples: list[Array], queries: list[Array]) -> Array:
    """(q, NEAREST) the numbers of the nearest examples of each query, by this look alone."""
    fitted, seen = look.fit_see(examples, np.zeros(len(examples), int))
    asked = fitted.see(queries)
    distance = distances.make(fitted.distance) if isinstance(fitted.distance, str) else fitted.distance
    flat, labels = seen.reshape(len(seen), -1), np.zeros(len(seen), int)
    distance = distance.fit(flat, labels, sample_shape=seen.shape[1:])
    values = distance.pairwise(distance.prepare(asked.reshape(len(asked), -1)), distance.prepare(flat))
    return np.argsort(values, axis=1, kind="stable")[:, :NEAREST]


def draw_near() -> None:
    """near-looks.png: a row for each look, with both queries and their nearest."""
    from matplotlib.figure import Figure

    examples, kinds, queries = pictures()
    rows = looks_for(kind_of(examples), sorted(looks.names(), key=list(descriptions).index))
    columns = [1, 0.25, *[1] * NEAREST, 0.6, 1, 0.25, *[1] * NEAREST, 2.2]
    figure = Figure(figsize=(10, 0.55 * len(rows) + 0.4), dpi=100)
    grid = figure.add_gridspec(len(rows), len(columns), width_ratios=columns, wspace=0.06, hspace=0.06,
                               left=0.19, right=0.995, top=0.955, bottom=0.005)  # fmt: skip
    for line, look in enumerate(rows):
        found = nearest(look, examples, queries)
        same = (kinds[found] == np.array(ASKED)[:, None]).sum(axis=(0, 1))
        print(look.name, dict(zip(("shape", "colour", "filling"), same.tolist(), strict=True)), flush=True)
        for number, query in enumerate(queries):
            first = number * (NEAREST + 3)
            shown = [(first, query), *((first + 2 + at, examples[row]) for at, row in enumerate(found[number]))]
            for column, image in shown:
                axis = figure.add_subplot(grid[line, column])
                axis.imshow(image)
                axis.axis("off")
                if line == 0 and column in (first, first + 2):
                    axis.set_title("asked" if column == first else "nearest", fontsize=9, loc="left")
        axis = figure.add_subplot(grid[line, -1])
        axis.axis("off")
        for at, (name, count) in enumerate(zip(("shape", "colour", "filling"), same, strict=True)):
            strong = count >= 0.75 * NEAREST * len(queries)
            axis.text(0.14, 0.84 - 0.34 * at, f"{name} {count}", fontsize=8, va="center",
                      weight="bold" if strong else "normal", color="black" if strong else "0.55")  # fmt: skip
        if line == 0:
            axis.text(0.14, 1.13, f"same, of {NEAREST * len(queries)}", fontsize=9)
        top, bottom = grid[line, 0].get_position(figure).y1, grid[line, 0].get_position(figure).y0
        middle = (top + bottom) / 2
        figure.text(0.012, middle + 0.008, look.name, fontsize=10, weight="bold", va="center")
        figure.text(0.012, middle - 0.012, looks.describe(look.name).row, fontsize=8, color="0.4", va="center")
    save(figure, HERE / "near-looks.png")


def draw_chosen() -> None:
    """looks-chosen.png: which of a few looks are chosen to tell the shapes apart, as ``plot_looks`` draws it."""
    examples, kinds, _ = pictures()
    images = np.stack(examples)
    classifier = ImageClassifier(looks=FEW, random_state=0).fit(images, kinds[:, 0])
    print(classifier.choice_)
    save(classifier.plot_looks(images), HERE / "looks-chosen.png")


def save(figure: Any, path: Path) -> None:
    """In few colours, but the right ones: a third of the bytes."""
    figure.savefig(path)
    with Image.open(path) as found:
        found.convert("RGB").quantize(250, kmeans=4).save(path, optimize=True)


if __name__ == "__main__":
    draw_near()
    draw_chosen()
