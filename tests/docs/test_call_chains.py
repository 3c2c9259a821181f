"""The ways through the code, as docs/architecture.md lists them, are those that calls take."""

from __future__ import annotations

import importlib
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import httpx
import pytest
from photos import folder, photo
from problems import given, problem

from kcrc import KCRCClassifier
from kcrc.cli import main
from kcrc.gallery import Gallery
from kcrc.method import compiled_plan
from kcrc.tuning import scoring

PAGE = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
QUEUE = "kcrc.web.current.Batcher.ask"
CHAINS = {
    "predict, one vector": 7,
    "predict, several vectors": 10,
    "fit": 16,
    "kcrc predict, one image": 20,
    "A page request, up to the queue": 7,
    "A page request, from the queue to the answer": 10,
}
"""The lists, and how long each may be."""


def listed(chain: str) -> list[str]:
    """The functions of a list, by its heading."""
    section = PAGE.split("## Call chains\n")[1].split("\n## ")[0].split(f"### {chain}\n")[1].split("\n### ")[0]
    return re.findall(r"^\d+\. `([\w.]+)`", section, re.MULTILINE)


def callers(frame: FrameType | None) -> list[str]:
    """The functions of kcrc on the stack that ends with ``frame``, the first caller first."""
    stack = []
    while frame is not None:
        module = frame.f_globals["__name__"]
        if module.startswith("kcrc."):
            stack.append(f"{module}.{frame.f_code.co_qualname}".partition(".<locals>")[0])
        frame = frame.f_back
    return stack[::-1]


class Spied:
    """The compiled module, noting who called the functions that compute answers."""

    def __init__(self, native, *names: str) -> None:
        self._native, self._names, self.stacks = native, names, []

    def __getattr__(self, name: str):
        compiled = getattr(self._native, name)
        if name not in self._names:
            return compiled

        def noted(*given, **named):
            self.stacks.append(callers(sys._getframe(1)))
            return compiled(*given, **named)

        return noted


def spy_on(module, monkeypatch: pytest.MonkeyPatch, *names: str) -> Spied:
    if module.native is None:
        pytest.skip("the compiled module is not built")
    spy = Spied(module.native, *names)
    monkeypatch.setattr(module, "native", spy)
    return spy


@pytest.fixture
def spied(monkeypatch: pytest.MonkeyPatch) -> Spied:
    return spy_on(compiled_plan, monkeypatch, "local_stage", "answer_single")


def test_every_list_of_the_page_is_followed_here():
    section = PAGE.split("## Call chains\n")[1].split("\n## ")[0]
    assert re.findall(r"^### (.+)$", section, re.MULTILINE) == list(CHAINS)


@pytest.mark.parametrize("chain", CHAINS)
def test_every_function_named_is_there_and_they_are_few(chain: str) -> None:
    hops = listed(chain)
    assert 5 < len(hops) <= CHAINS[chain]
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
    assert spied.stacks == [listed("predict, one vector")]


def test_several_queries_take_this_way(spied: Spied) -> None:
    X, y, Xq = problem(1)
    clf = given(12, n_jobs=1).fit(X, y)
    spied.stacks.clear()
    clf.predict(Xq)
    assert spied.stacks == [listed("predict, several vectors")]


def test_a_fit_takes_this_way(monkeypatch: pytest.MonkeyPatch) -> None:
    spy = spy_on(scoring, monkeypatch, "judge")
    X, y, _ = problem(1)
    KCRCClassifier(n_jobs=1, tuning_seconds=1).fit(X, y)
    assert {tuple(stack) for stack in spy.stacks} == {tuple(listed("fit"))}


def test_the_command_takes_this_way(spied: Spied, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    photos = folder(tmp_path / "photos", 4)
    Gallery.from_folder(photos, tmp_path / "birds.kcrc", feature="pixels").close()
    spied.stacks.clear()
    assert main(["predict", str(tmp_path / "birds.kcrc"), str(next(photos.rglob("*.jpg")))]) == 0
    assert spied.stacks[-1] == listed("kcrc predict, one image")


def test_a_page_request_takes_this_way(spied: Spied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("starlette")
    from kcrc.web.app import application, bind, server
    from kcrc.web.current import Batcher
    from kcrc.web.guard import Guard
    from kcrc.web.service import Service

    queued: list[list[str]] = []
    ask: Callable = Batcher.ask

    def noted(batcher, vectors, *, explain):
        queued.append([*callers(sys._getframe(1)), QUEUE])
        return ask(batcher, vectors, explain=explain)

    monkeypatch.setattr(Batcher, "ask", noted)
    photos = folder(tmp_path / "photos", 4)
    Gallery.from_folder(photos, tmp_path / "birds.kcrc", feature="pixels").close()
    service = Service(Gallery.open(tmp_path / "birds.kcrc"), note=lambda _: None)
    sock, ready = bind("127.0.0.1", 0), threading.Event()
    serving = server(application(service, Guard()), started=ready.set)
    thread = threading.Thread(target=serving.run, args=([sock],))
    thread.start()
    try:
        assert ready.wait(20)
        spied.stacks.clear()
        content = photo(tmp_path / "new.jpg", "wren", 50).read_bytes()
        where = f"http://127.0.0.1:{sock.getsockname()[1]}/api/classify"
        answer = httpx.post(where, content=content, headers={"content-type": "image/jpeg"}, trust_env=False, timeout=60)
        assert answer.status_code == 200
    finally:
        serving.should_exit = True
        thread.join(20)
    assert queued == [listed("A page request, up to the queue")]
    assert listed("A page request, from the queue to the answer") in spied.stacks
