"""Processes that compile: the same bytes, errors, death, idleness, the end of the parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from gnomon.errors import CompileError
from gnomon.runtime import device, worker, workers
from tests.children import environment
from tests.runtime.kernels import add_text


def compile_all(requests: list[workers.Request], processes: int) -> list[bytes]:
    """Object code of each request."""
    line = workers.RequestQueue(processes)
    for asked in requests:
        line.add(asked)
    return line.finish()


def request(text: str) -> workers.Request:
    """A request for this machine."""
    target = device.host()
    return text, target.triple, target.cpu, target.features, 2, 0


@pytest.fixture
def eager(monkeypatch):
    """Start processes however little there is to do, and leave none behind."""
    workers.stop_all()
    monkeypatch.setattr(workers, "ENOUGH", 1)
    yield
    workers.stop_all()


def test_processes_give_the_bytes_that_this_one_gives(eager):
    requests = [request(add_text(f"k{k}", 64 * (1 + k))) for k in range(12)]

    together = compile_all(requests, 3)

    assert together == [worker.compile_text(*asked) for asked in requests]


def test_a_process_answers_exactly_what_this_one_answers():
    asked = request(add_text("k", 320))
    process = workers.CompileWorker()

    answers = [process.ask(asked), process.ask(request("nonsense"))]

    assert answers == [worker.answer(asked), worker.answer(request("nonsense"))]
    assert process.stop() == 0


def test_little_work_starts_no_process():
    workers.stop_all()

    compile_all([request(add_text(f"k{k}", 64)) for k in range(3)], 4)

    assert workers._idle == []


def test_processes_are_used_again(eager):
    requests = [request(add_text(f"k{k}", 64)) for k in range(4)]

    compile_all(requests, 2)
    first = [process.process.pid for process in workers._idle]
    compile_all(requests, 2)

    assert [process.process.pid for process in workers._idle] == first


def test_a_text_that_llvm_refuses_is_an_error_with_its_reason(eager):
    with pytest.raises(CompileError, match="expected"):
        compile_all([request("define void @k( {"), request(add_text("k", 64))], 2)


def test_a_process_that_dies_is_an_error_and_not_the_end(eager):
    process = workers.CompileWorker()
    os.kill(process.process.pid, signal.SIGKILL)

    answer = process.ask(request(add_text("k", 64)))

    assert answer == (b"", f"the code generator died of signal {int(signal.SIGKILL)}")


def test_a_process_that_left_idle_is_done_without(eager, monkeypatch, tmp_path):
    (tmp_path / "idle.py").write_text("")
    monkeypatch.setattr(worker, "__file__", str(tmp_path / "idle.py"))
    workers.release(workers.CompileWorker())
    requests = [request(add_text(f"k{k}", 64)) for k in range(3)]

    made = compile_all(requests, 2)

    assert made == [worker.compile_text(*asked) for asked in requests]


def test_a_script_without_a_main_guard_can_use_processes_and_leaves_none(tmp_path):
    script = tmp_path / "cache.py"
    script.write_text(
        "from gnomon.runtime import workers\n"
        "from tests.runtime.kernels import add_text\n"
        "from tests.runtime.test_workers import compile_all, request\n"
        "workers.ENOUGH = 1\n"
        "asked = [request(add_text(f'k{k}', 64)) for k in range(4)]\n"
        "print(len(compile_all(asked, 2)), workers._idle[0].process.pid)\n"
    )

    done = subprocess.run(
        [sys.executable, "-W", "error", script],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.stderr == ""
    made, process = done.stdout.split()
    assert made == "4"
    with pytest.raises(ProcessLookupError):
        os.kill(int(process), 0)


def test_processes_begin_before_all_is_asked_for(eager):
    line = workers.RequestQueue(2)
    for k in range(3):
        line.add(request(add_text(f"k{k}", 64)))
    (thread,) = line.threads
    while any(answer is None for answer in line.answers):
        thread.join(0.01)

    assert len(line.finish()) == 3


def test_a_line_that_is_given_up_leaves_its_processes_free(eager):
    line = workers.RequestQueue(2)
    for k in range(2):
        line.add(request(add_text(f"k{k}", 64)))

    line.close()
    line.threads[0].join()

    assert len(workers._idle) == 1


def test_a_process_that_was_called_early_takes_part():
    workers.stop_all()
    line = workers.RequestQueue(2)
    line.prepare()
    line.prepare()
    assert len(line.threads) == 1
    asked = request(add_text("k", 64))
    line.add(asked)

    assert line.finish() == [worker.compile_text(*asked)]
    workers.stop_all()


def test_one_process_alone_calls_nobody():
    line = workers.RequestQueue(1)
    line.prepare()

    assert line.threads == []
    assert line.finish() == []


def test_ctrl_c_waits_until_llvm_has_compiled(monkeypatch: pytest.MonkeyPatch):
    done: list[str] = []

    def answer(request: workers.Request) -> workers.CompilerAnswer:
        signal.raise_signal(signal.SIGINT)
        done.append(request[0])
        return b"code", ""

    monkeypatch.setattr(worker, "answer", answer)
    with pytest.raises(KeyboardInterrupt):
        workers.compile_here(request("text"))

    assert len(done) == 1
