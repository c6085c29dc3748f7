"""Programs that can run: under names and lines, with positions checked."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from gnomon.compiler.build import build
from gnomon.dtypes import float32
from gnomon.errors import IndexOutOfBounds
from gnomon.ir import memo
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.lookup_primitives import gather
from gnomon.ops.primitives import reduce
from gnomon.ops.scalars import exp
from gnomon.ops.view_primitives import pad
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.settings import override
from tests.compiler.test_pipeline import normal, outputs, run, softmax

X = np.arange(15, dtype=np.float32).reshape(3, 5)


def sums(factor: float) -> Graph:
    """Sums of exponentials."""
    arena = Arena()
    x = arena.input(X.shape, float32)
    return Graph((x,), (reduce("add", exp(x * factor), (1,)),))


@pytest.fixture
def fresh(monkeypatch, tmp_path) -> Iterator[None]:
    """Nothing is known of earlier programs, and a folder of its own keeps those of this test."""
    memo.clear()
    with override(cache=True, keep_programs=True, cache_dir=str(tmp_path)):
        yield


def test_a_name_is_part_of_the_title_and_not_of_the_program(fresh):
    plain, named = build(sums(0.5)), build(sums(0.5), "step")

    assert named.program is plain.program
    assert plain.title.split()[0] == "eager"
    assert named.title == f"step {plain.title.split()[1]}"


def test_a_result_that_is_an_input_is_that_buffer():
    (x,), leaves = outputs(lambda x: (x,), [normal(3)])
    buffer = DeviceBuffer.of(normal(3))

    assert build(Graph(leaves, [x])).run([buffer]) == [buffer]


def test_a_position_outside_its_axis_is_an_error_with_its_line():
    table, index = normal(9, 24), np.array([[0, 8], [3, 9]])
    roots, leaves = outputs(lambda x, i: gather("vd,bt->btd", x, i) * 2.0, [table, index])

    with pytest.raises(IndexOutOfBounds, match=r"position is outside.*test_executable\.py"):
        run(roots, leaves, [table, index])


def test_positions_that_a_guard_hides_are_not_checked():
    table, index = normal(9, 3), np.array([8, 1, 5])
    roots, leaves = outputs(
        lambda x, i: pad(gather("vd,b->bd", x, i), (20, 1), (3, 40)), [table, index]
    )

    (found,) = run(roots, leaves, [table, index])

    assert np.array_equal(found[20:23, 1:4], table[index])


def test_an_equal_graph_from_other_lines_runs_the_same_program_under_its_own_lines():
    def here(x: Node) -> Node:
        return softmax(x) * 3.0

    def there(x: Node) -> Node:
        return softmax(x) * 3.0

    made = [
        build(Graph(leaves, roots))
        for roots, leaves in (outputs(f, [normal(5, 31)]) for f in (here, there))
    ]

    assert made[0].program is made[1].program
    functions = [{site.function for kernel in m.kernels for site in kernel.sites} for m in made]
    assert "here" in functions[0]
    assert "there" not in functions[0]
    assert "there" in functions[1]
    assert "here" not in functions[1]
