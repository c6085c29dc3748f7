"""Dispatch on one rank is what numpy computes token by token."""

from __future__ import annotations

import numpy as np

import gnomon as gn
from gnomon.distributed.token_dispatch.local import LocalTokenDispatcher
from tests.distributed.token_dispatch.layers import (
    BLOCKS,
    CHOSEN,
    EXPERTS,
    TOKENS,
    computed,
    layer_of,
    routings,
)


def test_each_token_has_what_its_experts_make_of_it(rng):
    for expert in routings(rng).values():
        layer = layer_of(rng, expert)
        y = computed(LocalTokenDispatcher(EXPERTS, BLOCKS), layer)[0]

        inner = np.einsum("td,tcdf->tcf", layer.x, layer.up[expert].astype("f8"))
        made = np.einsum("tcf,tcfd->tcd", inner / (1 + np.exp(-inner)), layer.down[expert])
        wanted = (made * layer.share[..., None]).sum(1)
        np.testing.assert_allclose(y, wanted, rtol=2e-4, atol=2e-5)


def test_rows_stand_by_expert_and_then_by_token_and_none_is_missing(rng):
    expert = routings(rng)["spread, few, one, alike"]
    x = np.arange(len(expert), dtype="f4")[:, None]
    dispatcher = LocalTokenDispatcher(EXPERTS, BLOCKS)
    share = gn.ones(*expert.shape)

    sent = dispatcher.dispatch(gn.from_numpy(x), share, gn.from_numpy(expert))

    assert sent.ends[:, -1].tolist() == [TOKENS * CHOSEN] * BLOCKS
    rows = sent.rows.numpy().reshape(BLOCKS, -1)
    for block, ends in enumerate(sent.ends.tolist()):
        for number, (low, high) in enumerate(zip([0, *ends], ends, strict=False)):
            tokens = range(block * TOKENS, (block + 1) * TOKENS)
            wanted = [t for t in tokens for k in expert[t] if k == number]
            assert rows[block, low:high].tolist() == wanted
