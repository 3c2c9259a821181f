"""Every study in a reduced form on digits or a few pictures: it runs and says what it should."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import zlib
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from photos import folder

from kcrc import KCRCClassifier
from lab.experiments.studies import (  # fmt: skip
    advice,
    audit,
    columns,
    confidence,
    distances,
    features,
    full_grid,
    learned,
    likeness,
    nearest,
    occlusion,
    peers,
    photographs,
    prior,
    reject,
    selftuned,
    seven_sets,
)
from lab.experiments.studies.samples import vectors

SPLITS = [[143346927, 2975604206], [3263664888, 3080278398]]


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choices of parameters in an instant, and no tuned rivals."""
    monkeypatch.setattr(selftuned, "KCRCClassifier", partial(KCRCClassifier, tuning_seconds=0.1))
    monkeypatch.setattr(full_grid, "KCRCClassifier", partial(KCRCClassifier, tuning_seconds=0.1))
    monkeypatch.setattr(selftuned, "baselines", lambda X, y, slow: iter(()))


def test_the_rows_of_a_split_stay_the_same() -> None:
    """Runs are compared over time: the digits of two splits, by a checksum of their labels in order."""
    found = []
    for seed in (0, 1):
        X, _, y, yq = seven_sets.load("digits", seed)
        assert X.shape == (898, 64)
        assert X.max() == 16.0
        found.append([zlib.crc32(part.astype("<i8").tobytes()) for part in (y, yq)])
    assert found == SPLITS


