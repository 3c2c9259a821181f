"""The way of a query, as docs/architecture.md tells it, is the way it takes."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest
from photos import folder
from problems import given, problem

from kcrc.cli import main
from kcrc.gallery import Gallery
from kcrc.method import compiled_plan

PAGE = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")


def told(face: str, queries: str = "one") -> list[str]:
    """The functions in the list that begins after ``face``, for so many queries."""
    section = PAGE.split("## Call chains")[1].split("\n## ")[0]
    lines = section.split(f"{face}`, {queries} ")[1].split("\n\n")[1]
    return re.findall(r"^\d+\. `([\w.]+)`", lines, re.MULTILINE)


class Spied:
    """The compiled module, noting who called what answers."""

    def __init__(self, native) -> None:
        self._native, self.stacks = native, []

    def __getattr__(self, name: str):
        return getattr(self._native, name)

    def local_stage(spy, /, **given):
        spy._note()
        return spy._native.local_stage(**given)

    def answer_single(self, *given):
        self._note()
        return self._native.answer_single(*given)

    def _note(self) -> None:
        frame, stack = sys._getframe(2), []
        while frame is not None:
            module = frame.f_globals["__name__"]
            if module.startswith("kcrc."):
                stack.append(f"{module}.{frame.f_code.co_qualname}".partition(".<locals>")[0])
            frame = frame.f_back
        self.stacks.append(stack[::-1])


@pytest.fixture
def spied(monkeypatch: pytest.MonkeyPatch) -> Spied:
    if compiled_plan.native is None:
        pytest.skip("the compiled module is not built")
    spy = Spied(compiled_plan.native)
    monkeypatch.setattr(compiled_plan, "native", spy)
    monkeypatch.setattr(compiled_plan, "native", spy)
    return spy


@pytest.mark.parametrize(
    ("face", "queries", "most"),
    [("KCRCClassifier.predict", "one", 7), ("KCRCClassifier.predict", "several", 10), ("kcrc predict", "one", 20)],
)
def test_every_function_named_is_there_and_they_are_few(face: str, queries: str, most: int) -> None:
    hops = told(face, queries)
    assert 5 < len(hops) <= most
    for name in hops:
        where = next(name.rsplit(".", n)[0] for n in (1, 2) if _is_module(name.rsplit(".", n)[0]))
        found = importlib.import_module(where)
        for attribute in name.removeprefix(f"{where}.").split("."):
            found = getattr(found, attribute)
        assert callable(found)


def _is_module(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def test_a_single_query_takes_this_way(spied: Spied) -> None:
    X, y, Xq = problem(1)
    clf = given(12).fit(X, y)
    spied.stacks.clear()
    clf.predict(Xq[:1])
    assert spied.stacks == [told("KCRCClassifier.predict")]


def test_several_queries_take_this_way(spied: Spied) -> None:
    X, y, Xq = problem(1)
    clf = given(12, n_jobs=1).fit(X, y)
    spied.stacks.clear()
    clf.predict(Xq)
    assert spied.stacks == [told("KCRCClassifier.predict", "several")]


def test_the_command_takes_this_way(spied: Spied, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photos = folder(tmp_path / "photos", 4)
    Gallery.from_folder(photos, tmp_path / "birds.kcrc", feature="pixels").close()
    spied.stacks.clear()
    assert main(["predict", str(tmp_path / "birds.kcrc"), str(next(photos.rglob("*.jpg")))]) == 0
    assert spied.stacks[-1] == told("kcrc predict")
