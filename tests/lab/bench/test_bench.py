"""The benchmark's own arithmetic; what it measures is not tested, a unit test times nothing."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kcrc import paper
from kcrc.errors import DataError
from kcrc.report.tables import text_table
from lab.__main__ import main
from lab.bench import agreement
from lab.bench.compare import changes, slower
from lab.bench.limits import Potrf, product
from lab.bench.results import Requirement, Results, stored_ratios
from lab.bench.rivals import ours, plain_numpy
from lab.bench.samples import clusters, digits, load
from lab.bench.tables import short
from lab.bench.timing import race, slope
from lab.machine import facts


def test_a_race_takes_turns_and_prepares_each():
    order = []

    class Prepared:
        def prepare(self):
            order.append("prepare")

        def __call__(self):
            order.append("b")

    best = race({"a": lambda: order.append("a"), "b": Prepared()}, rounds=3, seconds=60)
    assert order == ["a", "prepare", "b"] * 3
    assert set(best) == {"a", "b"}
    assert all(0 <= seconds < 60 for seconds in best.values())


def test_slope_is_the_power():
    sizes = np.array([10, 20, 50, 100, 400])
    assert slope(sizes, 7.0 * sizes**3) == pytest.approx(3.0)


def test_plain_numpy_is_the_paper():
    split = clusters(120, 6, 15, dtype=np.float64)
    got = plain_numpy(split, 12, 1.0, 0.01)(split.queries)
    squared = lambda a, b: float(((a - b) ** 2).sum())  # noqa: E731
    expected = [
        paper.naive_kcrc_lcd(split.atoms, split.labels, y, squared, 12, paper.rbf(1.0), 0.01) for y in split.queries
    ]
    np.testing.assert_array_equal(got, expected)


def test_ours_is_the_same_method():
    split = clusters(300, 8, 40, dtype=np.float64)
    np.testing.assert_array_equal(
        ours(split, 20, form="gram", decision="ratio").predict(split.queries), plain_numpy(split, 20)(split.queries)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_potrf_factorises(dtype):
    bare = Potrf(30, dtype)
    bare.prepare()
    matrix = bare._work[0].copy()
    bare()
    assert len(bare._work) == bare.count > 0
    for factor in bare._work:
        lower = np.tril(factor.T)  # LAPACK's order is the other way round
        np.testing.assert_allclose(lower @ lower.T, matrix, atol=1e-5 if dtype == np.float32 else 1e-13)


def test_the_product_goes_over_all_examples(monkeypatch):
    seen = []
    real = np.matmul
    monkeypatch.setattr(np, "matmul", lambda a, b, out: seen.append(len(a)) or real(a, b, out=out))
    split = clusters(500, 4, 30_000)
    product(split.atoms, split.queries)()
    assert sum(seen) == 500
    assert len(seen) > 1


def test_clusters_are_mixed_unit_rows():
    split = clusters(2000, 16, 100)
    np.testing.assert_allclose(np.linalg.norm(split.atoms, axis=1), 1.0, rtol=1e-5)
    assert len(np.unique(split.labels)) == 10
    assert split.part(50, 7).queries.shape == (7, 16)
    assert len(digits().atoms) + len(digits().queries) == 1797


def test_agreement_counts_what_differs():
    split = clusters(300, 8, 60)
    true = ours(split, 15).predict(split.queries)
    assert agreement.compare(split, 15).different == 0
    changed = true.copy()
    changed[:3] = (changed[:3] + 1) % 10
    found = agreement.compare(split, 15, labels=changed)
    assert found.different == 3
    assert found.widest_gap >= found.smallest_gap > 0


def test_results_can_be_read_again(tmp_path):
    kept = Results(True, facts(2), ratios={"a": 1.5}, claims=[Requirement("a", 1.5, 1.0)])
    kept.write(tmp_path / "deep" / "bench.json")
    assert stored_ratios(tmp_path / "deep" / "bench.json") == ({"a": 1.5}, True)
    content = json.loads((tmp_path / "deep" / "bench.json").read_text())
    assert content["claims"][0]["holds"] is False
    assert set(content["machine"]) == {"cores", "architecture", "compiled", "versions"}


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "other"}', '{"format": "kcrc-bench-1", "ratios": 3}'])
def test_other_files_are_refused(tmp_path, text):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(DataError, match="not a result"):
        stored_ratios(tmp_path / "x.json")
    with pytest.raises(DataError, match="no file"):
        stored_ratios(tmp_path / "missing.json")


def test_claims_hold_on_their_side():
    assert Requirement("", 1.0, 1.0).holds
    assert not Requirement("", 1.1, 1.0).holds
    assert Requirement("", 31.0, 30.0, at_least=True).holds
    assert not Requirement("", 29.0, 30.0, at_least=True).holds


def test_only_a_growth_beyond_the_tolerance_is_flagged():
    found = changes({"a": 1.0, "b": 1.0, "gone": 1.0}, {"a": 1.2, "b": 2.0, "new": 5.0})
    assert [change.name for change in found] == ["b", "a"]
    assert [change.name for change in slower(found, 0.3)] == ["b"]


def test_tables_line_up():
    lines = text_table("title", ["", "x"], [["one", "1"], ["three", "22"]]).splitlines()
    assert lines[-1] == "  three   22"
    assert lines[-2] == "  one      1"
    assert [short(5.0), short(5e3), short(5e6)] == ["5 µs", "5 ms", "5 s"]


@pytest.mark.parametrize(("grown", "code"), [(1.0, 0), (2.0, 1)])
def test_the_command_compares(tmp_path, monkeypatch, capsys, grown, code):
    from lab.bench import run as running

    old = tmp_path / "old.json"
    Results(True, facts(1), ratios={"local stage": 1.0}).write(old)
    monkeypatch.setattr(running, "run", lambda **given: Results(True, facts(1), ratios={"local stage": grown}))
    assert main(["bench", "--quick", "--compare", str(old), "--out", str(tmp_path)]) == code
    assert "local stage" in capsys.readouterr().out


def test_a_folder_without_mnist_is_told(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("KCRC_DATA", raising=False)
    monkeypatch.setenv("KCRC_CACHE", str(tmp_path / "cache"))
    assert load(tmp_path, "mnist") is None
    assert main(["bench", "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 1
    assert "mnist.npz" in capsys.readouterr().err
    (tmp_path / "mnist.npz").write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"mnist\.npz"):
        load(tmp_path, "mnist")


def test_drawings(tmp_path):
    pytest.importorskip("matplotlib")
    from lab.bench.figures import draw
    from lab.bench.growth import Curve
    from lab.bench.memory import Peak
    from lab.bench.stage import StageTime

    curve = Curve("K")
    for K in (10, 20, 40):
        curve.add(K, {"local stage": 1e-3 * K**3, "potrf": 2e-3 * K**3})
    assert curve.powers["local stage"] == pytest.approx(3.0)
    written = draw(
        tmp_path, [curve], [StageTime("float32", 50, "rkhs", 2.0, 1.0, 9.0)], [Peak(9, 9, "float32", 9, 9, 9)]
    )
    assert [path.name for path in written] == ["time-by-k.png", "share-of-limit.png", "memory.png"]
    assert all(path.stat().st_size > 1000 for path in written)


def test_a_slow_contestant_may_leave_early():
    from lab.bench.growth import Curve

    curve = Curve("n", [10, 20, 40, 80], {"a": [1.0, 2.0, 4.0, 8.0], "b": [1.0, 4.0]})
    assert curve.powers == pytest.approx({"a": 1.0, "b": 2.0})
