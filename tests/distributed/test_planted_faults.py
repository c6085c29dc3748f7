"""Faults that are planted in the tables one by one: each must change bits, or be refused.

Bits are what makes this sharp: a wrong group, count or order is a failing comparison, not a
tolerance. The same cases without a fault give one process's bits (test_same_bits.py).
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from gnomon.errors import ShapeError
from gnomon.ir.node import PRIMITIVES, Node, Signature
from gnomon.ir.operators import elementwise
from gnomon.ops.placements import Partial, Replicated, Split
from gnomon.ops.primitives import expand, reshape
from gnomon.ops.view_primitives import permute, slice_
from gnomon.passes import localize, lower_collectives, microbatch_loops, shard, strategies
from gnomon.runtime.comm import base
from tests.distributed import programs
from tests.distributed.programs import Sizes, Step, decoder, mlp
from tests.distributed.ranks import Hashes, OnMesh, alone
from tests.mutants import Plant, Refusal, caught
from tests.test_mutant_families import messages, order, put_backwards
from tests.witnesses import forgotten

DATA4, TENSOR4 = (("data", 4),), (("tensor", 4),)
WORDS = 256
REFUSED = Refusal(ShapeError, "add: shapes do not broadcast: (2, 6, 512) and (1, 1, 128)")
"""What a rank says to a product whose letters are swapped."""


@cache
def layers() -> tuple[Step, list[np.ndarray], Hashes]:
    """An MLP's step and what one process gives."""
    step = mlp("sgd")
    arrays = step.arrays(seed=11)
    return step, arrays, alone(step, arrays)


@cache
def words() -> tuple[Step, list[np.ndarray], Hashes]:
    """A decoder without blocks: embedding, norm, and scores over a vocabulary that is split.

    There are more tokens than words, so that both gradients of the table are pending sums.
    """
    step = decoder("sgd", Sizes(heads=2, tokens=80, vocabulary=WORDS, layers=0))
    arrays = step.arrays(seed=11, vocabulary=WORDS)
    return step, arrays, alone(step, arrays)


@pytest.fixture(autouse=True)
def nothing_remembered():
    """What was divided with a fault, or without one, is divided again."""
    with forgotten():
        yield


def check(case, axes: tuple, microbatches: int = 1) -> None:
    """A division gives one process's bits."""
    step, arrays, expected = case
    assert OnMesh(step, *axes, microbatches=microbatches).run(arrays) == expected


# faults of the tables


def swapped_letters(patch: pytest.MonkeyPatch) -> None:
    """A product whose signature takes one operand's letters for the other's."""
    true = PRIMITIVES["contract"].signature

    def wrong(node: Node) -> Signature:
        found = true(node)
        return Signature(found.inputs[::-1], found.output, found.reduced)

    patch.setattr(PRIMITIVES["contract"], "signature", wrong)


def forgotten_fold(patch: pytest.MonkeyPatch) -> None:
    """A sum whose letter is only dropped: the ranks' parts count as the whole."""

    def wrong(node: Node) -> Signature:
        names = tuple(f"i{k}" for k in range(node.inputs[0].rank))
        axis = node.params["axis"]
        return Signature([names], names[:axis] + names[axis + 1 :])

    patch.setattr(PRIMITIVES["reduce"], "signature", wrong)


def reductions_left_out(patch: pytest.MonkeyPatch) -> None:
    """A pending sum taken for the sum."""
    true = localize.Locals.move

    def wrong(self, x, have, want, *unit):
        pending = isinstance(have, Partial) and isinstance(want, Replicated)
        return x if pending else true(self, x, have, want, *unit)

    patch.setattr(localize.Locals, "move", wrong)


def reduced_twice(patch: pytest.MonkeyPatch) -> None:
    """A sum over ranks taken again."""
    true = localize.Locals.move

    def wrong(self, x, have, want, *unit):
        moved = true(self, x, have, want, *unit)
        pending = isinstance(have, Partial) and isinstance(want, Replicated)
        return true(self, moved, have, want) if pending else moved

    patch.setattr(localize.Locals, "move", wrong)


def maxima_as_sums(patch: pytest.MonkeyPatch) -> None:
    """The ranks' maxima added up."""
    patch.setattr(strategies, "Partial", lambda monoid="sum": Partial())


def parts_in_a_row(patch: pytest.MonkeyPatch) -> None:
    """Ranks' sums added one after the other."""
    order(list, in_a_row=True)(patch)


def one_leaf_for_all(patch: pytest.MonkeyPatch) -> None:
    """Ranks' stretches added one after the other as they come."""
    patch.setattr(lower_collectives, "leaves_of", lambda *given: 1)


def distant_parts_first(patch: pytest.MonkeyPatch) -> None:
    """A tree over ranks, of the wrong pairs."""
    order(lambda parts: parts[::2] + parts[1::2])(patch)


def leaves_not_divided(patch: pytest.MonkeyPatch) -> None:
    """Every rank cuts its share into as many leaves as the whole."""

    def wrong(leaves: int, size: int, across) -> int:
        return leaves if size // across.ranks % leaves == 0 else 1

    patch.setattr(localize, "leaves_per_rank", wrong)


def leaves_cut_in_two(patch: pytest.MonkeyPatch) -> None:
    """A sum is split where no leaf ends."""
    patch.setattr(strategies, "leaf_of", lambda node, letter: (0, 1 << 10))
    patch.setattr(programs, "shared_axis", lambda shape, axes, ranks: Split(axes[0]))


