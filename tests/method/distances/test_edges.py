"""Edge points: where they lie, how evenly they are spread, and that no order has a say."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kcrc.method.distances.geometric_blur import edge_points, pad_points, sort_points, spread_evenly

rng = np.random.default_rng(2)


@pytest.mark.parametrize(("side", "centre", "radius"), [(20, 9.5, 5.0), (28, 13.0, 8.0), (64, 31.5, 20.0)])
def test_points_lie_on_the_rim_of_a_disc(side, centre, radius):
    y, x = np.mgrid[:side, :side]
    disc = np.clip(radius + 0.5 - np.hypot(y - centre, x - centre), 0, 1)
    points = edge_points(disc)
    assert len(points) > 20
    away = np.hypot(*(points - centre).T)
    assert np.abs(away - radius).max() < 0.5
    assert np.abs(away.mean() - radius) < 0.15
    spread = spread_evenly(points, 24)
    turn = np.sort(np.arctan2(*(spread - centre).T))
    gaps = np.diff(np.append(turn, turn[0] + 2 * np.pi))
    assert gaps.max() < 3 * 2 * np.pi / 24


def test_faint_edges_are_left_out_and_a_constant_image_has_none():
    image = np.zeros((30, 30))
    image[:, 10:] = 0.05
    image[:, 20:] = 1.0
    assert edge_points(image)[:, 1].min() > 15
    assert edge_points(image, threshold=0.01)[:, 1].min() < 12
    assert edge_points(np.full((9, 9), 0.3)).shape == (0, 2)
    assert spread_evenly(np.empty((0, 2)), 5).shape == (0, 2)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=25), st.integers(1, 30), st.randoms()
)
def test_order_and_repeats_of_points_do_not_matter(points, count, random):
    shuffled = points + points[:3]
    random.shuffle(shuffled)
    chosen = spread_evenly(np.array(points, float), count)
    distinct = {tuple(p) for p in points}
    assert len(chosen) == min(count, len(distinct))
    assert {tuple(p) for p in chosen} <= distinct
    assert len(np.unique(chosen, axis=0)) == len(chosen)
    if len(set(points)) == len(points):
        random.shuffle(points)
        np.testing.assert_array_equal(chosen, spread_evenly(np.array(points, float), count))


def test_few_points_are_farther_apart_than_drawn_ones():
    points = rng.random((300, 2))

    def least(chosen):
        apart = np.hypot(*(chosen[:, None] - chosen[None]).transpose(2, 0, 1))
        return apart[np.triu_indices(len(chosen), 1)].min()

    assert least(spread_evenly(points, 20)) > 3 * np.median([least(rng.permutation(points)[:20]) for _ in range(20)])


def test_in_order_and_padded():
    points = np.array([[1.0, 2.0], [0.0, 5.0], [1.0, 1.0]])
    np.testing.assert_array_equal(sort_points(points), [[0, 5], [1, 1], [1, 2]])
    table, count = pad_points([points[:1], np.empty((0, 2))], 2)
    assert table.shape == (2, 2, 2)
    assert count.tolist() == [1, 0]
