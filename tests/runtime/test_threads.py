"""The pool: any number of threads, barriers, sleep, forks, many callers, starting and stopping."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from gnomon.errors import ArgumentError
from gnomon.runtime import native, system, threads
from gnomon.runtime.program import ArenaSlot, Call, InputSlot, Needs, OutputSlot, Program
from tests.children import environment
from tests.house import ROOT
from tests.runtime.kernels import (
    add_text,
    addresses,
    increment_text,
    partial_text,
    program_of,
    total_text,
)

N, PARTS = 2048, 8


@pytest.fixture(autouse=True)
def same_threads_after():
    """Leave the number of threads as it was."""
    before = threads.get_num_threads()
    yield
    threads.set_num_threads(before)


def sum_program() -> Program:
    """out[0:16] = lane sums of a + b: three kernels, two barriers, one temporary."""
    texts = {
        "threads_add": add_text("threads_add", N),
        "threads_part": partial_text("threads_part", N, PARTS),
        "threads_total": total_text("threads_total", PARTS),
    }
    calls = [
        Call("threads_add", (ArenaSlot(0), InputSlot(0), InputSlot(1))),
        Call("threads_part", (ArenaSlot(4 * N), ArenaSlot(0)), barrier=True),
        Call("threads_total", (OutputSlot(0), ArenaSlot(4 * N)), barrier=True),
    ]
    return program_of(texts, calls, Needs(2, 1, 0, arena=4 * N + 64 * PARTS))


def run_sum(program: Program, a: np.ndarray, b: np.ndarray) -> bytes:
    """The bits of one run."""
    out = np.zeros(16, np.float32)
    program.run(addresses(a, b), addresses(out))
    return out.tobytes()


def expected_sum(a: np.ndarray, b: np.ndarray) -> bytes:
    """The same sum in numpy, in the same order."""
    parts = (a + b).reshape(PARTS, -1, 16)
    total = np.float32(-0.0)
    for part in parts:
        lanes = np.float32(-0.0)
        for row in part:
            lanes = lanes + row
        total = total + lanes
    return total.tobytes()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
def test_bits_do_not_depend_on_the_number_of_threads(rng, count):
    a, b = rng.standard_normal((2, N), np.float32)
    threads.set_num_threads(count)

    assert run_sum(sum_program(), a, b) == expected_sum(a, b)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_barrier_holds_back_every_thread_every_time(count):
    texts = {"threads_increment": increment_text("threads_increment")}
    there = Call("threads_increment", (OutputSlot(0), OutputSlot(1)), barrier=True)
    back = Call("threads_increment", (OutputSlot(1), OutputSlot(0)), barrier=True)
    steps, rounds = 200, 10
    program = program_of(texts, [there, back] * (steps // 2), Needs(0, 2))
    numbers = np.zeros((2, count), np.int64)
    threads.set_num_threads(count)

    for _ in range(rounds):
        program.run([], addresses(*numbers))

    assert numbers[0].tolist() == [steps * rounds] * count


def test_workers_that_went_to_sleep_wake_up(rng):
    a, b = rng.standard_normal((2, N), np.float32)
    program, count = sum_program(), 3
    threads.set_num_threads(count)
    assert run_sum(program, a, b) == expected_sum(a, b)
    pool = threads._pool

    wait_for(lambda: sleepers(pool) == count - 1)

    assert run_sum(program, a, b) == expected_sum(a, b)


def sleepers(pool: threads.Pool) -> int:
    """How many workers sleep."""
    return pool._block.numpy(np.int64)[native.SLEEPERS // 8]


def wait_for(condition) -> None:
    """Wait until something holds."""
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.005)
    pytest.fail("it never came about")


def test_callers_at_the_same_time_get_their_own_results(rng):
    inputs = rng.standard_normal((8, 2, N), np.float32)
    program, wrong = sum_program(), []
    threads.set_num_threads(2)

    def work(a: np.ndarray, b: np.ndarray, expected: bytes) -> None:
        for _ in range(50):
            if run_sum(program, a, b) != expected:
                wrong.append(1)

    callers = [threading.Thread(target=work, args=(a, b, expected_sum(a, b))) for a, b in inputs]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    assert not wrong


def test_the_number_of_threads_may_change_while_others_run(rng):
    a, b = rng.standard_normal((2, N), np.float32)
    program, expected, wrong, going = sum_program(), expected_sum(a, b), [], True

    def work() -> None:
        while going:
            if run_sum(program, a, b) != expected:
                wrong.append(1)

    callers = [threading.Thread(target=work) for _ in range(3)]
    for caller in callers:
        caller.start()
    for count in (2, 1, 4, 2, 3, 1, 2):
        threads.set_num_threads(count)
        time.sleep(0.01)
    going = False
    for caller in callers:
        caller.join()

    assert not wrong


def test_a_run_that_finds_the_pool_taken_runs_by_itself(rng):
    a, b = rng.standard_normal((2, N), np.float32)
    threads.set_num_threads(2)
    team = threads.acquire(1024)

    other = threads.acquire(1024)
    alone = run_sum(sum_program(), a, b)
    other.release()
    team.release()

    assert (team.threads, other.threads) == (2, 1)
    assert alone == expected_sum(a, b)


def test_scratch_memory_is_aligned_private_and_large_enough():
    threads.set_num_threads(3)
    for size in (100, 70_000, 300_000, 1_000):
        team = threads.acquire(size)
        team.release()

        assert team.stride >= size
        assert team.stride % 64 == team.scratch % 64 == 0


def test_no_threads_is_an_error():
    with pytest.raises(ArgumentError, match="at least one thread is needed: got 0"):
        threads.set_num_threads(0)


def test_the_default_is_one_thread_per_usable_core(monkeypatch):
    monkeypatch.setattr(threads, "_wanted", 0)

    assert threads.get_num_threads() == system.usable_cores()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_has_a_pool_of_its_own(rng):
    a, b = rng.standard_normal((2, N), np.float32)
    program, expected = sum_program(), expected_sum(a, b)
    threads.set_num_threads(2)
    assert run_sum(program, a, b) == expected

    child = os.fork()
    if child == 0:
        same = run_sum(program, a, b) == expected and threads._pool.threads == 2
        os._exit(0 if same else 1)
    status = status_of(child)

    assert os.waitstatus_to_exitcode(status) == 0
    assert run_sum(program, a, b) == expected


def status_of(child: int) -> int:
    """How a child ended; one that hangs is killed."""
    for _ in range(2000):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


@pytest.mark.parametrize("ending", ["", "sys.exit(0)", "threads.set_num_threads(4)"])
def test_a_process_with_a_pool_ends_quietly(ending):
    script = (
        "import sys\n"
        "from gnomon.runtime import threads\n"
        "from gnomon.runtime.program import Needs, Program\n"
        "threads.set_num_threads(3)\n"
        "Program([], {}, Needs()).run([])\n" + ending
    )

    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", script],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


FEWER = """
import sys, warnings
import numpy as np
from gnomon.runtime import threads
import gnomon as gn

