"""The box: what a worker may take and do, and what becomes of the program when one goes over it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
import time
import weakref

import pytest

from kcrc.errors import DataError, StateError
from kcrc.files.box import Broken, Worker, WorkerPool
from kcrc.files.boxed import receive, send

JOB, MB = "files.box_job", 1_000_000
LIMITS = {"clock": 60.0, "limit": 10 * MB}
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="the system does not enforce it")


@pytest.fixture
def worker():
    one = Worker(JOB, memory=200 * MB)
    yield one
    one.close()


def test_a_worker_answers(worker):
    head, content = worker.ask({"do": "echo", "say": "é"}, b"abcdef", **LIMITS)
    assert (head, bytes(content)) == ({"said": "é"}, b"abcdef")
    head, content = worker.ask({"do": "echo", "say": 2}, **LIMITS)
    assert (head, bytes(content)) == ({"said": 2}, b"")
    assert worker.is_usable


def test_words_of_the_job_are_an_error_and_the_worker_goes_on(worker):
    with pytest.raises(DataError, match="it is not what it should be"):
        worker.ask({"do": "fail"}, **LIMITS)
    assert worker.ask({"do": "echo", "say": 1}, **LIMITS)[0] == {"said": 1}


@pytest.mark.skipif(os.name != "posix", reason="there is no such timer")
def test_seconds_of_computing_are_limited(worker):
    with pytest.raises(Broken) as caught:
        worker.ask({"do": "loop"}, seconds=0.2, **LIMITS)
    assert caught.value.reason == "time"
    assert not worker.is_usable


def test_seconds_on_the_clock_are_limited(worker):
    with pytest.raises(Broken) as caught:
        worker.ask({"do": "sleep", "seconds_asleep": 60}, clock=0.2, limit=0)
    assert caught.value.reason == "time"
    assert not worker.is_usable


@LINUX
def test_what_takes_long_loses_its_priority():
    worker = Worker(JOB, memory=200 * MB, yields=True)
    with pytest.raises(Broken):
        worker.ask({"do": "loop"}, seconds=1.5, **LIMITS)
    assert worker.is_slowed


@LINUX
def test_memory_is_limited(worker):
    worker.ask({"do": "take", "bytes": 150 * MB}, **LIMITS)
    with pytest.raises(Broken) as caught:
        worker.ask({"do": "take", "bytes": 250 * MB}, **LIMITS)
    assert caught.value.reason == "memory"
    assert worker.ask({"do": "echo", "say": 1}, **LIMITS)[0] == {"said": 1}


def test_what_is_given_back_is_limited(worker):
    assert len(worker.ask({"do": "give", "bytes": MB}, clock=60.0, limit=MB)[1]) == MB
    with pytest.raises(Broken):
        worker.ask({"do": "give", "bytes": MB + 1}, clock=60.0, limit=MB)
    assert not worker.is_usable


@pytest.mark.skipif(os.name != "posix", reason="signals are of POSIX")
def test_a_crash_is_the_workers_alone(worker):
    with pytest.raises(Broken, match="SIGSEGV") as caught:
        worker.ask({"do": "crash"}, **LIMITS)
    assert caught.value.reason == "ended"


def test_a_job_that_cannot_begin_is_one_error():
    with pytest.raises(Broken) as caught:
        Worker(JOB, "broken", memory=MB).ask({"do": "echo", "say": 1}, **LIMITS)
    assert caught.value.reason == "ended"


def test_a_program_that_does_not_know_its_python_says_so(monkeypatch):
    monkeypatch.setattr(sys, "executable", "")
    with pytest.raises(StateError, match="does not know its Python"):
        Worker(JOB, memory=MB)


@LINUX
def test_a_worker_opens_no_file_and_no_connection_and_starts_nothing(worker, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("text")
    sleeper = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        told, _ = worker.ask({"do": "forbidden", "path": str(secret), "process": sleeper.pid}, **LIMITS)
        harmless = set() if platform.machine() == "x86_64" else {"remove", "rename", "signal", "fork"}
        assert set(told["worked"]) <= harmless
        assert secret.read_text() == "text"
        assert sleeper.poll() is None
    finally:
        sleeper.communicate(b"\n")


@LINUX
def test_a_worker_inherits_its_pipes_and_a_few_variables_alone(monkeypatch, tmp_path):
    monkeypatch.setenv("PGPASSWORD", "secret")
    with open(tmp_path / "a", "w") as file:
        os.set_inheritable(file.fileno(), True)
        worker = Worker(JOB, memory=200 * MB)
        told, _ = worker.ask({"do": "descriptors"}, **LIMITS)
    assert len(told["open"]) <= 4  # the two pipes, and where the other two led
    names = worker.ask({"do": "modules"}, **LIMITS)[0]["environment"]
    assert "PGPASSWORD" not in names
    worker.close()


@pytest.mark.parametrize("job", ["kcrc.files.boxed", "kcrc.images.decoding.worker"])
def test_a_worker_waits_for_no_large_package(job):
    code = f"import {job}, sys; print(*{{name.split('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "scipy", "sklearn", "pandas", "onnxruntime", "pyarrow"} & set(done.stdout.split())


def test_messages_end_where_they_say():
    read, write = os.pipe()
    with os.fdopen(write, "wb", buffering=0) as out, os.fdopen(read, "rb", buffering=0) as stream:
        send(out, {"a": 1}, 3, [b"ab", b"c"])
        send(out, {}, 9, [b"longer"])
        out.close()
        assert receive(stream, limit=3) == ({"a": 1}, b"abc")
        with pytest.raises(DataError, match="may have 3 bytes; got one of 2 and 9"):
            receive(stream, limit=3)
        stream.read()
        assert receive(stream, limit=3) is None


def test_a_box_keeps_some_workers_and_replaces_those_that_ended(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 1)
    box = WorkerPool(JOB, memory=lambda: 200 * MB, most=2)
    box.ask({"do": "echo", "say": 1}, **LIMITS)
    (first,) = box._idle
    box.ask({"do": "echo", "say": 1}, **LIMITS)
    assert box._idle == [first]
    first._process.kill()
    first._process.wait()
    assert box.ask({"do": "echo", "say": 2}, **LIMITS)[0] == {"said": 2}  # it was not in the middle of anything
    assert first not in box._idle


def test_a_box_has_no_more_than_so_many_workers():
    box = WorkerPool(JOB, memory=lambda: 200 * MB, most=2)
    started, lock = [], threading.Lock()
    plain = box._start

    def counted() -> Worker:
        with lock:
            started.append(1)
        return plain()

    box._start = counted
    threads = [
        threading.Thread(target=box.ask, args=({"do": "sleep", "seconds_asleep": 0.1},), kwargs=LIMITS)
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= len(started) <= 8
    assert box._room._value == 2


def test_a_worker_that_was_started_ahead_is_the_one_that_answers():
    box = WorkerPool(JOB, memory=lambda: 200 * MB)
    box.warm()
    (first,) = box._idle
    box.ask({"do": "echo", "say": 1}, **LIMITS)
    assert first in box._idle


def test_another_limit_of_memory_is_another_worker():
    limits = [200 * MB]
    box = WorkerPool(JOB, memory=lambda: limits[0])
    box.ask({"do": "echo", "say": 1}, **LIMITS)
    limits[0] = 100 * MB
    box.ask({"do": "echo", "say": 1}, **LIMITS)
    assert [worker.memory for worker in box._idle] == [100 * MB]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_process_has_workers_of_its_own():
    box = WorkerPool(JOB, memory=lambda: 200 * MB)
    box.ask({"do": "echo", "say": 1}, **LIMITS)
    (mine,) = box._idle
    child = os.fork()
    if child == 0:
        code = 1
        try:
            fine = not mine.is_usable and box._idle == []
            code = 0 if fine and box.ask({"do": "echo", "say": 2}, **LIMITS)[0] == {"said": 2} else 2
        finally:
            for worker in box._idle:
                worker.close()
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert box.ask({"do": "echo", "say": 3}, **LIMITS)[0] == {"said": 3}
    assert box._idle == [mine]


def test_a_worker_ends_with_the_object():
    worker = Worker(JOB, memory=200 * MB)
    worker.ask({"do": "echo", "say": 1}, **LIMITS)
    process, gone = worker._process, weakref.ref(worker)
    del worker
    assert gone() is None
    assert process.wait(20) != 0


SCRIPT = """
import numpy as np, io, sys
from PIL import Image
from kcrc.images.decoding.reading import decode
out = io.BytesIO()
Image.fromarray(np.zeros((4, 5, 3), np.uint8)).save(out, "PNG")
print(decode(out.getvalue()).pixels.shape)
"""


def test_a_script_needs_no_main_guard(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("(4, 5, 3)\n", "")


def test_a_program_that_is_killed_leaves_no_worker(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        SCRIPT
        + "from kcrc.images.decoding import decoder\nprint(decoder._workers(())._idle[0].pid, flush=True)\ninput()\n"
    )
    program = subprocess.Popen([sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdout is not None
    program.stdout.readline()
    worker = int(program.stdout.readline())
    program.kill()
    program.communicate()
    until = time.monotonic() + 20
    while boxes_alive(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not boxes_alive(worker)


def boxes_alive(process: int) -> bool:
    from processes import alive

    return alive(process) if sys.platform == "linux" else False
