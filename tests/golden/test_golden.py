"""Files written by earlier versions open, with the answers they gave then: see ``golden/write.py``."""

from __future__ import annotations

import json
import shutil
import sys
from functools import cache
from pathlib import Path

import pytest
from photos import folder
from same_answers import assert_same_answers, within

from kcrc import Gallery, KCRCClassifier
from kcrc.classifier.saving import load_answerer

GOLDEN = Path(__file__).parent
sys.path.insert(0, str(GOLDEN))

from write import CLASSIFIERS, IMAGES, problem, said, told  # noqa: E402 (beside the files it wrote)

VERSIONS = sorted(path.name for path in GOLDEN.iterdir() if (path / "answers.json").exists())


@cache
def answers(version: str) -> dict:
    return json.loads((GOLDEN / version / "answers.json").read_text("utf-8"))


def test_there_are_golden_files() -> None:
    assert VERSIONS == ["gallery3-classifier1", "gallery4-classifier2", "gallery4-learned"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_saved_before_opens_with_the_same_answers(version: str, name: str) -> None:
    _, _, queries = problem(d=144 if name in IMAGES else 5)
    path, then = GOLDEN / version / f"{name}.kcrcmodel", answers(version)["classifiers"][name]
    classifier = KCRCClassifier.load(path)
    assert_same_answers(said(classifier, queries), then, within(classifier.model_))
    assert load_answerer(path).labels(queries).tolist() == then["labels"]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_gallery_of_vectors_made_before_opens_with_the_same_answers(version: str, tmp_path: Path) -> None:
    there = Path(shutil.copy(GOLDEN / version / "vectors.kcrc", tmp_path))
    then = answers(version)["galleries"]["vectors"]
    with Gallery.open(there) as gallery:
        assert gallery.verify().problems == ()
        assert gallery.counts == then["counts"]
        assert len(gallery.history()) == then["history"]
        classifier = gallery.classifier()
        assert_same_answers(said(classifier, problem(seed=8)[2]), then, within(classifier.model_))
        gallery.undo()  # of the tuning
        gallery.undo()  # of the renaming
        assert "owl" in gallery.counts
        assert gallery.verify().problems == ()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_gallery_of_photographs_made_before_opens_with_the_same_answers(version: str, tmp_path: Path) -> None:
    there = Path(shutil.copy(GOLDEN / version / "photographs.kcrc", tmp_path))
    then = answers(version)["galleries"]["photographs"]
    asked = sorted(folder(tmp_path / "asked", 2, first=20).rglob("*.jpg"))
    with Gallery.open(there) as gallery:
        assert gallery.verify().problems == ()
        assert gallery.counts == then["counts"]
        assert gallery.thumbnail(1) is not None
        classifier, vectors = gallery.classifier(), gallery.answering.feature().transform([str(p) for p in asked])
        assert_same_answers(said(classifier, vectors), then, within(classifier.model_))


@pytest.mark.parametrize("version", VERSIONS)
def test_an_export_made_before_is_taken_in(version: str, tmp_path: Path) -> None:
    then = answers(version)["galleries"]["photographs"]
    there = Path(shutil.copy(GOLDEN / version / "photographs.kcrc", tmp_path))
    with Gallery.open(there) as gallery:
        gallery.remove(gallery.find(label="wren"))
        gallery.import_(GOLDEN / version / "photographs.export")
        assert gallery.counts == then["counts"]


def test_commands_of_a_gallery_made_before_are_undone_and_redone_as_one(tmp_path: Path) -> None:
    there = Path(shutil.copy(GOLDEN / "gallery4-commands" / "commands.kcrc", tmp_path))
    then = json.loads((GOLDEN / "gallery4-commands" / "commands.json").read_text("utf-8"))
    with Gallery.open(there) as gallery:
        assert gallery.verify().problems == ()
        assert (gallery.counts, told(gallery)) == (then["counts"], then["history"])
        assert gallery.redo().summary == "removed 1 example of robin"
        gallery.undo(to=1)
        assert len(gallery) == 8
        gallery.redo()
        assert (len(gallery), gallery.counts["häher"]) == (11, 1)
        assert gallery.verify().problems == ()
