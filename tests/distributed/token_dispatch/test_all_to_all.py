"""Rows that travel: the bits of one process, wherever blocks and experts are, and none is lost."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.distributed.token_dispatch.all_to_all import AllToAllTokenDispatcher
from gnomon.errors import TraceError
from tests.distributed.on_mpi import on_mpi
from tests.distributed.on_threads import on_threads
from tests.distributed.token_dispatch import layers
from tests.distributed.token_dispatch.layers import (
    BLOCKS,
    EXPERTS,
    TOKENS,
    alone,
    layer_of,
    on_ranks,
    routings,
)

LAYOUTS = [[4], [2, 2], [0, 3, 1], [1, 1, 1, 1]]
MORE = [[1, 3], [4, 0], [2, 1, 1], [0, 4, 0], [0, 4, 0, 0], [1, 0, 0, 3]]


@pytest.mark.parametrize(
    "blocks", [*LAYOUTS, *(pytest.param(x, marks=pytest.mark.long) for x in MORE)], ids=str
)
def test_layouts_have_the_bits_of_one_process_and_routings_do_too(blocks, rng):
    for name, expert in routings(rng).items():
        layer = layer_of(rng, expert)

        found = on_ranks(lambda: AllToAllTokenDispatcher(EXPERTS, blocks), blocks, layer)

        assert found == alone(layer), name


def test_narrow_rows_travel_narrow_and_have_the_bits_too(rng):
    layer, blocks = layer_of(rng, routings(rng)["spread, few, one, alike"]), [3, 1]

    found = on_ranks(
        lambda: AllToAllTokenDispatcher(EXPERTS, blocks), blocks, layer, dtype=gn.bfloat16
    )

    assert found == alone(layer, gn.bfloat16)


def test_more_ranks_than_experts_leave_some_without_any(rng):
    def one(rank: int, ranks: int) -> list:
        dispatcher = AllToAllTokenDispatcher(2, [1, 2, 1])
        x = gn.ones(2 * dispatcher.blocks, 3) * rank
        expert = gn.zeros(2 * dispatcher.blocks, 1, dtype=gn.int64)
        sent = dispatcher.dispatch(x, gn.ones(*expert.shape), expert)
        own = dispatcher.own.stop - dispatcher.own.start
        y = gn.routed_mm(sent.rows, gn.ones(own, 3, 3), sent.ends)
        return dispatcher.combine(y, sent).sum(1).tolist()

    assert on_threads(one, 3) == [[0.0] * 2, [9.0] * 4, [18.0] * 2]


def test_every_slot_arrives_at_one_rank(rng):
    for expert in routings(rng).values():

        def one(rank: int, ranks: int, expert: np.ndarray = expert) -> int:
            dispatcher = AllToAllTokenDispatcher(EXPERTS, 2)
            own = gn.from_numpy(expert[rank * 2 * TOKENS :][: 2 * TOKENS].copy())
            sent = dispatcher.dispatch(gn.ones(len(own), 1), gn.ones(*own.shape), own)
            assert sent.rows.sum().item() == sent.ends[:, -1].sum().item()
            return sent.ends[:, -1].sum().item()

        assert sum(on_threads(one, 2)) == expert.size


def traded(rank: int, ranks: int) -> list:
    """The rows of `layers.traded`, by uneven messages."""
    return layers.traded(AllToAllTokenDispatcher(3, [1, 1]), rank)


def test_processes_do_what_threads_do():
    assert on_threads(traded, 2) == on_mpi(traded, 2) == layers.TRADED


def test_a_captured_function_is_refused_by_name():
    def one(rank: int, ranks: int) -> None:
        dispatcher = AllToAllTokenDispatcher(EXPERTS, BLOCKS)
        expert = gn.zeros(BLOCKS, 1, dtype=gn.int64)
        step = gn.compile(lambda x: dispatcher.dispatch(x, gn.ones(BLOCKS, 1), expert).rows)
        with pytest.raises(TraceError, match=r"dispatch: uneven messages need numbers"):
            step(gn.ones(BLOCKS, 2))

    on_threads(one, 1)
