"""Ctrl-C at moments that are chosen: in a destructor, and in the middle of a replay."""

import _thread
import signal
import subprocess
import sys
import time

import pytest

import gnomon as gn
from gnomon.capture import replay
from gnomon.interrupts import Whole, heed
from gnomon.runtime.buffer import DeviceBuffer, memory
from tests.counters import settled


class Interrupted:
    """Something that is interrupted as it dies."""

    def __init__(self):
        self.given = 0

    def give_back(self):
        """What a destructor does."""
        self.given += 1

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def die_and_wait(doomed):
    """Let go of something; the interrupt of its end ends the wait."""
    doomed.clear()
    time.sleep(20)


def work_whole(done):
    """Be interrupted before the work is done."""
    with Whole():
        signal.raise_signal(signal.SIGINT)
        done.append(True)


def test_an_interrupt_in_a_destructor_comes_again(monkeypatch):
    told = []
    monkeypatch.setattr("sys.unraisablehook", lambda lost: heed(lost, told.append))
    doomed = [Interrupted()]
    with pytest.raises(KeyboardInterrupt):
        die_and_wait(doomed)

    assert not told


BEFORE_THE_FIRST_KERNEL = """
import signal, time, weakref
import gnomon as gn

def forget(reference):
    signal.raise_signal(signal.SIGINT)

class Held:
    pass

held = Held()
reference = weakref.ref(held, forget)
try:
    del held
    time.sleep(20)
    print("lost")
except KeyboardInterrupt:
    print("came")
"""


def test_an_interrupt_in_a_callback_comes_again_before_anything_is_computed():
    command = [sys.executable, "-c", BEFORE_THE_FIRST_KERNEL]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)

    assert (ended.stdout.strip(), ended.stderr) == ("came", "")


class Hidden:
    """Something that is interrupted as it dies, and then fails."""

    def __del__(self):
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            raise ValueError("mine")


def test_an_interrupt_that_another_error_hides_in_a_destructor_comes_again(monkeypatch):
    told = []
    monkeypatch.setattr("sys.unraisablehook", lambda lost: heed(lost, lambda x: told.append(1)))
    doomed = [Hidden()]
    with pytest.raises(KeyboardInterrupt):
        die_and_wait(doomed)

    assert told == [1]


def test_an_error_in_a_destructor_sends_no_interrupt_that_is_handled_again(monkeypatch):
    told, sent = [], []
    monkeypatch.setattr("sys.unraisablehook", lambda lost: heed(lost, lambda x: told.append(1)))
    monkeypatch.setattr(_thread, "start_new_thread", lambda *what: sent.append(what))

    class Broken:
        def __del__(self):
            raise ValueError("mine")

    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        Broken()

    assert (told, sent) == ([1], [])


def test_what_else_a_destructor_raises_is_told(monkeypatch):
    class Broken:
        def __del__(self):
            raise ValueError("mine")

    told = []
    monkeypatch.setattr("sys.unraisablehook", lambda lost: heed(lost, lambda x: told.append(1)))
    Broken()

    assert told == [1]


def test_a_block_is_whole_and_the_interrupt_comes_at_its_end():
    done = []
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        work_whole(done)

    assert done == [True]
    assert signal.getsignal(signal.SIGINT) is before


def test_a_replay_changes_all_or_nothing(monkeypatch):
    first, second = gn.zeros(3), gn.zeros(40, 40)

    def stepped():
        first.add_(1)
        second.add_(1)

    fast = gn.compile(stepped)
    fast()

    place = replay.CapturedProgram._place

    def interrupted(*given):
        signal.raise_signal(signal.SIGINT)
        place(*given)

    monkeypatch.setattr(replay.CapturedProgram, "_place", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fast()
    monkeypatch.undo()

    assert (first[0].item(), second[0, 0].item()) == (2.0, 2.0)


def test_a_block_of_memory_is_given_back_once():
    before, made = settled().allocated, DeviceBuffer(100)
    made.__del__()
    del made

    assert memory.use().allocated == before
