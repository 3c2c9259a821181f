"""Two samples drawn alike rarely look different; two drawn otherwise do."""

from __future__ import annotations

import numpy as np

from kcrc.confidence.likeness import of_signs, of_vectors, ranks, together


def second(examples, queries):
    return np.repeat([False, True], [examples, queries])


def test_ranks_share_ties_and_leave_gaps_in_the_middle():
    np.testing.assert_allclose(ranks(np.array([3.0, 1.0, np.nan, 1.0])), [5 / 6, 1 / 3, 0.5, 1 / 3])


def test_signs_drawn_alike_raise_few_alarms_and_others_many():
    alarms = {0.0: 0, 0.8: 0}
    for shift in alarms:
        for seed in range(40):
            rng = np.random.default_rng(seed)
            columns = rng.lognormal(size=(260, 3))
            columns[200:, 1] *= np.exp(shift)
            alarms[shift] += of_signs(columns, columns[:, 0], second(200, 60), rng).p_value <= 0.05
    assert alarms[0.0] <= 5  # of 40 at 5 %: 2 are expected
    assert alarms[0.8] >= 36


def test_few_that_are_far_out_are_seen_and_those_far_in_are_not_strange():
    """Every twentieth of the second sample is stranger than all others: ranks hardly move, exponential scores do."""
    alarms = {"alike": 0, "few far out": 0, "far in": 0}
    for kind in alarms:
        for seed in range(40):
            rng = np.random.default_rng(seed)
            columns = rng.normal(size=(1500, 4))
            if kind == "few far out":
                columns[1000::20, 0] += 6
            if kind == "far in":
                columns[1000:, 0] -= 0.5
            found = of_signs(columns, columns[:, 0], second(1000, 500), rng)
            alarms[kind] += found.p_value <= 0.02
            if kind == "few far out" and found.far_out:
                assert set(np.argsort(-found.pull)[:25]) == set(range(0, 500, 20))
            assert not (kind == "far in" and found.far_out)
    assert alarms["alike"] <= 3
    assert alarms["few far out"] >= 30
    assert alarms["far in"] == 40  # the columns show that


def test_a_column_that_never_varied_among_the_examples_counts():
    columns = np.zeros((120, 2))
    columns[100:, 1] = 1.0
    found = of_signs(columns, columns[:, 0], second(100, 20), np.random.default_rng(0))
    assert found.p_value == 1 / 500
    assert found.shift[1] > 1
    assert found.shift[0] == 0


def test_vectors_are_compared_within_strata():
    rng = np.random.default_rng(1)
    centres = 20 * rng.normal(size=(2, 30))
    strata = np.concatenate([np.repeat([0, 1], 50), np.repeat([0, 1], [38, 2])])  # hardly any queries of the second
    vectors = centres[strata] + rng.normal(size=(140, 30))
    assert of_vectors(vectors, second(100, 40), strata, rng).p_value > 0.05
    vectors[100:] += 0.6
    vectors[105] += 2.0
    found = of_vectors(vectors, second(100, 40), strata, rng)
    assert found.p_value == 1 / 500
    assert found.pull.argmax() == 5


def test_the_unit_of_a_feature_does_not_matter():
    rng = np.random.default_rng(2)
    vectors = rng.normal(size=(150, 20))
    vectors[100:] += 0.3
    strata = np.zeros(150, int)
    first = of_vectors(vectors, second(100, 50), strata, np.random.default_rng(0))
    other = of_vectors(vectors * np.logspace(-6, 6, 20), second(100, 50), strata, np.random.default_rng(0))
    assert first.p_value == other.p_value
    np.testing.assert_allclose(first.pull, other.pull)


def test_wide_vectors_are_brought_down_and_still_told_apart():
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(150, 900))
    strata = np.arange(150) % 3
    assert of_vectors(vectors, second(100, 50), strata, rng).p_value > 0.02
    vectors[100:] += 0.15
    assert of_vectors(vectors, second(100, 50), strata, rng).p_value <= 0.01


def test_nothing_to_compare_with_is_no_difference():
    strata = np.repeat([0, 1], [10, 5])
    found = of_vectors(np.ones((15, 2)), second(10, 5), strata, np.random.default_rng(0))
    assert found.p_value == 1.0
    np.testing.assert_array_equal(found.pull, np.zeros(5))


def test_p_values_together_hold_the_level_and_gain_where_both_speak():
    uniform = np.random.default_rng(0).random((20000, 2))
    alarms = np.mean([together(pair) <= 0.02 for pair in uniform])
    assert 0.016 < alarms < 0.024
    assert np.mean([together([p, p]) <= 0.02 for p in uniform[:, 0]]) < 0.024  # the same test twice
    assert together([0.013, 0.02]) < 0.02 < 2 * 0.013
    assert abs(together([0.005, 0.5]) - 0.01) < 1e-4
    assert together([0.005, 1.0]) < 0.015
