"""Threads of matrix products: calls that overlap share one limit, and leave the process as it was."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
from problems import given, problem
from threadpoolctl import ThreadpoolController, threadpool_limits

from kcrc._base import parallel
from kcrc._base.parallel import FOREIGN, blas_threads, chunk_after_chunk, one_blas_thread, over_chunks
from kcrc.method.distances.pixel import Manhattan

PATIENCE = 30.0  # seconds a thread waits for another before the test gives up


def numbers() -> set[int]:
    """The threads of all BLAS libraries of this process but faiss's, as threadpoolctl finds them."""
    libraries = ThreadpoolController().select(user_api="blas").info()
    found = [library["num_threads"] for library in libraries if FOREIGN not in library["filepath"]]
    assert found
    return set(found)


@pytest.fixture(autouse=True)
def two_threads():
    """Two BLAS threads around every test, however many cores there are."""
    with threadpool_limits(2, user_api="blas"):
        assert numbers() == {2}
        yield


def overlapping(share_out):
    """One call begins, another begins, the first ends, the second ends. What each saw while both were inside."""
    first_in, second_in, first_out = threading.Event(), threading.Event(), threading.Event()

    def first(part):
        first_in.set()
        assert second_in.wait(PATIENCE)
        return numbers()

    def second(part):
        second_in.set()
        assert first_out.wait(PATIENCE)
        return numbers()

    def begun_second():
        assert first_in.wait(PATIENCE)
        return share_out(second, 1, 1, 1)

    with ThreadPoolExecutor(2) as pool:
        later = pool.submit(begun_second)
        seen = pool.submit(share_out, first, 1, 1, 1).result(PATIENCE)
        first_out.set()
        return seen + later.result(PATIENCE)


@pytest.mark.parametrize("share_out", [over_chunks, chunk_after_chunk])
def test_calls_that_overlap_leave_the_threads_as_they_were(share_out):
    assert overlapping(share_out) == [{1}, {1}]
    assert numbers() == {2}


def test_predict_from_eight_threads_at_once_gives_the_same_answers():
    X, y, _ = problem(1, n=200, d=12)
    queries = np.random.default_rng(2).normal(size=(80, 12))
    for clf in (given(20), given(None), given(3, locality="classes"), given(20, form="gram", n_jobs=2)):
        clf.fit(X, y)
        labels, values = clf.predict(queries), clf.decision_function(queries)
        together = threading.Barrier(8)

        def asked(at, clf=clf, together=together):
            together.wait(PATIENCE)
            return [(clf.predict(queries[at::8]), clf.decision_function(queries[at::8])) for _ in range(5)]

        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(asked, range(8)))
        assert len(answers) == 8
        for at, rounds in enumerate(answers):
            for got_labels, got_values in rounds:
                np.testing.assert_array_equal(got_labels, labels[at::8])
                np.testing.assert_allclose(got_values, values[at::8], rtol=1e-7, atol=1e-10)
        assert numbers() == {2}


def test_a_call_that_fails_leaves_the_threads_as_they_were():
    X, y, _ = problem(3)

    @dataclass(frozen=True)
    class Broken(Manhattan):
        def pairwise(self, a, b):
            assert numbers() == {1}
            raise ZeroDivisionError("inside")

    clf = given(5, distance=Broken(), kernel="linear").fit(X, y)
    with pytest.raises(ZeroDivisionError, match="inside"):
        clf.predict_proba(X)  # asks its examples
    assert numbers() == {2}


def test_the_smallest_limit_inside_holds_and_each_is_given_back_in_turn():
    with blas_threads(2):
        with one_blas_thread():
            with blas_threads(2):
                assert numbers() == {1}
            assert numbers() == {1}
        assert numbers() == {2}
    assert numbers() == {2}


def test_what_somebody_else_sets_meanwhile_stays():
    with one_blas_thread():
        threadpool_limits(3, user_api="blas")  # not as a context: it is set from here on
        assert numbers() == {3}
    assert numbers() == {3}
    with one_blas_thread():
        threadpool_limits(2, user_api="blas")
        with one_blas_thread():
            assert numbers() == {1}
        assert numbers() == {1}
    assert numbers() == {2}


def test_a_library_that_has_fewer_threads_than_are_asked_for(monkeypatch):
    class Small:
        """At most two threads."""

        num_threads = 2

        def set_num_threads(self, number):
            self.num_threads = min(2, number)

    small = Small()
    monkeypatch.setattr(parallel, "_libraries", lambda: [small])
    with blas_threads(64):
        with one_blas_thread():
            assert small.num_threads == 1
        assert small.num_threads == 2
    assert small.num_threads == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
@pytest.mark.parametrize("inside", [False, True])
def test_a_child_process_wants_only_what_its_own_thread_wants(inside):
    """Another thread is inside a limit at the fork; it does not exist in the child, so nobody would ever leave."""
    entered, leave = threading.Event(), threading.Event()

    def elsewhere(part):
        entered.set()
        assert leave.wait(PATIENCE)

    def forked():
        """0 where the child sees one thread while its own call is inside, and two after it."""
        child = os.fork()
        if child:
            return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        os._exit(0 if numbers() == {1 if inside else 2} else 1)

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(over_chunks, elsewhere, 1, 1, 1)
        assert entered.wait(PATIENCE)
        if inside:
            with one_blas_thread():
                assert forked() == 0
        else:
            assert forked() == 0
        assert numbers() == {1}
        leave.set()
        other.result(PATIENCE)
    assert numbers() == {2}


def test_a_library_that_is_loaded_later_is_held_back_too():
    program = """
import kcrc._base.parallel, sys
with kcrc._base.parallel.one_blas_thread():
    assert "scipy.linalg" not in sys.modules
import scipy.linalg
from threadpoolctl import threadpool_info
with kcrc._base.parallel.one_blas_thread():
    print(sorted({one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[1]"