def test_selftuned_writes_and_compares(quick: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, options = tmp_path / "runs.csv", ["--sets", "digits", "--splits", "1", "--queries", "30", "--grid", "1"]
    assert selftuned.main([*options, "--out", str(file)]) == 0
    (row,) = csv.DictReader(file.read_text().splitlines())
    assert list(row) == ["set", "seed", "accuracy", "seconds", "setting"]
    assert float(row["accuracy"]) > 0.8
    file.write_text(f"set,seed,accuracy,seconds,setting\ndigits,0,{float(row['accuracy']) - 0.01},1,x\n")
    assert selftuned.main([*options, "--compare", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "best finalist on test" in shown
    assert "points gained since runs.csv" in shown
    assert "+1.00" in shown
    assert selftuned.main([*options[:6], "--decision", "sum"]) == 0
    assert ", sum; leave-one-out" in capsys.readouterr().out


def test_missing_data_are_told_in_a_sentence(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert selftuned.main(["--sets", "usps", "--data", str(tmp_path)]) == 1
    assert "usps.npz" in capsys.readouterr().err
    assert nearest.main(["mnist-tangent", "--data", str(tmp_path)]) == 0
    assert str(tmp_path / "mnist.npz") in capsys.readouterr().err
    assert selftuned.main(["--sets", "digit"]) == 2
    assert "Did you mean 'digits'" in capsys.readouterr().err


def test_the_full_grid_is_tried_on_the_queries(
    quick: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(full_grid, "METRICS", {"unit": full_grid.METRICS["unit"]})
    monkeypatch.setattr(full_grid, "SIZES", (12,))
    monkeypatch.setattr(full_grid, "PENALTIES", (0.01,))
    assert full_grid.main(["digits", "--splits", "1", "--queries", "40"]) == 0
    shown = capsys.readouterr().out
    assert (
        "digits, 1 splits, 40 queries, 24 settings: chosen" in shown
    )  # 4 kernels × 2 decisions × (2 forms + 4 classes)


def test_flipped_labels_are_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = vectors("digits")
    monkeypatch.setattr(audit, "examples", lambda name, seed, data: (X[:400], y[:400]))
    assert audit.main(["digits", "--seeds", "1", "--seconds", "0.2"]) == 0
    assert "(holds: at least 80 % and 60 % in every run)" in capsys.readouterr().out


def test_advice_beside_what_more_examples_bring(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(advice, "EXAMPLES", {"digits": 60})
    assert advice.main(["digits", "--draws", "1", "--seconds", "0.1"]) in (0, 1)
    out = capsys.readouterr().out
    assert "digits, 60 examples doubled:" in out
    assert "without a model" in out


def test_alarms_are_counted(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(likeness, "STORED", {"digits": 200})
    likeness.main(["digits", "--splits", "1", "--batches", "2", "--seconds", "0.1"])
    out = capsys.readouterr().out
    assert "same source, 100" in out
    assert out.count("of 2 raise an alarm") == 2


def test_reject_of_digits_on_two_draws(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(reject, "MOST", 200)
    assert reject.main(["digits", "--draws", "2", "--seconds", "0.1"]) in (0, 1)  # 200 queries say little
    assert "2 draws: of known queries" in capsys.readouterr().out


def test_strangers_take_no_part_and_no_row_is_asked_that_is_stored() -> None:
    y = np.repeat(np.arange(10), 7)
    examples, known, strange = reject.drawn(y, 5, 3)
    assert set(np.bincount(y[examples])) == {0, 3}  # half of a small class
    assert len(set(y[strange])) == 3
    assert set(y[strange]) | set(y[examples]) == set(range(10))
    assert set(y[known]) == set(y[examples])
    assert sorted(np.concatenate([examples, known, strange])) == list(range(70))


def test_labels_are_flipped_to_others() -> None:
    y = np.arange(100) % 4
    spoiled, rows = audit.flipped(y, 0.1, np.random.default_rng(0))
    assert sorted(rows) == np.flatnonzero(spoiled != y).tolist()
    assert len(rows) == 10


def test_confidence_says_what_is_kept(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(confidence, "SETS", {"digits": ("digits", 15)})
    monkeypatch.setattr(confidence, "MOST", 100)
    assert confidence.main(["--seeds", "1", "--seconds", "0.2", "--no-svc"]) in (0, 1)  # 100 queries say little
    shown = capsys.readouterr().out
    for what in ("log-loss", "calibration error", "0.0 of 500 answers", "unknown AUROC", "sets 90%", "sets 95%"):
        assert what in shown


def test_a_probability_is_shared_where_samples_differ() -> None:
    p = np.array([[0.8, 0.2], [0.2, 0.8], [0.7, 0.3], [0.7, 0.3], [0.6, 0.4]])
    assert confidence.sharing(p, np.array([[1], [2], [3], [3], [4]])) == 2  # the first two; the next are one sample
    assert confidence.sharing(p[2:], np.array([[3], [3], [4]])) == 0


def test_calibration_error_is_the_gap_between_confidence_and_accuracy() -> None:
    p = np.array([[0.8, 0.2]] * 10)
    assert confidence.calibration_error(p, np.array([0] * 8 + [1] * 2)) == pytest.approx(0.0)
    assert confidence.calibration_error(p, np.array([1] * 10)) == pytest.approx(0.8)
    assert confidence.log_loss(p, np.zeros(10, int)) == pytest.approx(-np.log(0.8))


def test_distances_of_digits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    X, y = vectors("digits")
    monkeypatch.setattr(distances, "SEEDS", 1)
    monkeypatch.setattr(distances, "vectors", lambda name: (X[:120], y[:120]))
    assert distances.main(["digits", "--queries", "20", "--seconds", "0.2"]) == 0
    shown = capsys.readouterr().out
    assert "reduced: at most 20 queries" in shown
    assert "seed 0" in shown


def test_unified_distances_beside_the_best_single_one(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = vectors("digits")
    rows, scale = np.arange(80), distances.Scale(0, 0.2, None)
    singles = {"euclidean": ("euclidean", X), "manhattan": ("manhattan", X)}
    both = distances.Unified(("euclidean", "manhattan"))
    found = distances.table("digits", singles, both, X, y, rows[:60], rows[60:], scale, {"n_neighbors": 10})
    assert list(found) == ["euclidean", "manhattan", "unified, equal", "unified, learned"]
    assert "best single" in capsys.readouterr().out


def test_nearest_neighbours_of_digits(capsys: pytest.CaptureFixture[str]) -> None:
    X, y = vectors("digits")
    X = X.reshape(-1, 8, 8)
    nearest.table("digits", X[:60], y[:60], X[60:62], y[60:62])
    shown = capsys.readouterr().out
    assert "digits: 60 examples, 2 queries of 8 x 8" in shown
    assert "shape-context  among the 50 nearest pixels" in shown
    assert nearest.coarse(X[:60], X[5:7], 1).tolist() == [[5], [6]]


def test_learned_dictionaries_of_digits(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    few = partial(learned.methods, n_atoms=20, sparsity=2, n_iter=2, init_iter=1)
    monkeypatch.setattr(learned, "methods", few)
    assert learned.main(["--seeds", "1"]) == 0
    shown = capsys.readouterr()
    assert shown.out.count("objective falls") == 4
    assert "yaleb.npz" in shown.err


def test_covered_faces(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="the curve is drawn")
    rng = np.random.default_rng(0)
    people = 255.0 * rng.random((3, 12, 10))
    y = np.repeat(np.arange(3), 8)
    pictures = people[y] + 5.0 * rng.random((24, 12, 10))
    monkeypatch.setattr(occlusion, "faces", lambda count, seed, data: (pictures, y, pictures[::4], y[::4]))
    options = ["--covers", "another face", "--shares", "0", "0.3", "--trials", "6", "--out", str(tmp_path)]
    assert occlusion.main(options) == 0
    assert "another face   0%   ridge 100.0   robust 100.0" in capsys.readouterr().out
    assert (tmp_path / "occlusion.png").read_bytes().startswith(b"\x89PNG")


def test_a_block_is_covered_and_nothing_else() -> None:
    images, y = np.full((4, 10, 10), 300.0), np.array([0, 1, 0, 1])
    covered = occlusion.covered(images, y, 0.25, "noise", 0)
    assert ((covered != images).sum(axis=(1, 2)) == 25).all()
    np.testing.assert_array_equal(occlusion.covered(images, y, 0.0, "noise", 0), images)


def test_features_of_photographs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--folder", str(folder(tmp_path, 4)), "--features", "pixels,nonsense", "--train", "2", "--seeds", "1"]
    assert features.main(options) == 0
    shown = capsys.readouterr()
    assert "| pixels |" in shown.out
    assert "nonsense was not measured" in shown.err


def test_photographs_by_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert photographs.main(["--folder", str(folder(tmp_path, 6)), "--features", "pixels"]) == 0
    shown = capsys.readouterr().out
    assert "of 9; build" in shown
    assert "--set 0.95 holds the true class of" in shown


def test_the_script_that_runs_are_compared_by_is_the_study() -> None:
    """``python lab/benchmarks/selftuned.py`` is what earlier runs were made with."""
    script = Path(__file__).parents[4] / "lab" / "benchmarks" / "selftuned.py"
    done = subprocess.run([sys.executable, script, "--help"], capture_output=True, text=True, check=True)
    for option in ("--sets", "--splits", "--queries", "--grid", "--rivals", "--out", "--compare"):
        assert option in done.stdout


def test_the_table_behind_the_prior(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(prior, "METRICS", ("unit", "within own", "scaled, within own"))
    monkeypatch.setattr(prior, "SIZES", (25,))
    monkeypatch.setattr(prior, "MADE_UP", {"clusters of 8": 8})
    assert prior.main(["--sets", "digits", "--sizes", "2,100", "--draws", "1", "--show", "2"]) == 0
    told = capsys.readouterr().out
    assert "digits, 2 a class: best" in told
    assert "digits, 100 a class" not in told  # there are no more to be asked
    assert "mean regret" in told


def test_where_few_columns_matter_boosting_is_beside_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(columns.METHODS, "kcrc", partial(KCRCClassifier, tuning_seconds=0.1))
    assert columns.main(["--draws", "1"]) == 0
    told = capsys.readouterr().out.splitlines()
    xor = next(line for line in told if "XOR" in line)
    ours, boosting = map(float, re.findall(r"\d+\.\d+", xor))
    assert ours < boosting


def test_peers_measures_and_writes_its_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page without the marks is refused and stays; the table is made anew from what was stored."""
    monkeypatch.setitem(peers.METHODS, "kcrc", partial(KCRCClassifier, tuning_seconds=0.1))
    out, page, bare = tmp_path / "peers.json", tmp_path / "README.md", tmp_path / "bare.md"
    page.write_text(f"before\n{peers.BEGIN}\nold\n{peers.END}\nafter\n", "utf-8")
    bare.write_text("no marks\n", "utf-8")
    options = ["--out", str(out), "--sets", "digits", "--splits", "1"]
    assert peers.main([*options, "--readme", str(page)]) == 0
    once = page.read_text("utf-8")
    assert once.startswith(f"before\n{peers.BEGIN}\n|  | digits |")
    assert "old" not in once
    assert [line.split(" | ")[0] for line in once.splitlines() if "%" in line] == [f"| {name}" for name in peers.OFFERS]
    assert "–" not in once
    assert peers.main([*options, "--measured", "--readme", str(page)]) == 0
    assert page.read_text("utf-8") == once
    assert peers.main([*options, "--measured", "--readme", str(bare)]) == 1
    assert bare.read_text("utf-8") == "no marks\n"
    before = json.loads(out.read_text("utf-8"))
    assert peers.main(["--out", str(out), "--sets", "digits", "--splits", "2", "--only", "kNN, tuned"]) == 0
    after = json.loads(out.read_text("utf-8"))
    assert after["sets"]["digits"]["SVC, tuned"] == before["sets"]["digits"]["SVC, tuned"]
    assert len(after["sets"]["digits"]["kNN, tuned"]) == 2
    table = peers.table(after)
    assert re.search(r"^\| kNN \| \d\d\.\d %, tuned \d\d\.\d ± \d\.\d % \|", table, re.M)
    assert "without ±: of the first split" in table
    assert "Measured by themselves (kNN, tuned): " in table
    quoting = after | {"quoted": {"kNN, tuned": "From elsewhere.", "SVC, tuned": "From there."}}
    assert peers.table(quoting).endswith("\nFrom elsewhere.\nFrom there.")
    assert peers.merged(quoting, after, ["kNN, tuned"])["quoted"] == {"SVC, tuned": "From there."}


@pytest.mark.parametrize(("seconds", "told"), [(2.5, "2.5 s"), (0.0213, "21.3 ms"), (4.2e-5, "42 µs")])
def test_times_are_told_in_a_unit_that_suits_them(seconds: float, told: str) -> None:
    assert peers.spelled(seconds) == told
