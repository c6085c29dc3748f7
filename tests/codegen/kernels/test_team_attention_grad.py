"""The gradient of attention by teams: the bits of the CPU's kernel."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.codegen.kernels.team_attention_grad import takes_grad
from gnomon.codegen.machine import CARD
from tests.codegen.kernels.heads import Sizes, spec_of
from tests.codegen.kernels.test_team_attention import ATTENTION, causal, heads
from tests.cuda.cards import card_of_teams

CASES = {
    **{name: case for name, case in ATTENTION.items() if name != "rows first"},
    "leaves": (causal, heads(256, 256, 2)),
}
"""Attention whose gradients are compared."""


there = pytest.fixture(card_of_teams(2), name="there")


def gradients(name: str, device: str) -> list[bytes]:
    """The bytes of the gradients of q, k and v."""
    f, given = CASES[name]
    leaves = [gn.tensor(x, device=device, requires_grad=True) for x in given]
    made = f(*leaves)
    weights = np.cos(np.arange(made.numel())).astype(np.float32).reshape(tuple(made.shape))
    (made * gn.tensor(weights, device=device)).sum().backward()
    return [leaf.grad.cpu().numpy().tobytes() for leaf in leaves]


def test_gradients_have_the_bits_of_the_cpu(there):
    for name in CASES:
        assert gradients(name, "cuda") == gradients(name, "cpu"), name


def test_no_order_of_threads_changes_a_bit(there):
    there.order = np.random.default_rng(0)

    assert gradients("causal", "cuda") == gradients("causal", "cpu")


def test_wide_heads_are_left_to_the_other_kernel():
    assert takes_grad(spec_of(Sizes(), causal=False), CARD)
    assert not takes_grad(spec_of(Sizes(d=129), causal=False), CARD)
