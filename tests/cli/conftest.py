"""A folder with a gallery of made-up photographs, and the commands run in it."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from photos import folder

from kcrc.cli import main

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def built_birds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("birds")
    folder(where / "photos", 6)
    folder(where / "test", 2, first=50)
    with contextlib.chdir(where):
        assert main(["build", "photos", "-o", "birds.kcrc", "-f", "pixels"]) == 0
    return where


@pytest.fixture(scope="session")
def built_untuned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("untuned")
    folder(where / "photos", 4)
    with contextlib.chdir(where):
        assert main(["build", "photos", "-o", "birds.kcrc", "-f", "pixels", "--no-tune"]) == 0
    return where


@pytest.fixture
def home(built_birds: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with photos/, test/ and birds.kcrc in it, where the commands are run."""
    return _copied(built_birds, tmp_path, monkeypatch)


@pytest.fixture
def kcrc(home: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in ``home``: its exit code, stdout and stderr."""
    return _commands(capsys)


@pytest.fixture
def untuned(
    built_untuned: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    """The same beside photos/ and a birds.kcrc of a dozen of them, which has the usual parameters."""
    _copied(built_untuned, tmp_path, monkeypatch)
    return _commands(capsys)


def _copied(built: Path, to: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(built, to, dirs_exist_ok=True)
    monkeypatch.chdir(to)
    return to


def _commands(capsys: pytest.CaptureFixture[str]) -> Run:
    capsys.readouterr()

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(list(arguments))
        out = capsys.readouterr()
        return code, out.out, out.err

    return call
