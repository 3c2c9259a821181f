"""The published page follows from the measurements beside it: the same tables and claims come of ``runs.csv`` again."""

from __future__ import annotations

import json
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from lab import experiments
from lab.experiments.page import compose, measured_before

pytest.importorskip("matplotlib", reason="the figures need matplotlib")
PUBLISHED = Path(__file__).parents[3] / "docs" / "reproduction"
OF_THE_PAPER = ("table1", "fig3", "fig4", "fig5", "fig6", "fig7", "table2", "tables34", "table5")


def report_of(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((PUBLISHED / name / "report.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", [*OF_THE_PAPER, "family"])
def test_tables_and_claims_come_of_the_measurements(name: str, tmp_path: Path) -> None:
    experiment, page = experiments.load(name), report_of(name)
    scale = experiment.full if page["scale"] == "full" else {}
    runs = list(measured_before(PUBLISHED / name).values())
    assert len(runs) == page["cells"]
    found = experiment.report(runs, {**experiment.protocol, **scale}, tmp_path)
    tables = json.loads(json.dumps([[t.name, t.columns, t.rows] for t in found.tables]))
    assert tables == [[t["name"], t["columns"], t["rows"]] for t in page["tables"]]
    assert json.loads(json.dumps([asdict(claim) for claim in found.claims])) == page["claims"]


def test_all_statements_of_the_paper_are_decided_with_an_interval_and_a_cause() -> None:
    claims = [claim for name in OF_THE_PAPER for claim in report_of(name)["claims"]]
    assert len(claims) == 51
    assert [claim["text"] for claim in claims if claim["held"] is None] == []
    alone = [claim["text"] for claim in claims if claim["interval"] is None]
    assert alone == ["Every method gives the query of Fig. 2 its class, the first."]  # one query, and no chance in it
    assert [claim["text"] for claim in claims if claim["held"] is False and not claim["cause"]] == []
    assert all(claim["cause"] == "" for claim in claims if claim["held"])


def test_every_commit_is_in_the_history() -> None:
    root = PUBLISHED.parents[1]

    def git(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)

    if not (root / ".git").exists() or git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        pytest.skip("the history is not here")
    names = [name for file in PUBLISHED.glob("*/report.json") for name in report_of(file.parent.name)["commits"]]
    cited = {name.removesuffix("-dirty") for name in names}
    cited.add(json.loads((root / "docs" / "peers.json").read_text("utf-8"))["commit"])
    assert [name for name in sorted(cited) if git("cat-file", "-e", f"{name}^{{commit}}").returncode] == []


def test_the_page_is_composed_of_the_reports(tmp_path: Path) -> None:
    """As ``python -m lab reproduce`` composes it; the folder beside it has its own name, by which figures are
    linked."""
    (tmp_path / "reproduction").symlink_to(PUBLISHED)
    made = compose(tmp_path / "reproduction", tmp_path / "reproduction.md", list(experiments.names()))
    page = PUBLISHED.parent / "reproduction.md"
    assert made.read_text("utf-8") == page.read_text("utf-8"), "python -m lab reproduce … --page docs/reproduction.md"
