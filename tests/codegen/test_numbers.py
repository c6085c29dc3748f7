"""A kernel apart into its outline and its numbers, and together again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from gnomon.codegen.kernels.product import Axis
from gnomon.codegen.kernels.scan import ScanSpec
from gnomon.codegen.numbers import OpenKernel, dissected, may_vary, numbers_of, outline, restored
from gnomon.dtypes import float32
from gnomon.ir.node import Node
from gnomon.ops.primitives import expand, reduce, reshape, unsqueeze
from gnomon.ops.view_primitives import permute
from gnomon.schedule.kernel import LoopKernel
from tests.codegen.kernels.operands import plain
from tests.schedule.kernels_of import kernels, leaf, softmax

BODIES: dict[str, Callable[[int, int], Node]] = {
    "chain": lambda n, m: leaf(n, m) * 2.0 + 1.0,
    "softmax": lambda n, m: softmax(leaf(n, m)),
    "columns": lambda n, m: reduce("add", leaf(n, m), (0,)),
    "turned": lambda n, m: beside(leaf(n, m), lambda x, y: permute(x, (1, 0)) + y, m, n),
    "split": lambda n, m: beside(
        leaf(n * m), lambda x, y: reshape(x, (n, m)) * expand(unsqueeze(y, 1), (n, m)), n
    ),
}


def beside(x: Node, function: Callable[[Node, Node], Node], *shape: int) -> Node:
    """A function of a leaf and of another one."""
    return function(x, x.arena.input(shape, float32))


def kernel(name: str, n: int, m: int) -> LoopKernel:
    """The last kernel of a body."""
    return kernels(BODIES[name](n, m))[-1]


@pytest.mark.parametrize("name", BODIES)
def test_kernels_of_other_sizes_have_one_outline(name: str):
    one, other = kernel(name, 6, 20), kernel(name, 7, 33)

    assert outline(one) == outline(other)
    assert len(numbers_of(one)) == len(numbers_of(other))


def test_other_kernels_have_other_outlines():
    assert len({outline(kernel(name, 6, 20)) for name in BODIES}) == len(BODIES)


def test_a_constant_is_a_number_by_its_bits():
    (one,), (other,) = (kernels(leaf(3, 5) * k) for k in (2.0, 0.1))

    assert outline(one) == outline(other)
    assert {*numbers_of(one).values()} ^ {*numbers_of(other).values()} == {0x40000000, 0x3DCCCCCD}


def test_a_truth_is_part_of_the_outline():
    assert dissected((True, 1)).outline != dissected((False, 1)).outline


@dataclass(frozen=True)
class Described:
    """A description that holds a kernel."""

    name: str
    kernel: LoopKernel
    rows: int


def test_a_description_is_restored():
    spec = ScanSpec("add", float32, float32, 2, 30, 4)
    taken = dissected((spec, 7))

    assert taken.numbers == (2, 30, 4, 7)
    assert restored((spec, 7), iter((5, 6, 7, 8))) == (
        ScanSpec("add", float32, float32, 5, 6, 7),
        8,
    )
    assert taken.outline == dissected((ScanSpec("add", float32, float32, 1, 1, 1), 0)).outline


def test_a_kernel_in_a_description_counts_by_its_numbers():
    described = Described("ending", kernel("softmax", 6, 20), 4)
    numbers = dissected(described).numbers

    assert numbers == (*numbers_of(described.kernel).values(), 4)
    found = restored(described, iter(numbers))
    assert isinstance(found.kernel, OpenKernel)
    assert not found.kernel.lifted


def test_numbers_that_come_from_sizes_may_vary_and_those_of_layouts_may_not():
    spec = plain("NN", 40, 50, 1, leaves=1)

    numbers, varies = dissected(spec).numbers, may_vary(spec)

    assert [n for n, own in zip(numbers, varies, strict=True) if own] == [40, 50, 50, 50]
    assert not any(may_vary(spec.slots) and may_vary((spec,))[-3:])


@pytest.mark.parametrize("name", BODIES)
def test_values_of_a_loop_kernel_stay_in_its_text(name: str):
    own = kernel(name, 6, 8)

    places = [place for place, varies in zip(numbers_of(own), may_vary(own), strict=True) if varies]

    assert not [part for _, part, _ in places if part in ("value", "last", "shift")]


def test_leaves_follow_from_sizes():
    rows = kernel("columns", 6, 20)
    names = [name for _, name, _ in numbers_of(rows)]
    ((leaves, size),) = dissected((5, rows)).follows.items()

    assert (names[leaves - 1], names[size - 1]) == ("leaves", "size")
    assert dissected((5, Axis(30, 1, 2, 3, 4))).follows == {5: 1}
