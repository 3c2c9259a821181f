"""The changelog has the form of Keep a Changelog, and its newest version is this one."""

from __future__ import annotations

import re

import kcrc
from docs.pages import ROOT

TEXT = (ROOT / "CHANGELOG.md").read_text("utf-8")
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def test_versions_come_newest_first_each_with_its_day():
    versions = re.findall(r"^## (.+)$", TEXT, re.M)
    assert versions[0] == "[Unreleased]"
    assert all(re.fullmatch(r"\[\d+\.\d+\.\d+\w*\] - \d{4}-\d{2}-\d{2}", one) for one in versions[1:])
    assert versions[1].split(" - ")[0] == f"[{kcrc.__version__}]"
    days = [one.split(" - ")[1] for one in versions[1:]]
    assert days == sorted(days, reverse=True)


def test_changes_are_of_the_kinds_there_are_in_their_order():
    versions = re.split(r"^## ", TEXT, flags=re.M)[1:]
    found = [re.findall(r"^### (.+)$", version, re.M) for version in versions]
    assert any(found)
    assert found == [[kind for kind in KINDS if kind in kinds] for kinds in found]


def test_links_hold():
    goals = re.findall(r"\]\(([^)\s]+)\)", TEXT + (ROOT / "SECURITY.md").read_text("utf-8"))
    assert goals
    lost = [g for g in goals if not g.startswith("https://") and not (ROOT / g.partition("#")[0]).exists()]
    assert lost == []
