from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kcrc.images.decoding.limits import Budget


def test_what_is_held_at_once_stays_within_the_budget():
    budget, held, most, lock = Budget(lambda: 100), 0, 0, threading.Lock()

    def work(needed: int) -> None:
        nonlocal held, most
        with budget.hold(needed):
            with lock:
                held += needed
                most = max(most, held)
            with lock:
                held -= needed

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, [30, 50, 20, 70, 10, 100, 40] * 60))
    assert 0 < most <= 100


def test_one_goes_ahead_even_if_it_alone_is_more_than_the_budget():
    budget = Budget(lambda: 10)
    with budget.hold(50):
        assert budget._held == 50
    assert budget._held == 0


def test_a_large_one_is_not_passed_over_by_small_ones_that_ask_later():
    budget, order = Budget(lambda: 100), []
    first, asked = threading.Event(), threading.Event()

    def holds_first() -> None:
        with budget.hold(60):
            first.set()
            asked.wait(20)

    def then(name: str, needed: int) -> None:
        with budget.hold(needed):
            order.append(name)

    threads = [threading.Thread(target=holds_first)]
    threads[0].start()
    assert first.wait(20)
    for name, needed in (("large", 90), ("small", 10)):
        threads.append(threading.Thread(target=then, args=(name, needed)))
        threads[-1].start()
        while len(budget._queue) < len(threads) - 1:
            pass
    asked.set()
    for thread in threads:
        thread.join(20)
    assert order == ["large", "small"]


def test_what_fails_gives_back_what_it_held():
    budget = Budget(lambda: 10)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError), budget.hold(10):
            _ = 1 / 0
    with budget.hold(10):
        assert budget._held == 10
    assert budget._held == 0


def test_a_total_that_cannot_be_known_leaves_nobody_waiting():
    def total() -> int:
        raise ZeroDivisionError

    budget = Budget(total)
    with budget.hold(1):  # nobody else holds anything: the total is not asked for
        with ThreadPoolExecutor(1) as pool, pytest.raises(ZeroDivisionError):
            pool.submit(budget.hold(1).__enter__).result(20)
        assert not budget._queue


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_holds_nothing_of_its_parents():
    budget = Budget(lambda: 10)
    with budget.hold(10):
        child = os.fork()
        if child == 0:
            with budget.hold(10):
                os._exit(0 if budget._held == 10 else 1)
        assert os.waitpid(child, 0)[1] == 0
