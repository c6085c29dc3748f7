"""Clusters that differ in sizes alone share kernels: the same bits, fewer codes, whatever sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import gnomon as gn
from gnomon.ir.dissected import Numbers
from gnomon.ir.specializations import CLUSTERS
from gnomon.nn import functional as F
from gnomon.program.executable import Executable
from gnomon.schedule import shared_nests
from gnomon.schedule.nest import ClusterSignature
from gnomon.schedule.shared_nests import SharedNests, outline_and_numbers
from tests.fenced import fenced, judged
from tests.fuzz_empty import lawful
from tests.fuzz_together import check
from tests.schedule.kernels_of import partition

pytestmark = pytest.mark.unit

MANY = CLUSTERS.enough

SIZES = (1, 2, 3, 5, 7, 9, 15, 16, 17, 31, 32, 33, 40, 64, 65, 100)

BODIES: dict[str, Callable[[gn.Tensor], gn.Tensor]] = {
    "pointwise": lambda x: (x * 2 + x.exp()).tanh(),
    "row": lambda x: x.softmax(-1),
    "column": lambda x: x - x.mean(0),
    "both": lambda x: (x - x.mean((0, 1))) * x.var(0),
    "turned": lambda x: x.T.cumsum(0).T + x,
    "cut": lambda x: x[:, 1:] * x[:, :-1],
    "every other": lambda x: x[::2, ::2] + 1,
    "joined": lambda x: gn.cat([x, x * 2, x.exp()], 1).sum(0),
    "padded": lambda x: F.pad(x, (2, 3)).cumsum(1),
    "flat": lambda x: x.reshape(-1).flip(0) * gn.arange(x.numel()),
    "looked up": lambda x: x[gn.arange(x.shape[0]).flip(0)] + x.argmax(1, keepdim=True),
    "normed": lambda x: F.layer_norm(x, (x.shape[1],)),
}


FOLDED = {("row", 1), ("normed", 1), ("joined", 0), ("looked up", 0), ("looked up", 1)}
"""Those whose folded axis varies: code knows its size."""
OWN = {("pointwise", 0), ("pointwise", 1), *FOLDED}
"""With those that read their sizes anyway."""


def made(run: Callable, given: Sequence[gn.Tensor], **options: Any) -> tuple[Executable, list]:
    """A program, and the bits of its results."""
    compiled = gn.compile(run, options=options)
    found = [x.numpy().tobytes() for x in compiled(*given)]
    (program,) = compiled.captured()
    return program.executable, found


def codes(program: Executable) -> int:
    """The number of its kernels' texts."""
    return len({code.symbol for kernel in program.kernels for code in kernel.codes})


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", BODIES)
def test_sizes_share_kernels_and_no_bit_changes(name: str, axis: int):
    body = BODIES[name]
    shapes = [(n, 3 + k % 2 * 2)[:: 1 - 2 * axis] for k, n in enumerate(SIZES)]
    given = [gn.randn(*shape) for shape in shapes]

    def run(*xs: gn.Tensor) -> list[gn.Tensor]:
        return [body(x) for x in xs]

    shared, bits = made(run, given)
    alone, same = made(run, given, share=False)

    assert bits == same
    assert (codes(shared) < codes(alone)) == ((name, axis) not in OWN)


def test_records_are_those_of_kernels_that_share_nothing():
    given = [gn.randn(4, n) for n in SIZES]

    def run(*xs: gn.Tensor) -> list[gn.Tensor]:
        return [(x * 2).softmax(0).cumsum(1) * x for x in xs]

    shared, _ = made(run, given, batch=False)
    alone, _ = made(run, given, batch=False, share=False)

    def told(program: Executable) -> list[tuple]:
        return [(k.name, k.flops, k.outputs, [x.shape for x in k.buffers]) for k in program.kernels]

    assert told(shared) == told(alone)


def signatures(sizes: Sequence[int]) -> list[tuple[Any, ClusterSignature]]:
    """The only cluster of graphs that differ in a size."""
    arena = gn.ir.node.Arena()
    found = []
    for n in sizes:
        x = arena.input((4, n), gn.float32)
        placed = partition(x * x)
        found += [(c, ClusterSignature(c, placed.stored)) for c in placed.clusters]
    return found


def nests(sizes: Sequence[int]) -> list[bool]:
    """For each of these sizes whether its cluster shares a nest."""
    known = signatures(sizes)
    shared = SharedNests(known)
    return [shared.at(*each) is not None for each in known]


def test_a_nest_is_shared_from_so_many_sizes_on():
    sizes = range(10, 10 + MANY)

    assert nests(sizes) == [True] * MANY
    assert nests([*sizes[1:], *sizes[1:]]) == [False] * 2 * (MANY - 1)


def test_an_axis_of_one_is_another_outline():
    assert nests([1, *range(10, 10 + MANY)]) == [False, *[True] * MANY]
    assert len({outline_and_numbers(s)[0] for _, s in signatures([1, 2, 3])}) == 2


def test_a_cluster_for_which_a_decision_falls_otherwise_is_lowered_by_itself(monkeypatch):
    class Deciding(shared_nests.LoopNest):
        """Asks on the way whether there are more than fifteen columns."""

        def __init__(self, cluster: Any, stored: Any) -> None:
            super().__init__(cluster, stored)
            assert self.shape[1] > 15

    monkeypatch.setattr(shared_nests, "LoopNest", Deciding)

    assert nests([20, *range(10, 20)]) == [True, *[n > 15 for n in range(10, 20)]]


def test_what_is_decided_while_code_is_written_counts_too(monkeypatch):
    given, ask = [gn.randn(4, n) for n in (20, *range(10, 20))], shared_nests.NestAtSizes.parts

    def asking(self: Any) -> Any:
        yield from ask(self)
        nest = self.nest
        size = nest._related.numbers[nest._related.places[0]]
        assert size > 0
        nest._sizes.decide("<", size, 15)

    def run(*xs: gn.Tensor) -> list[gn.Tensor]:
        return [x * x for x in xs]

    expected = made(run, given, share=False)[1]
    monkeypatch.setattr(shared_nests.NestAtSizes, "parts", asking)

    assert made(run, given)[1] == expected


@pytest.mark.parametrize("numbers", [(4, 21), (5, 20), (4, 1 << 31)])
def test_numbers_that_do_not_follow_are_not_served(numbers: Numbers):
    ((cluster, signature), *others) = signatures([20, 30, 40])
    own, *samples = [outline_and_numbers(s)[1] for _, s in ((cluster, signature), *others)]
    nest = shared_nests.nest_for(cluster, signature, [own, *samples])

    assert nest is not None
    assert nest.serves(own) is not None
    assert (nest.serves((*numbers, *own[2:])) is not None) == (numbers == (4, 21))


@pytest.mark.parametrize("seed", [2, 3])
def test_random_programs_at_many_sizes_in_one_function(seed: int):
    with fenced(), judged(lawful):
        assert check(seed) == 2
