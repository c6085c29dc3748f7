"""Code at once, and measured code later: swapped in whole, only when faster, with the same bits."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
from gnomon.codegen.choices import Choice, candidates
from gnomon.compiler import autotuning, tiers
from gnomon.compiler.tiers import ROUNDS, MeasuringGate, Tiers
from gnomon.ir import memo
from gnomon.ir.node import Graph
from gnomon.ops.primitives import contract
from gnomon.program.executable import Executable
from gnomon.runtime import events
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.settings import override
from tests.schedule.kernels_of import graph, leaf
from tests.strategies import same_bits


@pytest.fixture(autouse=True)
def _nothing_decided(tmp_path):
    memo.clear()
    with override(cache_dir=str(tmp_path), keep_programs=True):
        yield


@pytest.fixture
def last_wins(monkeypatch):
    """Of all tiles of a product the last is said to be the quickest."""

    def measured(spec, machine, moments, end):
        with moments.measurement():
            shapes = candidates(spec, machine)
        times = [(shape, float(len(shapes) - k)) for k, shape in enumerate(shapes)]
        return Choice(shapes[-1], tuple(times), 0.0)

    monkeypatch.setattr(autotuning, "measure", measured)


def product(rows: int) -> Graph:
    """A product of its own size, so that no test finds the code of another."""
    x = leaf(rows, 40)
    return graph(contract("ab,bc->ac", x, x.arena.input((40, 56), x.dtype)))


def operands(made: Graph) -> list[DeviceBuffer]:
    """Numbers for its inputs."""
    rng = np.random.default_rng(0)
    return [DeviceBuffer.of(rng.normal(size=x.shape).astype(np.float32)) for x in made.inputs]


def clock(seconds: dict[int, float], found: Tiers) -> Callable[[], float]:
    """A clock that goes on by what a call of the tier that runs now is said to take."""
    now, begins = 0.0, True

    def timer() -> float:
        nonlocal now, begins
        now += 0.0 if begins else seconds[found.now.number]
        begins = not begins
        return now

    return timer


def followed(made: Graph, seconds: dict[int, float]) -> tuple[Tiers, list[np.ndarray]]:
    """Tiers after enough calls for a choice, and what each call gave."""
    found, given, results = Tiers(made, "f", (), 100.0), operands(made), []
    found.timer = clock(seconds, found)

    def call() -> None:
        results.append(found.now.run(given, [])[0].numpy(np.float32))

    call()
    assert found.now.number == 0
    found.wait()
    for _ in range(2 * ROUNDS):
        call()
    return found, results


@pytest.mark.usefixtures("last_wins")
@pytest.mark.parametrize(("seconds", "number"), [({0: 2.0, 1: 1.0}, 1), ({0: 1.0, 1: 2.0}, 0)])
def test_the_tier_that_is_faster_stays_and_no_bit_changes(seconds, number):
    told: list[str] = []
    stop = events.subscribe(lambda kind, fields: told.append(fields.get("name", "")))
    made, results = followed(product(90 + number), seconds)
    stop()

    assert made.now.number == number
    assert made.now.run == made.now.executable.run
    assert f"tier {number}: {1e3 * seconds[0]:.3g} ms by the model" in made.remark
    assert f"{1e3 * seconds[1]:.3g} ms with what was measured" in made.remark
    assert any(f"tier {number}:" in name for name in told)
    assert all(same_bits(result, results[0]) for result in results)


@pytest.mark.usefixtures("last_wins")
def test_a_first_call_runs_before_anything_is_measured(monkeypatch):
    begun = threading.Event()
    measure = autotuning.measure
    monkeypatch.setattr(autotuning, "measure", lambda *given: begun.set() or measure(*given))
    x, w = gn.ones(83, 40), gn.ones(40, 56)

    double = gn.compile(lambda: x @ w, mode="max-autotune")
    program_of = double.captured
    first = double()

    assert "tier 0 while tier 1 is measured" in double.explain() or begun.is_set()
    assert "measured in" in double.explain_gemm()
    for _ in range(2 * ROUNDS):
        assert same_bits(double().numpy(), first.numpy())
    (program,) = program_of()
    assert program.tiers.remark.startswith((", tier 0: ", ", tier 1: "))
    assert program.tiers.remark in double.explain()


def test_choices_that_change_nothing_are_not_tried():
    made, _ = followed(product(1), {0: 1.0, 1: 1.0})

    assert made.remark == ", tier 0: tier 1 is the same"


@pytest.mark.usefixtures("last_wins")
@pytest.mark.parametrize(("seconds", "rows"), [({0: 2.0, 1: 1.0}, 97), ({0: 1.0, 1: 2.0}, 96)])
@pytest.mark.parametrize("elsewhere", [False, True])
def test_what_was_kept_runs_at_once_another_time(monkeypatch, seconds, rows, elsewhere):
    graph = product(rows + 10 * elsewhere)
    first, _ = followed(graph, seconds)
    if elsewhere:
        memo.clear()

    again = Tiers(graph, "f", (), 100.0)

    assert again.now.executable.program.steps == first.now.executable.program.steps
    assert (again.thread, again.remark) == (None, ", measured before")


def test_without_being_asked_there_is_one_tier():
    made = Tiers(product(98), "f")

    assert (made.now.number, made.remark, made.thread) == (0, "", None)
    assert made.now.run == made.now.executable.run


def test_a_failure_leaves_the_first_tier_and_its_reason(monkeypatch):
    def refuse(*given):
        raise MemoryError("no room")

    monkeypatch.setattr(autotuning, "measure", refuse)

    made, _ = followed(product(99), {0: 1.0, 1: 1.0})

    assert made.remark == ", tier 0: tier 1 failed: no room"


@pytest.mark.usefixtures("last_wins")
def test_calls_of_many_threads_see_one_tier_or_the_other_and_the_same_bits():
    graph = product(101)
    made, given = Tiers(graph, "f", (), 100.0), operands(graph)
    results: list[np.ndarray] = []

    def call() -> None:
        for _ in range(4 * ROUNDS):
            tier = made.now
            assert isinstance(tier.executable, Executable)
            results.append(tier.run(given, [])[0].numpy(np.float32))

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made.wait()
    for _ in range(2 * ROUNDS):
        made.now.run(given, [])

    assert made.now.run == made.now.executable.run
    assert all(same_bits(result, results[0]) for result in results)


def test_calls_and_measurements_take_turns():
    gate, order = MeasuringGate(), []
    with gate.call():
        measuring = threading.Thread(target=lambda: measure_twice(gate, order))
        measuring.start()
        while not gate.asked:
            pass
        order.append("call")
    for _ in range(3):
        with gate.call():
            order.append("call")
    measuring.join()

    assert "".join(word[0] for word in order).startswith("cmc")
    assert order.count("measure") == 2


def measure_twice(gate: MeasuringGate, order: list[str]) -> None:
    """Two measurements."""
    for _ in range(2):
        with gate.measurement():
            assert not gate.calls
            order.append("measure")


def test_time_that_a_measurement_waits_is_not_its_own(monkeypatch):
    now = [10.0]
    monkeypatch.setattr(tiers, "perf_counter", lambda: now[0])
    gate = MeasuringGate()
    start = gate.clock()
    with gate.call():
        waiting = threading.Thread(target=lambda: measure_twice(gate, []))
        waiting.start()
        while not gate.asked:
            threading.Event().wait(0.001)
        now[0] += 5.0
    waiting.join()

    assert gate.clock() == start


@pytest.mark.usefixtures("last_wins")
def test_a_program_that_is_dropped_is_not_measured_to_the_end():
    graph = product(103)
    made = Tiers(graph, "f", (), 100.0)
    gate, thread, dropped = made.gate, made.thread, weakref.ref(made)
    made.now.run(operands(graph), [])

    del made
    gc.collect()
    thread.join()
    # the thread may have held it while it was looked for
    gc.collect()

    assert dropped() is None
    assert gate.closed


def test_after_a_fork_the_child_stays_with_what_runs():
    graph = product(104)
    made = Tiers(graph, "f", (), 100.0)
    made.gate.measuring = True

    tiers.forget_all()

    assert made.now.run == made.now.executable.run
    made.now.run(operands(graph), [])
    assert made.thread is None
