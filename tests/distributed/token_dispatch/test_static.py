"""Messages of a fixed size: the bits of one process, one program, and no token lost in silence."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import gnomon as gn
from gnomon.compiler import build
from gnomon.distributed.token_dispatch.static import StaticTokenDispatcher
from gnomon.errors import ArgumentError
from gnomon.runtime.buffer import memory
from gnomon.utils.checkpoint import checkpoint
from tests.distributed.on_mpi import on_mpi
from tests.distributed.on_threads import on_threads
from tests.distributed.token_dispatch import layers
from tests.distributed.token_dispatch.layers import (
    BLOCKS,
    CHOSEN,
    EXPERTS,
    INNER,
    TOKENS,
    WIDTH,
    alone,
    layer_of,
    on_ranks,
    routings,
)


def dispatcher_of(blocks: int | Sequence[int], load: float = 1.25) -> StaticTokenDispatcher:
    """A dispatcher with buffers."""
    made = StaticTokenDispatcher(EXPERTS, blocks, load=load)
    made.init_buffer(TOKENS, CHOSEN)
    return made


CASES = [([4], True), ([2, 2], False), ([0, 3, 1], True), ([1, 1, 1, 1], False)]
MORE = [([2, 2], True), ([0, 4, 0], True), ([1, 0, 0, 3], True), ([1, 1, 1, 1], True)]


@pytest.mark.parametrize(
    ("blocks", "compiled"), [*CASES, *(pytest.param(*x, marks=pytest.mark.long) for x in MORE)]
)
def test_layouts_have_the_bits_of_one_process_and_routings_do_too(blocks, compiled, rng):
    for name, expert in routings(rng).items():
        layer = layer_of(rng, expert)

        found = on_ranks(lambda: dispatcher_of(blocks), blocks, layer, compiled=compiled)

        assert found == alone(layer), name


def test_narrow_rows_travel_narrow_and_have_the_bits_too(rng):
    layer, blocks = layer_of(rng, routings(rng)["spread, few, one, alike"]), [3, 1]

    found = on_ranks(lambda: dispatcher_of(blocks), blocks, layer, dtype=gn.bfloat16)

    assert found == alone(layer, gn.bfloat16)


def test_tokens_without_a_place_are_no_numbers_until_the_step_is_replayed():
    def one(rank: int, ranks: int) -> list:
        dispatcher = dispatcher_of(1)
        tokens = TOKENS * dispatcher.blocks
        # all of rank 0's slots go to rank 1, and half of the others
        expert = gn.tensor([[3, 2 if rank == 0 else 0]]).expand(tokens, CHOSEN)

        def step() -> gn.Tensor:
            sent = dispatcher.dispatch(gn.ones(tokens, 1), gn.ones(*expert.shape), expert)
            return dispatcher.combine(sent.rows, sent)

        first = step()
        asked = dispatcher.most()
        second = dispatcher.replayed(step)
        return [first.isnan().sum().item(), asked, second.flatten().tolist(), dispatcher.capacity]

    assert on_threads(one, 2) == [[3, 8, [2.0] * 4, 8], [0, 8, [2.0] * 4, 8]]


def random_steps(steps: int) -> None:
    """Steps of any routing on two ranks: after the first few nothing is compiled or allocated."""

    def one(rank: int, ranks: int) -> None:
        chance, dispatcher = np.random.default_rng(3), dispatcher_of(2)
        shape = 2, 2 * TOKENS, CHOSEN
        own = dispatcher.own.stop - dispatcher.own.start
        tensors = [gn.ones(2 * TOKENS, WIDTH), gn.ones(*shape[1:]), gn.ones(own, WIDTH, INNER)]
        tensors = [x.requires_grad_() for x in tensors]

        def step(expert: gn.Tensor, x: gn.Tensor, share: gn.Tensor, up: gn.Tensor) -> list:
            def experts(x: gn.Tensor, share: gn.Tensor) -> gn.Tensor:
                sent = dispatcher.dispatch(x, share, expert)
                y = gn.routed_mm(gn.routed_mm(sent.rows, up, sent.ends), up.mT, sent.ends)
                return dispatcher.combine(y, sent)

            y = checkpoint(experts, x, share)
            return [y.detach(), *gn.autograd.grad(y.square().sum(), (x, share, up))]

        compiled, known = gn.compile(step), None
        for number in range(steps):
            high = EXPERTS if number % 3 else number % EXPERTS + 1
            low = 0 if number % 3 else number % EXPERTS
            expert = gn.tensor(chance.integers(low, high, shape)[rank])
            made = dispatcher.replayed(lambda expert=expert: compiled(expert, *tensors))
            assert not any(x.isnan().any().item() for x in made)
            held = len(build._built), memory.use().reserved
            known = held if number < 6 else known
            assert known in (None, held)

    on_threads(one, 2)


def test_any_routing_has_the_same_program_and_buffers():
    random_steps(16)


@pytest.mark.long
def test_a_thousand_routings_have_the_same_program_and_buffers():
    random_steps(1000)


def traded(rank: int, ranks: int) -> list:
    """The rows of `layers.traded`, by even messages, in a captured step."""
    dispatcher = StaticTokenDispatcher(3, [1, 1])
    dispatcher.init_buffer(3, 2)
    return layers.traded(dispatcher, rank, compiled=True)


def test_processes_do_what_threads_do():
    assert on_threads(traded, 2) == on_mpi(traded, 2) == layers.TRADED


def test_blocks_that_are_longer_than_the_buffers_are_refused():
    def one(rank: int, ranks: int) -> None:
        dispatcher = StaticTokenDispatcher(EXPERTS, BLOCKS)
        expert = gn.zeros(BLOCKS, 2, dtype=gn.int64)
        with pytest.raises(
            ArgumentError, match=r"blocks of 2 slots, and buffers for 0\. Call init"
        ):
            dispatcher.dispatch(gn.ones(BLOCKS, 2), gn.ones(BLOCKS, 2), expert)

    on_threads(one, 1)
