from __future__ import annotations

import gc
import os
import signal
import sys

import numpy as np
import pytest

from images.features.onnx_files import attribute, described, encoded, good_onnx, model, node, outside, tensor
from kcrc.errors import DataError
from kcrc.files import box
from kcrc.files.box import Worker
from kcrc.images.features import make
from kcrc.images.network import onnx_apart, onnx_runtime
from kcrc.images.network.onnx_apart import ApartSession

pytest.importorskip("onnxruntime")
PICTURES = np.ones((2, 3, 8, 8), np.float32)


def one(operator: str, *attributes: list, inputs: list[str] | None = None, tensors: list | None = None) -> bytes:
    nodes = [node(operator, inputs or ["images"], ["y"], *attributes)]
    return encoded(model(nodes, tensors or [], [[(1, "y")]]))


def test_the_same_as_in_this_process():
    apart = ApartSession(good_onnx(), source="m.onnx", threads=1)
    here = onnx_runtime.Session(good_onnx(), source="m.onnx", threads=1)
    np.testing.assert_array_equal(apart.run(PICTURES), here.run(PICTURES))
    np.testing.assert_array_equal(apart.run(PICTURES[:1]), here.run(PICTURES[:1]))


@pytest.mark.parametrize("operator", ["DepthToSpace", "SpaceToDepth"])
def test_a_network_that_brings_onnxruntime_down_is_an_error(operator):
    content = one(operator, attribute("blocksize", 0, 2))
    with pytest.raises(DataError, match=r"m\.onnx"):
        ApartSession(content, source="m.onnx", threads=1).run(PICTURES)


def test_a_process_that_ends_is_an_error_and_the_next_picture_starts_another(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(good_onnx())
    feature = make("onnx", path=path, size=(8, 8))
    picture = np.full((8, 8, 3), 9, np.uint8)
    before = feature.transform([picture])
    session = feature._opened
    os.kill(session._worker._process.pid, signal.SIGSEGV)
    session._worker._process.wait()
    with pytest.raises(DataError, match=r"onnxruntime broke down over it \(SIGSEGV\)"):
        session.run(PICTURES)
    np.testing.assert_array_equal(feature.transform([picture]), before)


def test_memory_is_limited(monkeypatch):
    monkeypatch.setattr(onnx_apart, "MEMORY", 1 << 30)
    three_gigabytes = tensor("s", np.array([2_000_000, 1, 1, 1, 1]), 7)
    session = ApartSession(one("Expand", inputs=["images", "s"], tensors=[three_gigabytes]), source="m.onnx", threads=1)
    with pytest.raises(DataError, match=r"m\.onnx failed: .*allocat"):
        session.run(PICTURES)
    assert session.usable  # it is an error there as here


def test_time_is_limited(monkeypatch):
    session = ApartSession(good_onnx(), source="m.onnx", threads=1)
    monkeypatch.setattr(onnx_apart, "SECONDS", 0.2)
    os.kill(session._worker._process.pid, signal.SIGSTOP)
    with pytest.raises(DataError, match=r"more than 0\.2 seconds"):
        session.run(PICTURES)


def test_not_even_an_unaudited_network_reads_a_file(tmp_path, monkeypatch):
    """The process has given up to open files, so that the audit is not the only thing between a network and them."""
    (tmp_path / "secret.bin").write_bytes(np.arange(12, dtype="<f4").tobytes())
    monkeypatch.chdir(tmp_path)
    nodes = [node("GlobalAveragePool", ["images"], ["p"]), node("Flatten", ["p"], ["f"])]
    content = encoded(model([*nodes, node("MatMul", ["f", "w"], ["y"])], [outside()], [described("y", "n", 4)]))
    monkeypatch.setattr(onnx_runtime, "audit", lambda *_: None)
    assert onnx_runtime.Session(content, source="m.onnx").run(PICTURES).sum() > 0  # unaudited, here, it does read it
    (tmp_path / "unaudited.py").write_text(
        "from kcrc.images.network import onnx_runtime\n"
        "from kcrc.images.network.onnx_runtime import answer, prepare\n"
        "onnx_runtime.audit = lambda *_: None\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(onnx_apart, "Worker", lambda job, **options: Worker("unaudited", **options))
    assert ApartSession(good_onnx(), source="m.onnx").run(PICTURES).shape == (2, 3)
    with pytest.raises(DataError, match="cannot be used as an ONNX file"):
        ApartSession(content, source="m.onnx")


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="limits are read from /proc")
def test_the_process_has_given_up_files():
    session = ApartSession(good_onnx(), source="m.onnx", threads=1)
    with open(f"/proc/{session._worker._process.pid}/limits") as file:
        limits = {line[:26].strip(): line[26:].split()[:2] for line in file}
    assert limits["Max open files"] == ["0", "0"]
    assert limits["Max file size"] == ["0", "0"]
    assert limits["Max core file size"] == ["0", "0"]
    beyond = int(limits["Max data size"][0]) - onnx_apart.MEMORY - 4 * len(good_onnx())
    assert 0 < beyond < 1 << 30  # what it had before


def test_what_is_printed_there_does_not_get_between(capfd):
    ApartSession(good_onnx(), source="m.onnx", threads=1).run(PICTURES)
    with pytest.raises(DataError):
        ApartSession(one("Relu", inputs=["nothing"]), source="m.onnx")
    assert capfd.readouterr() == ("", "")


def test_the_process_ends_with_its_session():
    session = ApartSession(good_onnx(), source="m.onnx", threads=1)
    process = session._worker._process
    assert session.usable
    del session
    gc.collect()
    assert process.poll() is not None


def test_an_interrupted_question_leaves_no_answer_for_the_next(monkeypatch):
    session = ApartSession(good_onnx(), source="m.onnx", threads=1)

    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(box, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        session.run(PICTURES)
    session._worker._process.wait()
    assert not session.usable


def test_a_process_that_answers_nonsense_is_an_error(monkeypatch):
    started = box.subprocess.Popen
    talk = "import sys; sys.stdout.buffer.write({!r}); sys.stdout.flush(); sys.stdin.buffer.read()"
    ready = b"\2" + bytes(11) + b"{}"
    for answer in (
        b"\xff" * 12,
        ready,
        ready + b"\xff" * 12,
        ready + ready,
        ready + b"\2" + bytes(11) + b"[]",
        b"junk",
        b"",
    ):
        command = [sys.executable, "-c", talk.format(answer) if answer else "pass"]
        monkeypatch.setattr(box.subprocess, "Popen", lambda _, c=command, **options: started(c, **options))
        monkeypatch.setattr(onnx_apart, "SECONDS", 1.0)
        monkeypatch.setattr(box, "START", 1.0)
        with pytest.raises(DataError):
            ApartSession(good_onnx(), source="m.onnx")


def test_a_forked_process_starts_its_own():
    session = ApartSession(good_onnx(), source="m.onnx", threads=1)
    session._worker._owner += 1
    assert not session.usable


def test_names_out_of_a_file_do_not_make_an_error_endless():
    with pytest.raises(DataError) as raised:
        ApartSession(one("Relu", inputs=["x" * 9000]), source="m.onnx")
    assert len(str(raised.value)) < 700
