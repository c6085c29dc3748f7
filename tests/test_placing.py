"""Compiled choices and loops: the bits of the oracle, on any number of threads."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from gnomon.codegen.python import exact
from tests.compiled import execute, program, run, threads
from tests.controls import arrays, choice, halving, loop, nested

MAKERS = {
    "loop": loop,
    "loop in reverse": partial(loop, reverse=True),
    "loop of one turn": partial(loop, turns=1),
    "loop of no turn": partial(loop, turns=0),
    "odd widths": partial(loop, turns=5, width=17, rows=3),
    "choice": choice,
    "while": halving,
    "nested": nested,
}


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("name", MAKERS)
def test_compiled_control_has_the_bits_of_the_oracle(name, sign):
    graph = MAKERS[name]()
    given = arrays(graph, sign)

    for mine, theirs in zip(run(graph, given), exact(graph, given), strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("name", ["loop", "choice", "while", "nested"])
def test_passes_keep_lines_and_leave_nothing_open(name):
    graph = MAKERS[name]()

    for kernel in program(graph, verify=True).kernels:
        assert kernel.sites


@pytest.mark.parametrize("settings", [{"fuse": False}, {"claim": False}])
@pytest.mark.parametrize("name", ["loop", "nested"])
def test_no_setting_changes_a_bit(name, settings):
    graph = MAKERS[name]()
    given = arrays(graph)

    for mine, theirs in zip(run(graph, given, **settings), exact(graph, given), strict=True):
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
