"""Shape context: point order, bending, degenerate shapes, and the compiled form against the plain one."""

import itertools

import numpy as np
import pytest
from scipy.interpolate import RBFInterpolator

from kcrc.errors import ParameterError
from kcrc.method.distances import make, shape_context
from kcrc.method.distances.shape_context import assign, context_costs, contexts, thin_plate

rng = np.random.default_rng(6)


def letter(kind, count=20):
    """Points along an L, a ring or a cross."""
    t = np.linspace(0, 1, count)
    if kind == "ring":
        return np.stack([np.sin(2 * np.pi * t[:-1]), np.cos(2 * np.pi * t[:-1])], axis=1) * 5
    if kind == "L":
        half = t[: count // 2] * 2
        return np.concatenate([np.stack([half * 10, 0 * half], 1), np.stack([10 + 0 * half, 1 + half * 6], 1)])
    return np.concatenate([np.stack([t * 10, 5 + 0 * t], 1), np.stack([5 + 0 * t, t * 10], 1)])


def distances(points, **options):
    distance = make("shape-context", **options)
    prepared = distance.prepare_points(points)
    return distance.pairwise(prepared, distance.prepare_points(points))


@pytest.fixture(params=["compiled", "plain"])
def form(request, monkeypatch):
    """Both forms of the computation, one after the other."""
    if request.param == "plain":
        monkeypatch.setattr(shape_context, "native", None)
    elif shape_context.native is None:
        pytest.skip("the compiled module is not built")
    return request.param


def test_the_compiled_form_is_the_plain_one(monkeypatch):
    if shape_context.native is None:
        pytest.skip("the compiled module is not built")
    shapes = [rng.random((count, 2)) * 9 for count in (1, 2, 3, 7, 20, 20, 25)] + [np.empty((0, 2))]
    for options in (
        {"n_points": 22},
        {"iterations": 1, "dummies": 0.6, "n_radii": 1},
        {"iterations": 0},
        {"n_angles": 1},
    ):
        quick = distances(shapes, **options)
        with monkeypatch.context() as patch:
            patch.setattr(shape_context, "native", None)
            plain = distances(shapes, **options)
        np.testing.assert_allclose(quick, plain, rtol=1e-10, atol=1e-12)


def test_compiled_form_with_appearance(monkeypatch):
    if shape_context.native is None:
        pytest.skip("the compiled module is not built")
    distance = make("shape-context", n_points=15, appearance_weight=2.0)
    prepared = distance.prepare(rng.random((4, 100)))
    quick = distance.pairwise(prepared, prepared)
    monkeypatch.setattr(shape_context, "native", None)
    np.testing.assert_allclose(quick, distance.pairwise(prepared, prepared), rtol=1e-10, atol=1e-12)


def test_point_order_does_not_matter(form):
    shapes = [letter("L"), letter("ring"), rng.random((15, 2))]
    shuffled = [rng.permutation(points) for points in shapes]
    np.testing.assert_array_equal(distances(shapes), distances(shuffled))


def test_place_and_size_do_not_matter(form):
    shapes = [rng.random((count, 2)) * 9 for count in (12, 20, 20)]  # no symmetry: one best assignment
    moved = [points * 3.7 + (11, -4) for points in shapes]
    np.testing.assert_allclose(distances(shapes), distances(moved), rtol=1e-6, atol=1e-9)


def test_identity_symmetry_and_the_nearer_shape(form):
    bent = letter("L") + 0.5 * np.sin(letter("L") / 3)
    values = distances([letter("L"), bent, letter("ring"), letter("cross")])
    np.testing.assert_allclose(np.diag(values), 0.0, atol=1e-12)
    np.testing.assert_allclose(values, values.T, rtol=1e-12)
    assert values[0, 1] < 0.5 * min(values[0, 2], values[0, 3])


def test_points_on_a_line_few_points_and_none(form):
    line = np.stack([np.arange(9.0), np.zeros(9)], axis=1)
    shapes = [line, line.T[::-1].T, np.zeros((1, 2)), line[:2], np.empty((0, 2)), letter("ring")]
    values = distances(shapes, appearance_weight=0.5)
    assert np.isfinite(values).all()
    np.testing.assert_allclose(np.diag(values), 0.0, atol=1e-9)
    np.testing.assert_allclose(values, values.T, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(np.delete(values[4], 4), 1.5)


def test_an_affine_move_needs_no_bending():
    source = rng.random((12, 2))
    matrix, shift = rng.random((2, 2)) + np.eye(2), rng.random(2)
    warped, energy = thin_plate(source, source @ matrix + shift, source[:4], 1.0)
    np.testing.assert_allclose(warped, source[:4] @ matrix + shift, atol=1e-8)
    assert energy < 1e-12


@pytest.mark.parametrize("stiffness", [1e-3, 1.0])
def test_the_spline_is_the_one_of_scipy(stiffness):
    source, target, others = rng.random((15, 2)), rng.random((15, 2)), rng.random((6, 2))
    warped, energy = thin_plate(source, target, others, stiffness)
    # SciPy's kernel is r² log r, half of ours; so is its smoothing.
    expected = RBFInterpolator(source, target, kernel="thin_plate_spline", smoothing=stiffness / 2)(others)
    np.testing.assert_allclose(warped, expected, rtol=1e-7, atol=1e-8)
    assert energy > 0


def test_assignment_is_the_best_of_all():
    matching = make("shape-context", dummies=0.5, dummy_cost=0.3).matching
    for n, m in [(3, 3), (4, 2), (2, 4)]:
        costs = rng.random((n, m))
        rows, columns = assign(costs, matching)
        size = max(n, m) + round(0.5 * max(n, m))
        square = np.full((size, size), 0.3)
        square[:n, :m] = costs
        best = min(sum(square[i, p[i]] for i in range(size)) for p in itertools.permutations(range(size)))
        assert costs[rows, columns].sum() + 0.3 * (size - len(rows)) == pytest.approx(best)


def test_contexts_share_one_and_costs_lie_between_0_and_1():
    matching = make("shape-context").matching
    histograms = contexts(rng.random((20, 2)), matching)
    np.testing.assert_allclose(histograms.sum(axis=1), 1.0)
    costs = context_costs(histograms, histograms)
    assert costs.min() == 0.0
    assert costs.max() <= 1.0


def test_appearance_tells_drawings_of_one_shape_apart():
    y, x = np.mgrid[:24, :24]
    disc = np.clip(8.5 - np.hypot(y - 11.5, x - 11.5), 0, 1)
    images = np.stack([disc, 1 - disc]).reshape(2, -1)
    values = {}
    for weight in (0.0, 1.0):
        distance = make("shape-context", appearance_weight=weight)
        values[weight] = distance.rowwise(distance.prepare(images[:1]), distance.prepare(images), np.array([[0, 1]]))[0]
    assert values[0.0][1] < 0.02
    assert values[1.0][1] > 0.2


@pytest.mark.parametrize(
    "options",
    [
        {"n_points": 0},
        {"iterations": -1},
        {"n_radii": 0},
        {"n_angles": 0},
        {"dummies": -0.1},
        {"stiffness": 0.0},
        {"threshold": 1.5},
        {"inner": 3.0},
        {"bending_weight": float("nan")},
    ],
)
def test_impossible_options_are_refused(options):
    with pytest.raises(ParameterError, match=next(iter(options))):
        make("shape-context", **options)


def test_the_compiled_form_checks_what_it_is_given():
    native = shape_context.native
    if native is None:
        pytest.skip("the compiled module is not built")
    points, histograms, patches = np.zeros((2, 4, 2)), np.zeros((2, 4, 60)), np.zeros((2, 4, 0))
    count, pair = np.array([4, 4]), np.array([0])
    options = (5, 12, 0.125, 2.0, 1, 0.25, 0.25, 1.0)
    side = (points, histograms, patches, count)
    native.shape_context(*side, *side, pair, pair, options, 0.3, 0.0)
    with pytest.raises(ValueError, match="second lie between 0 and 1"):
        native.shape_context(*side, *side, pair, pair + 2, options, 0.3, 0.0)
    with pytest.raises(ValueError, match="count"):
        native.shape_context(points, histograms, patches, count + 1, *side, pair, pair, options, 0.3, 0.0)
    with pytest.raises(ValueError, match=r"contexts is .* of shape \(2, 4, 55\)"):
        native.shape_context(*side, *side, pair, pair, (5, 11, *options[2:]), 0.3, 0.0)
    with pytest.raises(ValueError, match=r"second is .* of shape \(1,\)"):
        native.shape_context(*side, *side, pair, np.array([0, 1]), options, 0.3, 0.0)
