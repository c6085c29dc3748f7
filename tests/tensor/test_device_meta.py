"""Tensors on device "meta": shapes and dtypes without elements, which nobody can have."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.capture.unrun import program_for
from gnomon.errors import TraceError
from gnomon.runtime.buffer import memory
from gnomon.tensor.device import META
from tests.counters import settled

pytestmark = pytest.mark.unit

WIDE = 1 << 20


def absent(*size: int) -> gn.Tensor:
    """A tensor without elements."""
    return gn.empty(*size, device="meta")


def test_operations_give_shapes_and_dtypes():
    made = (absent(2, 3) @ absent(3, 4)).to(gn.float64).sum(0)

    assert (made.device, made.is_meta, made.is_cpu) == (gn.device("meta"), True, False)
    assert (made.shape, made.dtype) == ((4,), gn.float64)
    assert repr(absent(2, 3)) == "Tensor(..., device='meta', size=(2, 3))"


@pytest.mark.parametrize(
    "ask",
    [
        lambda x: x.tolist(),
        lambda x: x.numpy(),
        lambda x: x.sum().item(),
        lambda x: bool(x[0, 0] > 0),
        lambda x: x.cpu(),
        lambda x: x.to("cpu"),
        lambda x: gn.ones(2, 2).copy_(x),
        lambda x: (x + gn.ones(2, 2)).tolist(),
        lambda x: gn.compile(lambda y: y * 2)(x).tolist(),
    ],
)
def test_who_asks_for_elements_is_refused(ask):
    with pytest.raises(TraceError, match=r"on the meta device has no elements: got one of shape"):
        ask(absent(2, 2))

    assert (gn.ones(2) + 1).tolist() == [2.0, 2.0]


def test_others_are_computed_while_one_waits():
    held = absent(2, 2) * 2
    others = [gn.ones(2) * k for k in range(200)]

    with gn.no_grad():
        assert nn.Linear(2, 2)(gn.ones(1, 2)).shape == (1, 2)
    assert others[7].tolist() == [7.0, 7.0]
    assert held.is_meta


def test_what_is_written_stays_without_elements():
    x = absent(2, 2)
    with gn.no_grad():
        x.fill_(1).normal_().add_(1)
        x[0] = 3.0
        x.view(4).uniform_()

    assert x.is_meta


def test_gradients_have_no_elements_either():
    weight = absent(3, 3).requires_grad_()

    (weight @ weight).sum().backward()

    assert weight.grad.is_meta
    assert weight.grad.shape == (3, 3)


def test_complex_tensors_can_be_without_elements():
    made = gn.zeros(2, dtype=gn.complex64, device="meta")

    assert (made.device, made.dtype, made.shape) == ("meta", gn.complex64, (2,))


def test_a_model_of_terabytes_takes_none():
    before = settled().allocated
    with META:
        layers = nn.Sequential(nn.Linear(WIDE, WIDE), nn.GELU(), nn.Linear(WIDE, WIDE))
        optimizer = gn.optim.AdamW(layers.parameters())
        for p in layers.parameters():
            p.grad = gn.empty_like(p)
    program = program_for(gn.compile(lambda: optimizer.step()))

    assert memory.use().allocated - before < 1 << 20
    assert [tuple(p.shape) for p in layers.parameters()] == [(WIDE, WIDE), (WIDE,)] * 2
    assert sum(x.size for x in program.graph.inputs) > 8 * WIDE * WIDE


def test_a_program_is_captured_and_not_run():
    added = gn.compile(lambda x: x + 1)
    graph = program_for(added, gn.empty(3, WIDE, WIDE, device="meta")).graph

    assert [y.shape for y in graph.outputs] == [(3, WIDE, WIDE)]
    assert added(gn.ones(2)).tolist() == [2.0, 2.0]
