"""An excerpt is the kernels that a fusion changes, as a program: equal for equal layers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnomon.ir.node import Node
from gnomon.ops.primitives import contract, reduce
from gnomon.ops.scalars import exp
from gnomon.ops.view_primitives import permute
from gnomon.schedule.epilogue import OTHER_LAYOUT
from gnomon.schedule.excerpt import SLOWER, Excerpt, Verdicts
from gnomon.schedule.fusion import FusionVerdict
from gnomon.schedule.notes import Notes
from gnomon.schedule.partition import partition_of
from gnomon.schedule.placed import Placed
from tests.schedule.kernels_of import graph, leaf

pytestmark = pytest.mark.unit


class Kept(Verdicts):
    """Keeps excerpts that it is asked about, and leaves them to bytes."""

    def __init__(self) -> None:
        super().__init__()
        self.met: list[Excerpt] = []

    def find(self, excerpt: Excerpt) -> FusionVerdict | None:
        """Nothing is known."""
        self.met += [excerpt] if excerpt.forms else []
        return super().find(excerpt)


def layers(times: int) -> Node:
    """Products with a weight each, and an activation after each."""
    made = leaf(40, 30)
    for _ in range(times):
        made = exp(contract("ab,bc->ac", made, made.arena.input((30, 30), made.dtype)))
    return made


def partition(judge: Verdicts, *roots: Node) -> Placed:
    """The partition in which every product may carry an epilogue, if a judge agrees."""
    return partition_of(graph(*roots), carries=lambda node: True, judge=judge)


def test_an_excerpt_reads_what_is_stored_and_makes_what_others_read():
    kept = Kept()
    y = layers(2)
    partition(kept, y, reduce("add", y, (0,)))
    first, second = kept.met

    for excerpt in (first, second):
        made = excerpt.graph
        assert sorted(x.shape for x in made.inputs) == [(30, 30), (40, 30)]
        assert [x.op for x in made.nodes if x.op != "input"] == ["contract", "map"]
        assert [x.params.get("f") for x in made.outputs] == ["exp"]


def test_equal_layers_are_one_excerpt_and_other_sizes_are_not():
    kept = Kept()
    partition(kept, layers(3))
    x = leaf(48, 30)
    partition(kept, exp(contract("ab,bc->ac", x, x.arena.input((30, 30), x.dtype))))

    assert len({excerpt.key for excerpt in kept.met[:3]}) == 1
    assert kept.met[3].key != kept.met[0].key


def test_a_fusion_of_another_kind_or_of_other_nodes_is_another_excerpt():
    kept = Kept()
    partition(kept, exp(layers(1)) * 2.0)
    found = kept.met[0]
    (node, *_), maker = found.fusion.nodes, found.fusion.maker
    kinds = [replace(found.fusion, kind=kind) for kind in ("epilogue", "join")]
    turned = replace(found.fusion, maker=node, nodes=(maker,))

    keys = [Excerpt(found.placed, each, lambda *_: None).key for each in (*kinds, turned)]

    assert len({*keys}) == 3


def test_a_verdict_decides_and_what_bytes_said_is_kept():
    kept = Kept()
    partition(kept, layers(1))
    key = kept.met[0].key
    for together, refused in ((0.5, ""), (0.98, SLOWER), (2.0, SLOWER)):
        verdict = FusionVerdict(1.0, together, 0.1)

        (found,) = Notes(partition(Verdicts([(key, (1.0, together, 0.1))]), layers(1))).products

        assert (found.refused, found.modelled, found.measured) == (refused, "", verdict)
        assert found.regret == (0 if not refused else together - 1)


def test_what_is_left_to_bytes_stays_so():
    kept = Kept()
    plainly = Notes(partition(kept, layers(1))).products

    left = Notes(partition(Verdicts([(kept.met[0].key, None)]), layers(1))).products

    assert [x.refused for x in left] == [x.refused for x in plainly] == [""]
    assert left[0].measured is None


def test_either_form_of_an_excerpt_can_be_had():
    kept = Kept()
    partition(kept, layers(1))
    apart, together = kept.met[0].forms

    assert [len(form.clusters) for form in (apart, together)] == [2, 1]
    assert [len(form.stored) for form in (apart, together)] == [2, 1]


def test_what_has_no_code_is_not_measured():
    kept = Kept()
    c = layers(1).inputs[0]
    turned = permute(c.arena.input((30, 40), c.dtype), (1, 0))

    (found,) = Notes(partition(kept, c + turned)).products

    assert (found.refused, kept.met) == (OTHER_LAYOUT, [])
