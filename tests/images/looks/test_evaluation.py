"""Evaluating a look costs no more than comparing it with the others needs."""

from __future__ import annotations

import numpy as np
import pytest

from images.looks.drawings import drawings
from kcrc import ImageClassifier
from kcrc.images.looks.base import kind_of, registry
from kcrc.images.looks.evaluation import Evaluator, Task
from kcrc.tuning.search import Search


def test_a_look_alone_is_searched_in_full_and_several_briefly(monkeypatch):
    images, labels = drawings(8)
    calls, run = [], Search.run

    def counted(search, *, brief=False):
        calls.extend([search] * brief)
        return run(search, brief=brief)

    monkeypatch.setattr(Search, "run", counted)
    ImageClassifier(looks=["pixels"], verbose=False).fit(images, labels)
    assert not calls
    ImageClassifier(looks=["pixels", "hog"], verbose=False).fit(images, labels)
    assert len(calls) >= 2


@pytest.mark.parametrize("name", ["pixels", "tangent"])
def test_what_searches_waits_until_a_look_answers(name):
    images, labels = drawings(8)
    pictures, (classes, numbers) = list(images), np.unique(labels, return_inverse=True)
    kind = kind_of(pictures)
    task = Task(pictures, numbers, classes, None, kind, 10.0, {}, lambda share, leader: None)
    classifier = Evaluator.of(task, 3).evaluate(registry.make(name, kind=kind)).member.classifier
    assert not classifier._pending.examples.searchable
    assert classifier.model_.searchable
