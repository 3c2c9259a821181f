"""Modules of the page alone: tiles are laid out as in the reports, and a map has a place for every example."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from browser.serving import Watched
from kcrc.report.seam import treemap

pytestmark = pytest.mark.browser
Watch = Callable[..., Watched]


def test_python_and_javascript_lay_out_the_same_tiles(standing: str, watch: Watch) -> None:
    page = watch(standing)
    script = """([areas, width, height]) => import('/static/tiling.js').then(({ tiled }) =>
      tiled(areas, width, height).map((box) => [box.x, box.y, box.width, box.height]))"""
    rng = np.random.default_rng(0)
    for count in (1, 2, 3, 5, 8, 13, 24, 40):
        areas = np.sort(rng.exponential(size=count))[::-1].tolist()
        width, height = rng.uniform(80, 900, 2).tolist()
        boxes = treemap(areas, width=width, height=height)  # in parts of the whole
        here = [(box.x * width, box.y * height, box.width * width, box.height * height) for box in boxes]
        there = page.tab.evaluate(script, [areas, width, height])
        assert np.allclose(here, there, atol=1e-6), count


def test_a_map_of_10_000_examples_has_every_class_and_in_the_end_every_example(standing: str, watch: Watch) -> None:
    page = watch(standing)
    found = page.tab.evaluate("""() => import('/static/map_grid.js').then(({ cellSide, grid, lastLevel }) => {
      const [width, height, classes] = [640, 590, 100];
      let seed = 1;
      const random = () => { seed = (seed * 16807) % 2147483647; return seed / 2147483647; };
      const points = Array.from({ length: 10000 }, (_, at) => {
        const label = at % classes;
        const [x, y] = [Math.cos(label) + 0.3 * random(), Math.sin(label) + 0.3 * random()];
        return { id: at, label: `${label}`, x, y };
      });
      const side = cellSide(points.length, width, height);
      const last = lastLevel(points.length, side, width, height);
      return [0, last].map((level) => {
        const { places, names, columns, asked } = grid(points, { level, side, width, height, question: new Set([7]) });
        const cells = new Set(places.map((place) => place.row * columns + place.column));
        const names_on = names.some((one) => Array.from({ length: one.wide },
          (_, at) => one.row * columns + one.column + at).some((cell) => cells.has(cell)));
        return { placed: places.length, cells: cells.size, asked: asked !== null, names_on,
          classes: new Set(places.map((place) => place.label)).size };
      });
    })""")
    first, last = found
    assert first["classes"] == 100
    assert last["placed"] == 10_000
    for one in found:
        assert one["placed"] == one["cells"], "each has a cell of its own"
        assert not one["names_on"]
        assert one["asked"]
