"""Links and pictures are there, the navigation holds every page, and the site asks nobody else for anything."""

from __future__ import annotations

import json
import re
from urllib.parse import unquote

import pytest
import yaml

from docs.pages import DOCS, FENCED, PAGES, ROOT, text
from lab.experiments.studies import peers

SETTINGS = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))


def links(page: str) -> list[str]:
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", FENCED.sub("", text(page))))


def anchors(page: str) -> set[str]:
    """Headings as MkDocs and GitHub name them."""
    heads = re.findall(r"^#+ (.+)$", FENCED.sub("", text(page)), re.M)
    plain = [re.sub(r"[^\w\- ]", "", re.sub(r"[`*]", "", head)).strip().lower() for head in heads]
    return {re.sub(r"[ -]+", "-", head) for head in plain}


@pytest.mark.parametrize("page", PAGES)
def test_relative_links_hold(page):
    broken = []
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = unquote(link).partition("#")
        goal = (PAGES[page].parent / place) if place else PAGES[page]
        if not goal.exists() or (anchor and goal.suffix == ".md" and anchor not in anchors(goal.name)):
            broken.append(link)
    assert broken == []


def test_a_picture_that_says_something_has_words_for_it():
    """In text that is read out; the pictures in tables of pictures are named by the table."""
    silent = [page for page in PAGES if re.search(r"^!\[\]\(", FENCED.sub("", text(page)), re.M)]
    assert silent == []


def in_navigation(part: object) -> list[str]:
    if isinstance(part, str):
        return [part]
    return [page for below in (part.values() if isinstance(part, dict) else part) for page in in_navigation(below)]


def test_the_navigation_holds_every_page_once():
    assert sorted(in_navigation(SETTINGS["nav"])) == sorted(path.name for path in DOCS.glob("*.md"))


def test_nothing_is_fetched_from_elsewhere():
    theme = SETTINGS["theme"]
    own = [*SETTINGS["extra"]["polyfills"], *SETTINGS["extra_css"], *SETTINGS.get("extra_javascript", [])]
    assert theme["font"] is False
    assert "offline" in SETTINGS["plugins"]
    assert any("iframe-worker" in name for name in SETTINGS["extra"]["polyfills"])  # else "offline" names one elsewhere
    assert [name for name in own if not (DOCS / name).is_file()] == []


def test_the_table_of_the_readme_is_what_was_measured():
    found = json.loads((DOCS / "peers.json").read_text("utf-8"))
    page = text("README.md")
    again = "python -m lab.experiments.studies.peers --out docs/peers.json --readme README.md --measured"
    assert peers.placed(page, peers.table(found)) == page, again