class Full:
    # the system, which has no room for more threads than these
    left = int(sys.argv[1])
    def __getattr__(self, name):
        return getattr(real, name)
    def pthread_create(self, *arguments):
        Full.left -= 1
        return 11 if Full.left < 0 else real.pthread_create(*arguments)

real = threads.libc()
threads.libc = Full
gn.set_num_threads(4)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    x = gn.arange(300000, dtype=gn.float32)
    values = [float((x * k).sum()) for k in range(5)]

print([str(w.message) for w in told if w.category is RuntimeWarning], threads.start_pool().threads)
gn.set_num_threads(1)
assert values == [float((x * k).sum()) for k in range(5)]
"""


@pytest.mark.parametrize("left", [0, 1, 2])
def test_where_threads_cannot_be_started_those_that_can_run_everything(left):
    command = [sys.executable, "-c", FEWER, str(left)]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert (said.returncode, said.stderr) == (0, "")
    assert (
        f"threads: 4 were wanted, {left + 1} run: Resource temporarily unavailable." in said.stdout
    )
    assert said.stdout.endswith(f"] {left + 1}\n")


def test_an_interrupt_as_the_pool_starts_leaves_signals_and_the_pool_as_they_should_be(monkeypatch):
    threads.set_num_threads(2)
    block = signal.pthread_sigmask
    before = block(signal.SIG_BLOCK, ())

    def interrupted(how, mask):
        masked = block(how, mask)
        # as Python does with what came just before
        signal.getsignal(signal.SIGINT)(signal.SIGINT, None)
        return masked

    monkeypatch.setattr(signal, "pthread_sigmask", interrupted)
    with pytest.raises(KeyboardInterrupt):
        threads.start_pool()
    monkeypatch.undo()

    assert block(signal.SIG_SETMASK, before) == before
    assert threads._pool is threads.start_pool()
    assert threads._pool.threads == 2


def test_an_interrupt_as_the_pool_is_replaced_ends_its_workers_all_the_same(monkeypatch):
    threads.set_num_threads(2)
    pool, stop, stopped = threads.start_pool(), threads.Pool.stop, []

    def interrupted(pool, *given):
        signal.raise_signal(signal.SIGINT)
        stop(pool, *given)
        stopped.append(pool)

    monkeypatch.setattr(threads.Pool, "stop", interrupted)
    with pytest.raises(KeyboardInterrupt):
        threads.set_num_threads(3)
    monkeypatch.undo()

    assert stopped == [pool]
