"""Galleries that keep several looks, and saved image classifiers, as an earlier version wrote them."""

from __future__ import annotations

import json
import shutil
import sys
from dataclasses import replace
from pathlib import Path

from same_answers import assert_same_answers, assert_same_probabilities, within

from kcrc import Gallery, ImageClassifier

GOLDEN = Path(__file__).parent
sys.path.insert(0, str(GOLDEN))
import write_looks as written  # noqa: E402 (beside the files it wrote)

THERE = GOLDEN / "gallery4-looks"


def of_members(classifier: ImageClassifier) -> float:
    """Their probabilities are weighted: together they are no farther apart than those of one."""
    return max(within(member.classifier.model_) for member in classifier.ensemble_.members)


def sure_as_then(classifier: ImageClassifier) -> ImageClassifier:
    """How sure an ensemble is, is in no file: it is learned when it is first asked for, and counts since what so few
    examples cannot exclude. All else is as it was."""
    ensemble = classifier.ensemble_
    learned = ensemble.confidence()
    assert learned.calibration.unseen > 0
    then = replace(learned, calibration=replace(learned.calibration, unseen=0.0))
    ensemble.cached_confidence.learned = then
    return classifier


def test_what_was_kept_of_several_looks_opens_with_the_same_answers(tmp_path: Path) -> None:
    then = json.loads((THERE / written.ANSWERS).read_text("utf-8"))
    classifier = sure_as_then(ImageClassifier.load(THERE / written.CLASSIFIER))
    with Gallery.open(shutil.copy(THERE / written.GALLERY, tmp_path)) as gallery:
        assert gallery.verify().problems == ()
        now = written.answers(gallery, classifier, tmp_path / "asked")
        assert_same_answers(now["gallery"], then["gallery"], within(gallery.classifier().model_))
    assert_same_answers(now["classifier"], then["classifier"], of_members(classifier))
    assert now["classifier"]["weights"] == then["classifier"]["weights"]


def test_how_far_outside_a_picture_lies_is_kept(tmp_path: Path) -> None:
    then = json.loads((THERE / written.OUTSIDE_ANSWERS).read_text("utf-8"))
    classifier = sure_as_then(ImageClassifier.load(THERE / written.OUTSIDE))
    assert [member.look.outside for member in classifier.ensemble_.members] == [True, True, True]
    now = written.said(classifier, written.pictures(tmp_path, 2, first=30)[1])
    assert (now["labels"], now["weights"]) == (then["labels"], then["weights"])
    assert_same_probabilities(now["probabilities"], then["probabilities"], of_members(classifier))
