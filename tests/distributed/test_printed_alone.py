"""A rank that prints a value alone runs the other ranks' programs all the same."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.distributed.device_mesh import init_device_mesh
from gnomon.distributed.tensor import DTensor, Partial, Shard, distribute_tensor
from tests.distributed.on_threads import on_threads
from tests.fuzz_ranks import findings

WHOLE = np.arange(36, dtype=np.float32).reshape(6, 6)


def printed_by(rank: int, x: gn.Tensor) -> gn.Tensor:
    """The tensor, whose value one rank alone reads."""
    if gn.distributed.get_rank() == rank:
        str(x)
    return x


@pytest.mark.parametrize("printer", [0, 1])
@pytest.mark.parametrize("ranks", [2, 3])
def test_messages_start_in_one_order_whoever_knows_an_operand(ranks: int, printer: int):
    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (ranks,))
        x = distribute_tensor(gn.tensor(WHOLE), mesh, [Shard(1)])
        y = distribute_tensor(gn.tensor(WHOLE), mesh, [Shard(0)])
        squares = x * x
        printed_by(printer, (squares * 1.0).to_local().sum())
        return (squares @ y).full_tensor().tolist()

    assert on_threads(work, ranks) == [((WHOLE * WHOLE) @ WHOLE).tolist()] * ranks


def test_a_compiled_loss_over_a_mesh_is_computed_at_its_call():
    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (2,))
        x = distribute_tensor(gn.tensor(WHOLE), mesh, [Shard(0)]).requires_grad_()

        @gn.compile
        def loss_of(x: gn.Tensor) -> gn.Tensor:
            return (x.full_tensor() * 3.0).sum()

        found = []
        for _ in range(2):
            x.grad = None
            printed_by(0, loss_of(x)).backward()
            found.append(x.grad.full_tensor().tolist())
        return found

    assert on_threads(work, 2, 5.0) == [[np.full((6, 6), 3.0).tolist()] * 2] * 2


def test_messages_of_a_compiled_body_start_in_one_order():
    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (ranks,))

        @gn.compile
        def gathered(x: gn.Tensor, y: gn.Tensor) -> gn.Tensor:
            late = DTensor.from_local(x, mesh, [Shard(0)]).full_tensor()
            return late.sum() + DTensor.from_local(y, mesh, [Shard(0)]).full_tensor()

        weight = gn.full((512, 512), 0.5).requires_grad_()
        x = printed_by(0, gn.eye(512) @ weight @ weight @ weight)
        return gathered(x, weight[0] * 2.0).tolist()

    assert on_threads(work, 2, 5.0) == [[2.0**34] * 1024] * 2


VIEWS = {
    "rows of the first rank": (lambda s, p: s[:1].expand(6, 6), WHOLE[:1].repeat(6, 0)),
    "a pending sum's transpose": (lambda s, p: p.t(), 2 * WHOLE.T),
}


@pytest.mark.parametrize(("view", "wanted"), VIEWS.values(), ids=VIEWS)
def test_a_view_of_what_other_ranks_have_is_computed_by_to_local(view, wanted: np.ndarray):
    def work(rank: int, ranks: int) -> list:
        mesh = init_device_mesh("cpu", (2,))
        s = distribute_tensor(gn.tensor(WHOLE), mesh, [Shard(0)])
        p = DTensor.from_local(gn.tensor(WHOLE), mesh, [Partial()])
        part = printed_by(1, view(s, p).to_local())
        after = (s + 1.0).full_tensor().sum().item()
        return [part.tolist(), after]

    assert on_threads(work, 2, 5.0) == [[wanted.tolist(), float(WHOLE.sum() + 36)]] * 2


@pytest.mark.parametrize("seed", [298, 792, 20261778, 30000000, 30000020, 30000031])
def test_programs_that_were_wrong_once(seed: int):
    assert findings(seed) == []
