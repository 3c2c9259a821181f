"""What is released with the library says the same as the library: citation, notices, workflow, Pythons."""

from __future__ import annotations

import datetime
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import kcrc

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))


def test_the_citation_is_of_this_version_and_its_day():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert cited["version"] == kcrc.__version__ == PROJECT["project"]["version"]
    (day,) = re.findall(rf"^## \[{re.escape(kcrc.__version__)}\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert cited["date-released"] == datetime.date.fromisoformat(day)
    assert cited["license"] == PROJECT["project"]["license"]


def test_the_paper_is_what_to_cite():
    paper = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["preferred-citation"]
    assert paper["type"] == "article"
    assert paper["title"].startswith("KCRC-LCD: Discriminative Kernel Collaborative Representation")
    assert [one["family-names"] for one in paper["authors"]] == ["Liu", "Yu", "Lu", "Wen", "Li", "Zou"]
    assert "doi" not in paper  # none is known to us


def test_the_notice_names_what_a_wheel_contains_of_others():
    """What is compiled in: every header of angle brackets in our sources that no compiler brings along."""
    sources = [p for p in (ROOT / "src/kcrc/native").rglob("*") if p.suffix in (".cpp", ".hpp")]
    included = {name for p in sources for name in re.findall(r"#include <(\w+)/", p.read_text("utf-8"))}
    notice = (ROOT / "NOTICE").read_text("utf-8")
    assert included == {"pybind11"}
    assert all(f"{name} (https://" in notice for name in included)
    assert "Copyright (c) 2016 Wenzel Jakob" in notice
    assert "NOTICE" in PROJECT["project"]["license-files"]


def test_the_workflow_makes_the_sdist_too_and_uses_no_retired_runner():
    jobs = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text("utf-8"))["jobs"]
    assert any("--sdist" in step.get("run", "") for step in jobs["sdist"]["steps"])
    kept = [step["with"]["path"] for job in jobs.values() for step in job["steps"] if "upload" in step.get("uses", "")]
    assert sorted(kept) == ["dist/*.tar.gz", "dist/*.whl"]
    assert not {"macos-11", "macos-12", "macos-13", "ubuntu-20.04"} & set(jobs["wheels"]["strategy"]["matrix"]["os"])


@pytest.mark.skipif(os.name == "nt", reason="a script for bash")
@pytest.mark.parametrize(("ci", "code"), [("true", 1), ("", 0)])
def test_where_no_newer_python_is_found_ci_fails(tmp_path, ci, code):
    for tool in ("bash", "dirname", "env"):
        (tmp_path / tool).symlink_to(str(shutil.which(tool)))
    done = subprocess.run(
        [str(ROOT / ".ci" / "pythons")], env={"PATH": str(tmp_path), "CI": ci, "PYTHON": sys.executable},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert (done.returncode, "none was tried" in done.stdout) == (code, True), done.stderr


def test_the_page_and_the_settings_name_the_same_pythons():
    said = re.findall(r"3\.1[2-9]", (ROOT / "docs/stability.md").read_text("utf-8"))
    comment = (ROOT / "pyproject.toml").read_text("utf-8").partition("# Run by us:")[2].partition("The rest")[0]
    assert set(said) == set(re.findall(r"3\.1[2-9]", comment)) == {"3.12", "3.13"}
