"""A gallery that is searched approximately says so wherever an answer is explained."""

from __future__ import annotations

import json
import os

import pytest

from kcrc.gallery import Gallery
from kcrc.method.neighbours import approximate
from kcrc.method.neighbours.cells import native

pytestmark = pytest.mark.skipif(
    not approximate.LIBRARIES["ivf"].is_installed or native is None,
    reason="faiss is not installed, or nothing is compiled",
)


def test_the_command_fixes_a_search_and_explain_says_it(kcrc) -> None:
    plain = kcrc("explain", "birds.kcrc", "test/wren/50.jpg")[1]
    assert "earch" not in plain
    assert json.loads(kcrc("explain", "birds.kcrc", "test/wren/50.jpg", "--json")[1])["search"] == "exact"
    fixed = ("search=ivf", "n_neighbors=5", "locality=atoms", "scaling=plain")
    code, _, err = kcrc("tune", "birds.kcrc", "--seconds", "1", *(part for one in fixed for part in ("--fix", one)))
    assert (code, err.count("Error")) == (0, 0)
    _, out, _ = kcrc("explain", "birds.kcrc", "test/wren/50.jpg", "--html", "why.html")
    assert "Approximate search: ivf, finds " in out
    with open("why.html", encoding="utf-8") as page:
        assert "Approximate search: ivf, finds " in page.read()
    said = json.loads(kcrc("explain", "birds.kcrc", "test/wren/50.jpg", "--json")[1])
    assert said["search"].startswith("ivf, finds ")


def test_a_search_whose_package_is_missing(kcrc, monkeypatch) -> None:
    monkeypatch.setattr(approximate, "find_spec", lambda _: None)
    code, _, err = kcrc("tune", "birds.kcrc", "--fix", "search=hnsw")
    assert code != 0
    assert "pip install 'kcrc[faiss]'" in err


def test_a_gallery_is_built_with_a_search_and_predict_says_by_which_it_answered(kcrc, monkeypatch) -> None:
    code, _, err = kcrc("build", "photos", "-o", "ivf.kcrc", "-f", "pixels", "--no-tune", "--search", "ivf")
    assert (code, "Error" in err) == (0, False)
    for options in ([], ["--json"], ["--csv"], ["--out", "answers.csv"]):
        code, out, err = kcrc("predict", "ivf.kcrc", "test/wren/50.jpg", *options)
        assert code == 0
        assert err.count("kcrc: Approximate search: ivf, finds ") == 1
        assert "Approximate" not in out
    assert "Approximate" not in kcrc("predict", "birds.kcrc", "test/wren/50.jpg")[2]
    assert kcrc("build", "photos", "-o", "no.kcrc", "--search", "best")[0] != 0
    monkeypatch.setattr(approximate, "find_spec", lambda _: None)
    code, _, err = kcrc("build", "photos", "-o", "no.kcrc", "--search", "hnsw")
    assert (code != 0, "pip install 'kcrc[faiss]'" in err) == (True, True)
    assert not os.path.exists("no.kcrc")


def test_a_search_stays_when_the_parameters_are_chosen(kcrc) -> None:
    assert kcrc("build", "photos", "-o", "fixed.kcrc", "-f", "pixels", "--seconds", "1", "--search", "cells")[0] == 0
    with Gallery.open("fixed.kcrc") as gallery:
        assert gallery.parameters == {"search": "cells"}
        assert gallery.classifier().search == "cells"
