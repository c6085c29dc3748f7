"""The tables of programs with choices and loops: the bits, the threads, the waits."""

from __future__ import annotations

from functools import partial
from itertools import cycle

import numpy as np
import pytest
from msgspec.structs import replace

import gnomon as gn
from gnomon.runtime.program import Call
from gnomon.settings import OPTIMISATIONS
from tests.compiled import execute, program, run, threads
from tests.controls import arrays, choice, folding, halving, loop, nested
from tests.oracle.graphs import exact
from tests.walks import Walk, recorded

MAKERS = {
    "loop": loop,
    "loop in reverse": partial(loop, reverse=True),
    "loop of one iteration": partial(loop, iterations=1),
    "loop of no iteration": partial(loop, iterations=0),
    "odd widths": partial(loop, iterations=5, width=17, rows=3),
    "choice": choice,
    "while": halving,
    "nested": nested,
    "folding": folding,
}


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", MAKERS)
def test_compiled_control_has_the_bits_of_the_oracle(name, sign):
    graph = MAKERS[name]()
    given = arrays(graph, sign)

    for mine, theirs in zip(run(graph, given), exact(graph, given), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", ["loop", "choice", "while", "nested", "folding"])
def test_passes_keep_lines_and_leave_nothing_open(name):
    graph = MAKERS[name]()

    for kernel in program(graph, verify=True).kernels:
        assert kernel.sites


@pytest.mark.parametrize("without", [*OPTIMISATIONS, ",".join(OPTIMISATIONS)])
@pytest.mark.parametrize("name", ["loop", "nested", "folding"])
def test_no_optimisation_changes_a_bit(name, without):
    graph = MAKERS[name]()
    given = arrays(graph)

    for mine, theirs in zip(run(graph, given, without=without), exact(graph, given), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize("name", ["odd widths", "choice", "while", "nested"])
def test_all_threads_take_the_same_way(name, count):
    graph = MAKERS[name]()
    given = arrays(graph)
    wanted = exact(graph, given)

    with threads(count):
        executable = program(graph)
        for _ in range(20):
            for mine, theirs in zip(execute(executable, graph, given), wanted, strict=True):
                np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("taken", [(True, False), (False, True), (True, True, False)])
@pytest.mark.parametrize("name", MAKERS)
def test_calls_that_run_at_the_same_time_touch_nothing_of_each_other(name, taken):
    executable, calls = recorded(MAKERS[name]())

    assert not Walk(executable.program.steps, calls, cycle(taken)).clashes()


def test_a_wait_that_is_missing_is_noticed():
    executable, calls = recorded(loop())
    steps = executable.program.steps
    waits = [k for k, step in enumerate(steps) if isinstance(step, Call) and step.barrier]

    def noticed(missing: int) -> bool:
        fewer = [replace(x, barrier=x.barrier and k != missing) for k, x in enumerate(steps)]
        return bool(Walk(tuple(fewer), calls, cycle([True])).clashes())

    # around loops and branches threads wait in any case
    assert sum(map(noticed, waits)) > len(waits) // 2


def test_kernels_are_listed_in_the_order_of_the_table():
    layer = gn.nn.LSTM(6, 5)
    step = gn.compile(lambda x: layer(x)[0].sum())
    step(gn.ones(4, 2, 6))

    for made in step.captured():
        steps = made.executable.program.steps
        called = [each.kernel for each in steps if isinstance(each, Call)]
        assert [kernel.code.symbol for kernel in made.executable.kernels] == called
