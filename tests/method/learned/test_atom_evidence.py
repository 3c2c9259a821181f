"""The evidence of a learned dictionary: contributions add up to the score, rows and classes are the atoms' own."""

import json

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from kcrc.method.learned import DKSVDClassifier, LCKSVDClassifier


@pytest.fixture(scope="module", params=[DKSVDClassifier, LCKSVDClassifier])
def model_and_queries(request):
    rng = np.random.default_rng(0)
    y = np.repeat(["left", "right", "up"], 15)
    centres = {"left": rng.standard_normal(10), "right": rng.standard_normal(10), "up": rng.standard_normal(10)}
    X = np.array([centres[label] for label in y]) + 0.3 * rng.standard_normal((45, 10))
    model = request.param(12, sparsity=4, n_iter=4, init_iter=3, random_state=0).fit(X, y)
    return model, np.concatenate([X[::3], np.zeros((1, 10))])


def test_contributions_add_up_to_the_winning_score(model_and_queries):
    model, X = model_and_queries
    evidence = model.explain(X)
    winning = model.decision_function(X).max(axis=1)
    np.testing.assert_allclose(evidence.contributions.sum(axis=1), winning, atol=1e-12)
    np.testing.assert_array_equal(evidence.labels, model.predict(X))
    np.testing.assert_allclose(evidence.scores, model.decision_function(X), atol=1e-12)


def test_atoms_come_with_their_own_class_row_and_coefficient(model_and_queries):
    model, X = model_and_queries
    every = list(model.explain(X))
    assert len(every) == len(X) > 0
    for one in every:
        used = one.atoms[0] >= 0
        atoms = one.atoms[0, used]
        np.testing.assert_array_equal(one.rows[0, used], model.atom_rows_[atoms])
        np.testing.assert_array_equal(one.classes[one.atom_labels[0, used]], model.atom_classes_[atoms])
        expected = model.coef_[one.winner[0], atoms] * one.coefficients[0, used]
        np.testing.assert_allclose(one.contributions[0, used], expected)
        assert (np.diff(one.contributions[0, used]) <= 0).all()
        assert not one.contributions[0, ~used].any()
        assert (one.rows[0, ~used] == -1).all()


def test_margin_and_runner_up(model_and_queries):
    model, X = model_and_queries
    evidence = model.explain(X)
    ordered = np.sort(evidence.scores, axis=1)
    np.testing.assert_allclose(evidence.margin, ordered[:, -1] - ordered[:, -2])
    assert (evidence.runner_up != evidence.winner).all()


def test_a_single_query_as_json_and_as_text(model_and_queries):
    model, X = model_and_queries
    evidence = model.explain(X)
    one = evidence[0].to_dict()
    assert json.loads(json.dumps(one)) == one
    assert one["label"] == model.predict(X[:1])[0]
    assert sum(atom["contribution"] for atom in one["atoms"]) == pytest.approx(one["scores"][0][1])
    assert len(evidence.to_dict()) == len(X)
    assert one["label"] in repr(evidence[0])
    assert "more queries" in repr(evidence)
    with pytest.raises(IndexError, match="has no number"):
        evidence[len(X)]
    assert len(evidence[-1]) == 1


def test_one_class():
    evidence = DKSVDClassifier(n_iter=2, random_state=0).fit(np.eye(4), ["only"] * 4).explain(np.eye(4))
    assert evidence.labels.tolist() == ["only"] * 4
    assert evidence[0].to_dict()["runner_up"] is None
    np.testing.assert_allclose(evidence.margin, evidence.scores[:, 0])


def test_not_fitted():
    with pytest.raises(NotFittedError):
        DKSVDClassifier().explain(np.eye(3))
