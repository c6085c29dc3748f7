"""Attention by teams, forward: the bits of the CPU's kernel, by any order of threads."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import gnomon as gn
from gnomon.codegen.kernels.team_attention import takes
from gnomon.codegen.machine import AVX2, CARD
from gnomon.nn import functional as F
from tests.codegen.kernels.heads import Sizes, spec_of
from tests.cuda.cards import agrees, card_of_teams

R = np.random.default_rng(7)
Inputs = tuple[np.ndarray, np.ndarray, np.ndarray]


def heads(
    queries: int, keys: int, width: int, count: tuple[int, int] = (1, 1), values: int = 0
) -> Inputs:
    """q, k and v of some heads of queries and of keys."""
    shapes = (
        (1, count[0], queries, width),
        (1, count[1], keys, width),
        (1, count[1], keys, values or width),
    )
    q, k, v = (R.standard_normal(shape).astype(np.float32) for shape in shapes)
    return q, k, v


def masked(q: gn.Tensor, k: gn.Tensor, v: gn.Tensor, least: int = 0) -> gn.Tensor:
    """Attention with a mask that is added, or, from a least key on, one of truths."""
    number = q[..., :1] * 0 + gn.arange(k.shape[2], device=q.device)
    mask = number >= least if least else number * 0.01
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def turned(q: gn.Tensor, k: gn.Tensor, v: gn.Tensor) -> gn.Tensor:
    """Causal attention of heads that are behind rows in memory."""
    q, k, v = (x.transpose(1, 2).contiguous().transpose(1, 2) for x in (q, k, v))
    return causal(q, k, v)


def narrow(q: gn.Tensor, k: gn.Tensor, v: gn.Tensor) -> gn.Tensor:
    """Attention of bfloat16."""
    return plain(*(x.bfloat16() for x in (q, k, v))).float()


plain = F.scaled_dot_product_attention
causal = partial(plain, is_causal=True)
ATTENTION: dict[str, tuple[Callable[..., gn.Tensor], Inputs]] = {
    "one": (plain, heads(1, 1, 1)),
    "a row": (plain, heads(1, 150, 9)),
    "blocks of keys": (plain, heads(9, 140, 16, values=21)),
    "causal": (causal, heads(34, 34, 8, (2, 2))),
    "causal blocks": (causal, heads(140, 140, 4)),
    "fewer queries": (causal, heads(5, 131, 4)),
    "more queries": (causal, heads(40, 5, 4)),
    "shared keys": (partial(causal, enable_gqa=True), heads(9, 9, 8, (4, 2))),
    "mask": (masked, heads(9, 140, 8)),
    "nothing seen": (partial(masked, least=12), heads(9, 11, 8)),
    "rows first": (turned, heads(20, 30, 8, (2, 2))),
    "bf16": (narrow, heads(20, 20, 8)),
}
"""Attention of all kinds, with sizes about those of blocks."""


there = pytest.fixture(card_of_teams(2), name="there")


def test_attention_has_the_bits_of_the_cpu(there):
    for name in ATTENTION:
        assert agrees(*ATTENTION[name]), name


def test_numbers_that_are_not_finite_do_too(there):
    q, k, v = (x.copy() for x in heads(9, 20, 8))
    q[0, 0, 3], k[0, 0, 7], v[0, 0, 11, 2] = np.nan, np.inf, -np.inf
    made = [plain(*(gn.tensor(x, device=device) for x in (q, k, v))) for device in ("cpu", "cuda")]

    assert np.array_equal(*(x.cpu().numpy() for x in made), equal_nan=True)


@pytest.mark.parametrize("order", range(2))
def test_no_order_of_threads_changes_a_bit(there, order):
    there.order = np.random.default_rng(order)

    assert agrees(*ATTENTION["causal"])


def test_doubles_and_wide_values_are_left_to_the_other_kernel():
    spec = spec_of(Sizes(), causal=False)

    assert takes(spec, CARD)
    assert not takes(spec, AVX2)
    assert not takes(spec_of(Sizes(), causal=False, scalar="double"), CARD)
    assert not takes(spec_of(Sizes(e=129), causal=False), CARD)
