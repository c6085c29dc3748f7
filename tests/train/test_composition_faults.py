"""Faults that compositions of layouts had elsewhere, planted here: the first step tells each (T5).

They are those of a survey of 2025 and 2026, all of which raised no error where they were found:
sums left out or taken twice, means over own rows, norms of an own part, wrong groups, wrong parts.
The public model and step are run on a small mesh and compared with one process.
"""

from __future__ import annotations

import pytest

from gnomon.distributed import plans
from gnomon.ops.layouts import splits
from gnomon.ops.placements import Partial, Replicated
from gnomon.passes import coalesce, localize, shard
from tests.distributed.test_planted_faults import (
    all_ranks_are_first,
    gathered_backwards,
    reduced_twice,
    reductions_left_out,
    rows_of_others_kept,
    sums_before_additions,
)
from tests.mutants import Plant, caught
from tests.train.curves import ROWS, alone, on
from tests.witnesses import forgotten

MODEL = "six heads"
TOKENS, VOCABULARY = 32, 300


@pytest.fixture(autouse=True)
def nothing_remembered():
    """Programs that were divided with a fault, or without one, are divided again."""
    alone(MODEL, 1)
    with forgotten():
        yield


def check(mesh: str) -> None:
    """The first step has the bits of one process, on every rank."""
    assert {x.hashes for x in on(MODEL, mesh, 1)} == {alone(MODEL, 1).hashes}


def mean_of_own_rows(patch: pytest.MonkeyPatch) -> None:
    """A loss divided by the tokens of a rank."""
    true, count = shard.Emission.build, ROWS * TOKENS

    def wrong(self, node, strategy):
        if node.op == "const" and node.params["value"] == count:
            own = count / self.local.across.ranks
            return self.local.arena.node("const", (), value=own, dtype=node.dtype)
        return true(self, node, strategy)

    patch.setattr(shard.Emission, "build", wrong)


def norm_of_own_part(patch: pytest.MonkeyPatch) -> None:
    """A gradient norm over the parts that a rank holds."""
    true = localize.Locals.move

    def wrong(self, x, have, want, *unit):
        number = isinstance(have, Partial) and isinstance(want, Replicated) and not x.rank
        return x if number else true(self, x, have, want, *unit)

    patch.setattr(localize.Locals, "move", wrong)


def other_group(patch: pytest.MonkeyPatch) -> None:
    """Sums taken along the other mesh axis."""
    true, other = localize.all_reduce, {"data": "tensor", "tensor": "data"}
    patch.setattr(
        localize, "all_reduce", lambda x, mesh, *rest, **named: true(x, other[mesh], *rest, **named)
    )


def parts_of_the_next_rank(patch: pytest.MonkeyPatch) -> None:
    """Parameters of which each rank keeps its neighbour's part."""
    true = plans.lay

    def wrong(p, layout, *rest):
        for _, ranks, axis in splits(layout):
            p = p.roll(-p.shape[axis] // ranks, axis)
        return true(p, layout, *rest)

    patch.setattr(plans, "lay", wrong)


def gradients_of_others(patch: pytest.MonkeyPatch) -> None:
    """Gradients of a unit that are given to the next parameter of the same shape."""
    true = coalesce.scatter_unit

    def wrong(members, sums, phase):
        made = true(members, sums, phase)
        for k in range(len(made) - 1):
            if made[k].shape == made[k + 1].shape:
                made[k], made[k + 1] = made[k + 1], made[k]
        return made

    patch.setattr(coalesce, "scatter_unit", wrong)


def one_gradient_of_a_tied_table(patch: pytest.MonkeyPatch) -> None:
    """A table that is read twice, and gets the gradient of one reader."""
    true = localize.Locals.build

    def wrong(self, node, strategy, inputs):
        table = node.op == "map" and node.params["f"] == "add" and node.shape[:1] == (VOCABULARY,)
        return inputs[0] if table else true(self, node, strategy, inputs)

    patch.setattr(localize.Locals, "build", wrong)


FAULTS = [
    (reductions_left_out, "data=2"),
    (reduced_twice, "data=2"),
    (mean_of_own_rows, "data=2"),
    (all_ranks_are_first, "data=2"),
    (norm_of_own_part, "shard=2"),
    (parts_of_the_next_rank, "shard=2"),
    (gathered_backwards, "shard=2"),
    (gradients_of_others, "shard=2"),
    (one_gradient_of_a_tied_table, "data=2"),
    (sums_before_additions, "tensor=2"),
    (rows_of_others_kept, "tensor=2"),
    (other_group, "data=2,tensor=2"),
]


def name_of(value: object) -> str:
    """A case's name in a report."""
    return value.__name__ if callable(value) else str(value)


@pytest.mark.share(2)
@pytest.mark.parametrize(("fault", "mesh"), FAULTS, ids=name_of)
def test_a_fault_of_composition_is_told_by_the_first_step(fault: Plant, mesh: str, monkeypatch):
    fault(monkeypatch)

    assert caught(lambda: check(mesh))


@pytest.mark.parametrize("mesh", sorted({mesh for _, mesh in FAULTS}))
def test_without_a_fault_nothing_is_told(mesh: str):
    check(mesh)
