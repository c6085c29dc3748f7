"""The collector of cycles rests while graphs are made, and runs again when all have been."""

from __future__ import annotations

import gc
import os
import threading

import pytest

import gnomon as gn
from gnomon.compiler import pipeline
from gnomon.ir.collector import paused


@pytest.fixture(autouse=True)
def running():
    """Each test begins and ends with a collector that runs."""
    assert gc.isenabled()
    yield
    assert gc.isenabled()


def test_pauses_lie_in_one_another_and_errors_end_them():
    def work() -> None:
        with paused():
            with paused():
                assert not gc.isenabled()
            assert not gc.isenabled()
            raise KeyError

    with pytest.raises(KeyError):
        work()
    assert gc.isenabled()


def test_a_collector_that_somebody_stopped_stays_stopped():
    gc.disable()
    try:
        with paused():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_it_rests_until_the_last_of_several_threads_is_done():
    inside, go_on = threading.Event(), threading.Event()

    def other() -> None:
        with paused():
            inside.set()
            go_on.wait()

    thread = threading.Thread(target=other)
    with paused():
        thread.start()
        inside.wait()
    assert not gc.isenabled()
    go_on.set()
    thread.join()
    assert gc.isenabled()


@pytest.mark.parametrize("whose", ["another thread's", "its own"])
def test_a_child_of_a_fork_is_in_nobody_s_pause(whose):
    inside, go_on = threading.Event(), threading.Event()

    def other() -> None:
        with paused():
            inside.set()
            go_on.wait()

    def fork() -> int:
        child = os.fork()
        if not child:
            os._exit(0 if gc.isenabled() else 3)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    if whose == "its own":
        with paused():
            assert fork() == 0
        return
    thread = threading.Thread(target=other)
    thread.start()
    inside.wait()
    assert fork() == 0
    go_on.set()
    thread.join()


def test_nothing_is_collected_while_a_program_is_compiled(monkeypatch):
    ran: list[bool] = []
    compiled = pipeline.kernels_of

    def kernels_of(*given):
        ran.append(gc.isenabled())
        return compiled(*given)

    monkeypatch.setattr(pipeline, "kernels_of", kernels_of)
    gn.compile(lambda x: (x @ x).softmax(-1).cos().sum() + 0.0123)(gn.ones(7, 7))

    assert ran
    assert not any(ran)
