"""Processes that are started together, and how one that fails is told of."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import sys
import time

import pytest

import gnomon as gn
import gnomon.multiprocessing as mp
from gnomon.multiprocessing.spawning import ProcessContext, begin, spawn


def add(k: int, total) -> None:
    """Add a process's number to a tensor."""
    total[k] += k + 1


def fail(k: int, how: str) -> None:
    """End badly in the second process, while the others wait."""
    if k != 1:
        time.sleep(60)
    if how == "raise":
        raise ValueError(f"bad {k}")
    if how == "exit":
        sys.exit(7)
    os.kill(os.getpid(), signal.SIGKILL)


def test_processes_are_counted_and_waited_for():
    total = gn.zeros(3).share_memory_()

    assert mp.start_processes(add, (total,), nprocs=3, start_method="fork") is None
    assert total.tolist() == [1, 2, 3]


def test_an_error_comes_with_its_traceback_and_ends_the_others():
    with pytest.raises(
        mp.ProcessRaisedException, match=r"(?s)Process 1 term.*ValueError: bad 1"
    ) as e:
        mp.start_processes(fail, ("raise",), nprocs=2, start_method="fork")

    assert e.value.error_index == 1
    again = pickle.loads(pickle.dumps(e.value))
    assert (again.msg, again.error_index, again.error_pid) == (
        *(e.value.msg, 1),
        e.value.error_pid,
    )


def fail_at_once(k: int, begun) -> None:
    """Fail as soon as all have begun."""
    begun.wait(60)
    raise ValueError(f"bad {k}")


def test_nothing_is_left_where_all_fail():
    begun = mp.get_context("fork").Barrier(3)
    context = mp.start_processes(fail_at_once, (begun,), 3, join=False, start_method="fork")
    for process in context.processes:
        process.join(60)
    with pytest.raises(mp.ProcessRaisedException, match="ValueError: bad"):
        context.join()

    assert not any(map(os.path.exists, context.error_files))


@pytest.mark.parametrize(
    ("how", "said", "code", "name"),
    [("exit", "exit code 7", 7, None), ("kill", "signal SIGKILL", -9, "SIGKILL")],
)
def test_codes_and_signals_are_told(how: str, said: str, code: int, name: str | None):
    with pytest.raises(mp.ProcessExitedException, match=f"^process 1 terminated with {said}$") as e:
        mp.start_processes(fail, (how,), nprocs=2, start_method="fork")

    found = pickle.loads(pickle.dumps(e.value))
    assert (found.exit_code, found.signal_name, found.error_index) == (code, name, 1)


def test_who_does_not_wait_gets_the_processes():
    total = gn.zeros(2).share_memory_()
    context = mp.start_processes(add, (total,), nprocs=2, join=False, start_method="fork")

    assert isinstance(context, mp.ProcessContext)
    assert len(set(context.pids())) == 2
    while not context.join(timeout=60):
        pass
    assert context.join()
    assert total.tolist() == [1, 2]
    assert not any(map(os.path.exists, context.error_files))


def test_an_interrupt_is_no_failure(tmp_path):
    def interrupted(k: int) -> None:
        raise KeyboardInterrupt

    assert begin(interrupted, 0, (), str(tmp_path / "told")) is None
    assert not list(tmp_path.iterdir())


def test_older_words_are_warned_of():
    with pytest.warns(UserWarning, match="renamed to ProcessContext"):
        assert mp.SpawnContext([], []).join()
    with pytest.warns(FutureWarning, match="only supports start_method=spawn"):
        assert spawn(add, nprocs=0, start_method="fork") is None
    assert ProcessContext([], []).pids() == []


def test_names_are_pythons_and_strategies_are_named():
    assert set(multiprocessing.__all__) <= set(mp.__all__)
    assert mp.get_context("fork").Process is not mp.Process
    assert mp.get_all_sharing_strategies() == {"file_descriptor", "file_system"}
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(ValueError, match="there is no 'fast'"):
        mp.set_sharing_strategy("fast")
