"""Every part in its quick form: it runs and leaves ratios; what they are is not tested."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pytest
from photos import folder
from scipy.spatial.distance import cdist
from sklearn.neighbors import KNeighborsClassifier

from kcrc import KCRCClassifier, distances
from kcrc.errors import ParameterError
from kcrc.images import datasets
from lab.__main__ import main
from lab.bench import parts
from lab.bench.parts import asking, box, changing, fitting, indexes, lasso, photographs, pixel, queries, robust, search
from lab.bench.results import Results, stored_ratios
from lab.bench.samples import clusters


def test_the_command_times_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    wanted = ["--part", "pixel", "--part", "tangent", "--part", "robust"]
    assert main(["bench", "--quick", *wanted, "--out", str(out)]) == 0
    ratios, quick = stored_ratios(out / "bench.json")
    assert quick
    assert len(ratios) == 8 + 4 + 12
    assert all(ratio > 0 for ratio in ratios.values())
    assert "The robust coder, K = 20" in capsys.readouterr().out
    assert set(json.loads((out / "bench.json").read_text())["machine"]["versions"]) >= {"kcrc", "numpy"}


def test_threads_are_for_the_whole_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--part", "pixel", "--jobs", "1", "--out", str(tmp_path / "out")]) == 2
    assert "--jobs is for the whole run" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_command_knows_every_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--part", "nonsense", "--out", str(tmp_path)]) == 2
    told = capsys.readouterr().err
    assert all(name in told for name in parts.NAMES)
    assert all(callable(parts.load(name)) for name in parts.NAMES)


def test_peers_measure_the_same_distance() -> None:
    A, B = np.random.default_rng(0).random((2, 5, 7))
    for name, peer in pixel.peers().items():
        distance = distances.make(name)
        np.testing.assert_allclose(distance.pairwise(distance.prepare(A), distance.prepare(B)), np.abs(peer(A, B)))
    assert (pixel.peers()["manhattan"](A, B) == cdist(A, B, "cityblock")).all()


def test_a_share_of_the_robust_targets_is_corrupted() -> None:
    clean, hit = (robust.problem(12, 3, share, local=True)[1].vector for share in (0.0, 1.0))
    assert clean is not None
    assert hit is not None
    assert clean.shape == hit.shape == (3, 12)


def test_the_lasso_beside_celer() -> None:
    pytest.importorskip("celer", reason="the rival")
    results, said = Results(True, {}), []
    lasso.measure(parts.PartRun(True, None, results, said.append))
    assert list(results.ratios) == ["lasso / celer, random vectors around 38 centres, 60 atoms, mu 0.1"]
    assert "100%" in said[0]


def test_a_correction_of_a_gallery(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(photographs, "help_seconds", lambda: 0.1)  # five programs
    results, said = Results(True, {}), []
    photos = datasets.from_folder(folder(tmp_path / "photos", 6))
    run = parts.PartRun(True, None, results, said.append)
    photographs.measured(run, photos, tmp_path / "large.kcrc", "pixels", 30)
    assert {name.split(" /")[0] for name in results.ratios} == {
        "choosing parameters", "first answer after opening", "adding 5 images of a new class", "asking again",
        "asking with reject", "asking for a set", "kcrc add", "kcrc predict",
    }  # fmt: skip
    assert [claim.holds for claim in results.claims] == [True]
    assert results.accuracy == {"the image of the new class, 30": 1.0}


def test_pictures_in_the_box_and_without_it(monkeypatch):
    programs = []
    monkeypatch.setattr(box, "seconds_of", lambda program, arguments: programs.append(program) or 1.0)
    results, said = Results(True, {}), []
    box.measure(parts.PartRun(True, None, results, said.append))
    assert results.ratios["decoding in the box / direct"] > 0
    assert [one.bound for one in results.claims] == [0.9, 0.1]
    assert ["if True" in program for program in programs] == [False, True] * 2


def test_the_cpu_time_of_a_cold_question(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> bytes:
        raise ParameterError("Not installed.")

    monkeypatch.setattr(asking, "network", missing)
    monkeypatch.setattr(asking, "cpu_seconds", lambda arguments, times: 0.2 * len(arguments))  # no programs
    results, said = Results(True, {}), []
    asking.measure(parts.PartRun(True, None, results, said.append))
    assert results.ratios == {"kcrc predict, hog / bare": pytest.approx(3)}
    assert [(claim.bound, claim.holds) for claim in results.claims] == [(0.3, False)]
    assert said[0] == "The embedding is left out. Not installed."
    assert "30 examples" in said[1]


def test_a_fit_beside_grids_of_rivals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "grid", lambda name, X, y: KNeighborsClassifier(1).fit(X, y))  # no workers
    monkeypatch.setattr(fitting, "KCRCClassifier", partial(KCRCClassifier, tuning_seconds=0.1))
    results, said = Results(True, {}), []
    fitting.measure(parts.PartRun(True, None, results, said.append))
    rivals = ["SVC", "neighbours", "logistic regression"]
    assert list(results.ratios) == [f"fit with no arguments / grid of {name}, clusters 60 x 8" for name in rivals]
    assert set(results.accuracy) == {f"clusters 60 x 8, {name}" for name in ["no arguments", *rivals]}
    assert [claim.bound for claim in results.claims] == [2.5]
    assert "logistic regression" in said[-1]


@pytest.mark.parametrize("name", fitting.GRIDS)
def test_a_grid_chooses_among_its_settings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(fitting.GRIDS, name, {key: values[:1] for key, values in fitting.GRIDS[name].items()})
    problem = clusters(60, 8, 20, classes=3)
    with joblib.parallel_config("threading"):  # no workers
        found = fitting.grid(name, problem.atoms, problem.labels)
    assert set(found.best_params_) == set(fitting.GRIDS[name])
    assert found.predict(problem.queries).shape == (20,)


def test_queries_one_at_a_time_and_many_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "load_faiss", lambda: None)
    results, said = Results(True, {}), []
    queries.measure(parts.PartRun(True, None, results, said.append))
    assert said[0].startswith("faiss is not installed")
    assert "kcrc, the answerer's label" in said[1]
    assert [claim.bound for claim in results.claims][:4] == [0.15, 0.25, 0.5, 1.5]
    assert {"kcrc, digits", "scikit-learn SVC, digits", "scikit-learn neighbours, k=1, digits"} <= set(results.accuracy)
    assert "kcrc, explain / scikit-learn neighbours, k=1, single query, digits" in results.ratios
    assert "kcrc / scikit-learn SVC, single query, digits" in results.ratios


@pytest.mark.skipif(search.native is None, reason="the compiled module is not built")
def test_the_search_beside_its_product(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "load_faiss", lambda: None)
    results, said = Results(True, {}), []
    search.measure(parts.PartRun(True, None, results, said.append))
    assert said[0].startswith("faiss is not installed")
    assert "of the bandwidth" in said[1]
    assert len(results.ratios) == len(results.claims) == 4
    assert "scan / matrix product, 9,000 × 64, around none" in results.ratios


def test_fits_and_changes_beside_what_cannot_be_saved() -> None:
    results, said = Results(True, {}), []
    changing.measure(parts.PartRun(True, None, results, said.append))
    assert len(results.ratios) == 1 + 3 + 3
    assert [claim.bound for claim in results.claims] == [3.0, 2.0, *[2.0, 5.0, 20.0] * 2]
    assert "plain, 200 x 8: copy" in said[2]
    assert "after one less (aim 200)" in said[-1]


def test_a_server_is_timed_under_load(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--quick", "--part", "serving", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert "16 clients for 1 s on 300 × 16" in told
    assert "errors of 16 clients" in told


@pytest.mark.parametrize("centres", [0, 3])
def test_examples_for_indexes_may_have_two_coordinates(centres: int) -> None:
    assert indexes.made(50, 2, centres).atoms.shape == (50, 2)


def test_indexes_beside_faiss(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("faiss")
    pytest.importorskip("usearch")
    monkeypatch.setattr(indexes, "apart", indexes.one)  # a process each takes seconds to start
    said: list[str] = []
    results = Results(quick=True, machine={})
    indexes.measure(parts.PartRun(True, None, results, said.append))
    searches = len(indexes.SEARCHES) - 1
    assert len(results.ratios) == 2 * searches + 1
    recalls = {name: results.accuracy[f"recall, {name}, around centres"] for name in indexes.SEARCHES[1:]}
    assert recalls["exact"] == 1.0
    assert min(recalls.values()) > 0.5, recalls
    assert results.accuracy["labels as by exact search, exact, around none"] == 1.0
    assert "3,000 × 16, 50 nearest" in said[0]


def test_an_index_is_measured_in_a_process_of_its_own() -> None:
    pytest.importorskip("faiss")
    found = indexes.apart("ivf", 400, 8, 10)
    assert found["says"].startswith("ivf, finds ")
    assert found["resident"] > 0
