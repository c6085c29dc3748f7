"""Values of a program's memory live from the call that makes them to the last that reads them."""

from __future__ import annotations

import gnomon as gn
from gnomon.compiler.build import compile_graph
from gnomon.compiler.target import context
from gnomon.program.liveness import values_of
from gnomon.settings import override
from tests.bench.tiny import program_of
from tests.program.test_listing import small_model


def test_a_value_lives_from_its_making_to_its_last_reading():
    made = compile_graph(small_model(), context())
    values = values_of(made.block)

    assert values
    assert sum(v.nbytes for v in values) >= 4 * 6 * 7
    for value in values:
        assert 0 <= value.first <= value.last < len(made.kernels)
        makers = [k for k, x in enumerate(made.kernels) if value.node in x.buffers[: x.outputs]]
        assert makers == [value.first]


def test_a_loop_is_a_value_with_memory_for_its_iterations():
    def f(x):
        with override(without="fuse"):
            y = x * 3
            return gn.while_loop(lambda y: y.sum() < 90, lambda y: (y * 2,), (y,))[0] - 1

    compiled = gn.compile(f)
    compiled(gn.ones(40))
    ((_, program),) = next(iter(compiled.programs.values()))
    block = program.executable.block

    assert max(v.nbytes for v in values_of(block)) >= 2 * 4 * 40
    assert max(v.last for v in values_of(block)) < len(list(block.kernels()))


def test_values_alive_together_are_as_many_as_the_plan_needs(tmp_path, monkeypatch):
    executable = program_of("lce", tmp_path, monkeypatch).executable
    values = values_of(executable.block)

    alive = [
        sum(v.nbytes for v in values if v.first <= call <= v.last)
        for call in range(len(executable.kernels))
    ]

    assert 0.99 * executable.memory.bound <= max(alive) <= executable.memory.bound