def sums_before_additions(patch: pytest.MonkeyPatch) -> None:
    """Two pending sums added before they are reduced."""
    true = strategies.carrying

    def wrong(node: Node):
        if node.op == "map" and node.params["f"] == "add":
            yield strategies.Strategy((Partial(),) * 2, Partial())
        yield from true(node)

    patch.setattr(strategies, "carrying", wrong)


def local_count(patch: pytest.MonkeyPatch) -> None:
    """A mean over a rank's own elements."""
    true = shard.Emission.build

    def wrong(self, node, strategy):
        if node.op == "const" and node.params["value"] == 8 * 6 * 256:
            return self.local.arena.node("const", (), value=8 * 6 * 64.0, dtype=node.dtype)
        return true(self, node, strategy)

    patch.setattr(shard.Emission, "build", wrong)


def all_ranks_are_first(patch: pytest.MonkeyPatch) -> None:
    """Offsets without the rank's number."""
    true = localize.Locals.offset
    patch.setattr(localize.Locals, "offset", lambda self, n, kind: true(self, 0, kind))


def rows_of_others_kept(patch: pytest.MonkeyPatch) -> None:
    """A lookup in a split table that does not hide what is elsewhere."""
    true = localize.Locals.in_part

    def wrong(self, index, size):
        place, here = true(self, index, size)
        return elementwise("remainder", place, size), elementwise(
            "or", here, elementwise("not", here)
        )

    patch.setattr(localize.Locals, "in_part", wrong)


def wrong_group(patch: pytest.MonkeyPatch) -> None:
    """Ranks that take their neighbour's place along an axis."""
    true = base.Link.__init__

    def wrong(self, name, ranks, place):
        true(self, name, ranks, place)
        self.number.value = (place + 1) % len(ranks)

    patch.setattr(base.Link, "__init__", wrong)


def gathered_backwards(patch: pytest.MonkeyPatch) -> None:
    """Parts side by side in the wrong order."""
    messages(put_backwards)(patch)


def microbatches_in_another_tree(patch: pytest.MonkeyPatch) -> None:
    """Microbatches' gradients added in other pairs."""
    true = microbatch_loops.TreeOfLoops.of

    def crossed(x, count):
        halves = permute(reshape(x, (2, count // 2, x.size // count)), (1, 0, 2))
        return reshape(halves, x.shape)

    def wrong(self, count, given):
        slices = [crossed(x, count) for x in given[: self.sliced]]
        return true(self, count, [*slices, *given[self.sliced :]])

    patch.setattr(microbatch_loops.TreeOfLoops, "of", wrong)


def same_rows_every_microbatch(patch: pytest.MonkeyPatch) -> None:
    """Every microbatch reads the first rows."""
    true = microbatch_loops.one_each

    def wrong(x, axis, ranks):
        every = true(x, axis, ranks)
        first = ((0, 1, 1), *((0, n, 1) for n in every.shape[1:]))
        return expand(slice_(every, first), every.shape)

    patch.setattr(microbatch_loops, "one_each", wrong)


IN_LAYERS = [
    (swapped_letters, DATA4, 1),
    (forgotten_fold, DATA4, 1),
    (reductions_left_out, DATA4, 1),
    (reductions_left_out, TENSOR4, 1),
    (reduced_twice, DATA4, 1),
    (parts_in_a_row, DATA4, 1),
    (parts_in_a_row, TENSOR4, 1),
    (one_leaf_for_all, TENSOR4, 1),
    (distant_parts_first, DATA4, 1),
    (leaves_not_divided, (("data", 2),), 1),
    (leaves_cut_in_two, (("tensor", 8),), 1),
    (local_count, DATA4, 1),
    (gathered_backwards, TENSOR4, 1),
    (microbatches_in_another_tree, (), 4),
    (same_rows_every_microbatch, (), 2),
]
IN_WORDS = [
    (maxima_as_sums, (("tensor", 2),), 1),
    (sums_before_additions, DATA4, 1),
    (all_ranks_are_first, (("tensor", 2),), 1),
    (rows_of_others_kept, (("tensor", 2),), 1),
    (wrong_group, (("tensor", 2),), 1),
]


def name_of(value: object) -> str:
    """How a case is called in a report."""
    return value.__name__ if callable(value) else str(value)


@pytest.mark.parametrize(("fault", "axes", "microbatches"), IN_LAYERS, ids=name_of)
def test_a_fault_in_layers_is_caught(fault: Plant, axes, microbatches, monkeypatch):
    layers()
    fault(monkeypatch)

    declared = REFUSED if fault is swapped_letters else None
    assert caught(lambda: check(layers(), axes, microbatches), declared)


@pytest.mark.parametrize(("fault", "axes", "microbatches"), IN_WORDS, ids=name_of)
def test_a_fault_in_a_vocabulary_is_caught(fault: Plant, axes, microbatches, monkeypatch):
    words()
    fault(monkeypatch)

    assert caught(lambda: check(words(), axes, microbatches))


def test_without_a_fault_nothing_is_caught():
    check(layers(), DATA4)
    check(layers(), TENSOR4)
    check(layers(), (), 4)
    for axes in ((("tensor", 2),), DATA4, (("data", 2), ("tensor", 2))):
        check(words(), axes)
