"""What was measured of a gallery, for its pages."""

from __future__ import annotations

import numpy as np
from problems import GIVEN

import kcrc
from kcrc.report import evaluation


def test_a_mistake_that_all_neighbours_agree_on_has_their_own_shares(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(24, 6)) + np.repeat([[0.0], [20.0]], 12, axis=0)
    labels = ["near"] * 12 + ["far"] * 12
    labels[20] = "near"  # among those that are far
    with kcrc.Gallery.create(str(tmp_path / "one.kcrc"), dim=6) as gallery:
        gallery.add(labels, X)
        gallery.tune(parameters=GIVEN | {"n_neighbors": 4, "mu": "auto"}, seconds=1)
        found = evaluation.classify_left_out(gallery, progress=lambda share: None)
        (at,) = [at for at, answer in enumerate(found.answers) if answer != found.truth[at]]
        evidence = found.case(at).evidence
    assert set(evidence.neighbour_labels[0].tolist()) == {int(evidence.winner[0])}
    assert len(np.unique(np.round(evidence.shares[0], 6))) > 1
