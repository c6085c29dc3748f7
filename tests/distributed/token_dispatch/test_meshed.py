"""Rows that travel in a program of whole values: bits of one process, and messages of tokens."""

from __future__ import annotations

from typing import Any

import pytest

import gnomon as gn
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.placing import split_rows
from gnomon.distributed.ranks import run_ranks
from gnomon.distributed.token_dispatch.base import Dispatched
from gnomon.distributed.token_dispatch.meshed import MeshTokenDispatcher
from gnomon.errors import LayoutError
from gnomon.ops.placements import REPLICATED
from tests.distributed.token_dispatch.layers import (
    BLOCKS,
    EXPERTS,
    RESULTS,
    Layer,
    alone,
    computed,
    layer_of,
    routings,
)


class OverData(MeshTokenDispatcher):
    """Tokens of which each rank along "data" computes with its own."""

    def dispatch(self, x: gn.Tensor, *given: Any) -> Dispatched:
        """The same, of rows that are spread."""
        mesh = DeviceMesh.of({self.mesh: self.ranks})
        return super().dispatch(*(split_rows(v, mesh, self.mesh) for v in (x, *given)))


def on_mesh(layer: Layer, kind: type[MeshTokenDispatcher], blocks: int, ranks: int) -> dict:
    """What each rank gives, as all have the same."""

    def work(rank: int) -> dict[str, bytes]:
        made = computed(kind(EXPERTS, blocks, ("data", ranks)), layer, compiled=True)
        return {name: v.tobytes() for name, v in zip(RESULTS, made, strict=True)}

    first, *others = run_ranks(DeviceMesh.of({"data": ranks}), work)
    assert all(each == first for each in others)
    return first


def test_any_routing_has_the_bits_of_one_process(rng):
    for name, expert in routings(rng).items():
        layer = layer_of(rng, expert)

        assert on_mesh(layer, OverData, BLOCKS, 2) == alone(layer), name


def test_blocks_that_ranks_do_not_divide_are_everywhere(rng):
    """As those of a last batch of held-out text are."""
    layer = layer_of(rng, routings(rng)["spread, few, one, alike"])

    assert on_mesh(layer, MeshTokenDispatcher, BLOCKS, 4) == alone(layer)
    assert MeshTokenDispatcher(EXPERTS, 1, ("data", 2)).spread == REPLICATED


def test_experts_that_ranks_do_not_divide_are_refused():
    with pytest.raises(LayoutError, match="3 ranks of mesh axis 'data' do not divide 4 experts"):
        MeshTokenDispatcher(EXPERTS, BLOCKS, ("data", 3))


def test_slots_without_a_place_are_no_numbers_and_others_are_what_they_were():
    def work(rank: int) -> list[float]:
        dispatcher = MeshTokenDispatcher(EXPERTS, 2, ("data", 2), lambda slots: slots // 2)
        expert = gn.tensor([[3, 0], [2, 1], [3, 2], [0, 2], [2, 0], [2, 1]])

        @gn.compile
        def step(x: gn.Tensor) -> gn.Tensor:
            sent = dispatcher.dispatch(x, gn.ones(6, 2), expert)
            assert sent.rows.shape == (2, 6, 1)
            return dispatcher.combine(gn.routed_mm(sent.rows, gn.ones(4, 1, 1), sent.ends), sent)

        return step(gn.arange(6.0).reshape(6, 1)).flatten().tolist()

    # rank 1 has four slots of the first block: the last of expert 3 has no place
    first, second = run_ranks(DeviceMesh.of({"data": 2}), work)
    assert first == pytest.approx([0.0, 2.0, float("nan"), 6.0, 8.0, 10.0], nan_ok=True)
    assert second == pytest.approx(first, nan_ok=True)
