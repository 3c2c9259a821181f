"""The container: its command is one that ``kcrc serve`` understands, and it is built from the sources alone."""

from __future__ import annotations

import fnmatch
import json
import re
from pathlib import Path

import pytest

from kcrc.cli.serve import serve

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Containerfile").read_text("utf-8")


def listed(instruction: str) -> list[str]:
    (found,) = re.findall(rf"^{instruction} (\[.*\])$", TEXT, re.M)
    return json.loads(found)


def test_its_command_is_understood():
    program, command, *arguments = listed("ENTRYPOINT") + listed("CMD")
    assert (program, command) == ("kcrc", "serve")
    context = serve.make_context("kcrc serve", list(arguments))  # click refuses here what it does not know
    assert context.params["expose"]
    assert context.params["host"] == "0.0.0.0"
    assert f"EXPOSE {context.params['port']}\n" in TEXT
    assert f":{context.params['port']} " in TEXT


def test_its_extras_are_there():
    import tomllib

    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (extras,) = re.findall(r"\.whl\)\[([\w,]+)\]", TEXT)
    assert set(extras.split(",")) <= set(known)


PATTERNS = [line for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line and line[0] != "#"]


def left_out(path: str) -> bool:
    """Whether a file, or a folder it is in, is left out: ``**/`` is any folder, ``*`` stays within one."""
    parts = path.split("/")
    for depth in range(1, len(parts) + 1):
        head = "/".join(parts[:depth])
        for pattern in PATTERNS:
            anywhere = pattern.removeprefix("**/")
            if fnmatch.fnmatchcase(parts[depth - 1] if anywhere != pattern or depth == 1 else head, anywhere):
                return True
    return False


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".venv/bin/python",
        ".venv-lowest/x",
        "src/kcrc/__pycache__/a.pyc",
        "dist/kcrc.whl",
        "bench-out/x",
        "src/kcrc/native/_native.cpython-311-x86_64-linux-gnu.so",
        "src/kcrc.egg-info/PKG-INFO",
        ".mypy_cache/x",
    ],
)
def test_what_is_not_copied_into_it(path):
    assert left_out(path)


def test_what_it_is_built_from_is_copied():
    needed = ["pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE", "src/kcrc/__init__.py"]
    assert not [path for path in [*needed, "src/kcrc/native/kernels/level.cpp"] if left_out(path)]
