"""The published page follows from the measurements beside it: the same tables and claims come of ``runs.csv`` again."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from kcrc import experiments
from kcrc.experiments.base import Run

pytest.importorskip("matplotlib", reason="the figures need matplotlib")
PUBLISHED = Path(__file__).parents[2] / "docs" / "reproduction"


def measured(name: str) -> list[Run]:
    with (PUBLISHED / name / "runs.csv").open(newline="", encoding="utf-8") as file:
        return [
            Run(json.loads(row["configuration"]), json.loads(row["values"]), {"commit": row["commit"]}, row["key"])
            for row in csv.DictReader(file)
        ]


@pytest.mark.parametrize("name", ["fig4", "fig5", "fig6", "fig7", "table1", "table5"])
def test_tables_and_claims_come_of_the_measurements(name: str, tmp_path: Path) -> None:
    experiment = experiments.load(name)
    page = json.loads((PUBLISHED / name / "report.json").read_text(encoding="utf-8"))
    found = experiment.report(measured(name), experiment.protocol, tmp_path)
    tables = json.loads(json.dumps([[t.name, t.columns, t.rows] for t in found.tables]))
    assert tables == [[t["name"], t["columns"], t["rows"]] for t in page["tables"]]
    claims = [[claim.text, claim.held, claim.detail] for claim in found.claims]
    # Of Fig. 2 the coefficients are not kept in the file; the bounds of Table 1 are newer than the page.
    assert [claim for claim in page["claims"] if "Fig. 2" not in claim[0]] == [
        claim for claim in claims if "Our own bounds" not in claim[0]
    ]
