"""Forks while other threads compute, and threads that do everything; at length: stress.py."""

import multiprocessing
import subprocess
import sys
import threading

import pytest

import gnomon as gn
from gnomon.forking import cached_property, give_all, held, take_all
from gnomon.utils.data import DataLoader, TensorDataset


def stress(kind: str, seconds: float, seed: int = 0) -> str:
    """What a stress test says in a process of its own."""
    command = [sys.executable, "-m", "tests.stress", kind, f"--seconds={seconds}", f"--seed={seed}"]
    made = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert made.returncode == 0, made.stderr[-3000:]
    return made.stdout


# moments by chance: what these find becomes a small fixed test


@pytest.mark.long
def test_children_of_a_process_whose_threads_compile_compute_the_same():
    assert "children" in stress("forks", 3)


@pytest.mark.long
def test_threads_trace_compile_train_and_draw_the_same():
    assert "tasks in 4 threads" in stress("threads", 2)


@pytest.mark.long
def test_ctrl_c_arrives_and_leaves_what_it_finds_whole():
    assert "times, the slowest" in stress("interrupts", 5)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["forks", "threads", "interrupts"])
def test_for_a_minute(kind):
    stress(kind, 60, seed=1)


def test_a_fork_has_all_locks_or_none():
    lock, order = held(threading.Lock()), []
    lock.acquire()
    waiting = threading.Thread(target=lambda: (take_all(), order.append("taken"), give_all()))
    waiting.start()
    order.append("given")
    lock.release()
    waiting.join(20)

    assert order == ["given", "taken"]
    assert lock.acquire(blocking=False)
    lock.release()


def test_a_property_is_computed_once():
    class Counted:
        asked = 0

        @cached_property
        def number(self) -> int:
            """How often this was asked."""
            self.asked += 1
            return self.asked

    counted = Counted()

    assert [counted.number, counted.number] == [1, 1]


def doubled(rows: list[float]) -> list[float]:
    """What a process of a pool computes."""
    return gn.compile(lambda x: x * 2)(gn.tensor(rows)).tolist()


def test_a_pool_of_forked_processes_computes():
    assert gn.compile(lambda x: x * 2)(gn.ones(2)).tolist() == [2.0, 2.0]

    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(doubled, [[1.0], [2.0, 3.0]]) == [[2.0], [4.0, 6.0]]


def test_loader_workers_start_while_another_thread_computes():
    stop = threading.Event()

    def compute():
        while not stop.is_set():
            (gn.rand(64, 64) @ gn.rand(64, 64)).sum().item()

    thread = threading.Thread(target=compute, daemon=True)
    thread.start()
    loader = DataLoader(TensorDataset(gn.arange(12.0)), batch_size=4, num_workers=2)

    assert [batch[0].tolist()[0] for batch in loader] == [0.0, 4.0, 8.0]
    stop.set()
    thread.join(20)
