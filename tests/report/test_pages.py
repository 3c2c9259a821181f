from __future__ import annotations

import re
import shlex
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from photos import small_picture

from kcrc import KCRCClassifier
from kcrc._base.words import file_name, percent
from kcrc.gallery import Gallery
from kcrc.report.audit_page import audit_page
from kcrc.report.case import Case
from kcrc.report.evaluation import evaluation
from kcrc.report.evaluation_page import confusion_table, evaluation_page
from kcrc.report.evidence_page import evidence_page
from kcrc.report.figures import draw_confusion
from kcrc.report.html import element, escape, page, picture, write_page
from kcrc.report.style import STYLE

PICTURE = small_picture()
EVIL = [
    '<script>alert("1")</script>',
    '"><img src=x onerror=alert(1)>',
    "'; DROP TABLE",
    "\u202etxt\x00\x1b[0m\udc80",
    "$x^$",
]


class Reader(HTMLParser):
    """Collects what a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("img", "meta", "br", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def cases(names: list[str], truth: str | None = None) -> list[Case]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    y = np.array(names)[rng.integers(0, len(names), 40)]
    evidence = KCRCClassifier(n_neighbors=12).fit(X, y).explain(rng.standard_normal((3, 5)))
    return [
        Case(names[0] + ".jpg", one, PICTURE, lambda i: PICTURE if i % 2 else None, lambda i: f"{names[0]}/{i}", truth)
        for one in evidence
    ]


@pytest.fixture(params=["plain", "hostile"])
def text(request: pytest.FixtureRequest) -> str:
    names = ["wren", "robin", "owl"] if request.param == "plain" else EVIL
    return evidence_page(cases(names, truth=names[1]), gallery=f"{names[0]}.kcrc")


def test_a_page_is_well_formed_and_loads_nothing(text: str) -> None:
    seen = Reader(text)
    assert seen.open == []
    assert seen.tags[0] == ("html", {"lang": "en"})
    for tag, attributes in seen.tags:
        assert tag not in ("script", "iframe", "object", "link", "form")
        assert not any(name.startswith("on") for name in attributes)
        assert (attributes.get("href") or "#").startswith("#")
        assert (attributes.get("src") or "data:image/").startswith("data:image/")
    assert "url(" not in STYLE
    assert "@import" not in STYLE


def test_every_picture_has_words(text: str) -> None:
    seen = Reader(text)
    pictures = [a for tag, a in seen.tags if tag == "img"]
    missing = [a for tag, a in seen.tags if a.get("role") == "img"]
    assert len(pictures) > 5
    assert len(missing) > 4  # examples without a picture, and a beam for each answer
    assert all((a.get("alt") or "").strip() for a in pictures)
    assert all((a.get("aria-label") or "").strip() for a in missing)


def test_names_come_through_as_text() -> None:
    seen = Reader(evidence_page(cases(EVIL[:2]), gallery="g"))
    assert '<script>alert("1")</script>' in seen.text
    assert '"><img src=x onerror=alert(1)>' in seen.text


def test_headings_and_tables_are_marked_up(text: str) -> None:
    tags = [tag for tag, _ in Reader(text).tags]
    assert tags.count("h1") == 1
    assert tags.count("main") == 1
    scopes = {a.get("scope") for tag, a in Reader(text).tags if tag == "th"}
    assert scopes == {"row", "col"}
    assert "@media print" in text


def test_escaping_leaves_no_control_characters() -> None:
    assert escape("a\x1b[31m\x00\u202eb\udcff") == "a\\x1b[31m\\x00\\u202eb\\udcff"
    assert escape('<a href="x">&') == "&lt;a href=&quot;x&quot;&gt;&amp;"
    assert str(element("p", "<", ["x", None], title='"', class_="c")) == '<p title="&quot;" class="c">&lt;x</p>'
    assert "no picture" in str(picture(b"GIF89a<script>", "words"))


def test_the_evaluation() -> None:
    truth, answers = ["a", "a", "b", "b", "c"], ["a", "b", "b", "a", "a"]
    found = evaluation(truth, answers, np.array([0.1, 0.2, 0.3, 0.9, 0.5]))
    assert found.accuracy == 0.4
    assert found.mistakes == (3, 4, 1)
    assert found.confusions() == [(1, "a", "b"), (1, "b", "a"), (1, "c", "a")]
    assert [(c, n, r) for c, n, r, _ in found.per_class()] == [("a", 2, 1), ("b", 2, 1), ("c", 1, 0)]
    wrong = [replace(one, truth="a" if one.label != "a" else "b") for one in cases(["a", "b", "c"])]
    text = evaluation_page(found, wrong, gallery="g", question="Pictures in f.", notes=["2 files were unreadable."])
    seen = Reader(text)
    assert seen.open == []
    assert "40.0% of 5 pictures right" in seen.text
    assert "between 11.8% and 76.9%" in seen.text  # Wilson's, of 2 of 5
    assert "2 files were unreadable." in seen.text
    titles = [a["title"] for _, a in seen.tags if "taken for" in (a.get("title") or "")]
    assert "1 of class c taken for a" in titles
    places = {a["id"] for _, a in seen.tags if "id" in a}
    links = {(a["href"] or "")[1:] for tag, a in seen.tags if tag == "a"}
    assert links
    assert links <= places
    order = [seen.text.index(words) for words in ("3 mistakes", "Who is taken for whom", "the weakest first")]
    assert order == sorted(order)


def test_classes_are_sorted_by_need_and_many_are_cut() -> None:
    truth = [f"c{i}" for i in range(600) for _ in range(2)]
    answers = [name if i % 2 or i > 40 else "c599" for i, name in enumerate(truth)]
    text = evaluation_page(evaluation(truth, answers, np.zeros(1200)), [], gallery="g", question="")
    seen = Reader(text)
    assert seen.open == []
    assert "c0" in seen.text
    assert "100 more classes with fewer mistakes" in seen.text
    assert "21 more mistakes, of which it was less sure" in seen.text


def test_a_matrix_of_odd_or_many_classes_is_drawn(tmp_path) -> None:
    found = evaluation(EVIL, EVIL[::-1], np.zeros(len(EVIL)))
    draw_confusion(found, tmp_path / "m.png")
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    many = [f"c{i}" for i in range(120)]
    text = str(confusion_table(evaluation(many, many[1:] + many[:1], np.zeros(120)), set()))
    assert text.count("<tr>") == 41
    assert "Of the others the 40 with most mistakes are shown." in text


def test_a_page_is_written_whole(tmp_path) -> None:
    write_page(tmp_path / "p.html", page("t", "a\udcff"))
    assert "a\\udcff" in (tmp_path / "p.html").read_text()
    assert [p.name for p in tmp_path.iterdir()] == ["p.html"]


def test_a_cell_leads_to_its_pictures_where_they_are_on_the_page() -> None:
    found = evaluation(["a", "a", "b", "b", "c"], ["a", "b", "b", "a", "c"], np.zeros(5))
    text = str(confusion_table(found, {"m0-1"}))
    assert re.search(r'<a href="#m0-1"[^>]*>1</a>', text)
    assert "#m1-0" not in text
    assert text.count('class="wrong"') == text.count('class="right"') == 2
    assert "1 class without a mistake is left out." in text


@pytest.mark.parametrize("names", [["wren", "robin", "owl"], EVIL[:2], ["../../etc", "line\nbreak", "-rf"]])
def test_the_audit_page(tmp_path, names: list[str]) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 4)) + 9 * np.eye(len(names), 4)[np.arange(40) % len(names)]
    labels = [names[i % len(names)] for i in range(40)]
    labels[0] = names[1]
    X[7] = X[6] + 1e-6
    with Gallery.create(tmp_path / "g.kcrc", dim=4) as gallery:
        pictures = [PICTURE if i % 2 else None for i in range(40)]
        gallery.add(labels, X, sources=[f"../{n}/x.jpg" for n in labels], thumbnails=pictures)
        found = gallery.audit()
        text = audit_page(gallery, found, top=5)
    assert found.mislabelled
    assert found.clashes
    assert found.unseen == 20
    assert "20 examples are without a picture in the gallery" in text
    seen = Reader(text)
    assert seen.open == []
    assert [tag for tag, _ in seen.tags].count("h1") == 1
    assert [tag for tag, _ in seen.tags].count("h2") == 5
    shown = [(tag, a) for tag, a in seen.tags if tag == "img" or a.get("role") == "img"]
    assert all((a.get("alt") or a.get("aria-label") or "").startswith("Example ") for _, a in shown)
    assert not {"script", "link"} & {tag for tag, _ in seen.tags}
    boxes = {a["id"]: "checked" in a for tag, a in seen.tags if tag == "input"}
    typed = seen.text[seen.text.find("What to type") :]
    lines = [shlex.split(line) for line in re.findall(r"kcrc (?:relabel|remove) g\.kcrc.*", typed)]
    assert all(words[0] == "kcrc" and words[2] == "g.kcrc" for words in lines)
    numbers = [f"t{words[1][:3]}{word}" for words in lines for word in words if word.isdigit()]
    assert sorted(numbers) == sorted(boxes)
    assert {words[-1] for words in lines if words[1] == "relabel"} <= set(names)
    surest = {f"trel{one.row}" for one in found.mislabelled[:5]}
    assert {name for name, on in boxes.items() if on} == surest & set(boxes)


@pytest.mark.parametrize(("share", "words"), [(0.0, "<0.1%"), (0.973, "97.3%"), (1.0, ">99.9%"), (0.001, "0.1%")])
def test_no_probability_is_rounded_to_certainty(share: float, words: str) -> None:
    assert percent(share) == words


@pytest.mark.parametrize("source", ["a/b/c.jpg", "C:\\b\\c.jpg", "c.jpg", "b/c.jpg/"])
def test_the_name_of_a_file(source: str) -> None:
    assert file_name(source) == "c.jpg"
