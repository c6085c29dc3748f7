"""The gradient of attention: right within rounding, and its promised order to the bit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gnomon.codegen.machine import AVX2, AVX512, NEON
from gnomon.dtypes import bfloat16
from tests.codegen.kernels.attention_oracle import backward
from tests.codegen.kernels.exact import same_bits
from tests.codegen.kernels.heads import (
    Sizes,
    arrays,
    masked,
    run_backward,
    run_forward,
    spec_of,
)

CASES = [
    (Sizes(1, 1, 1, 5, 5, 4, 4), False, (1, 1)),
    (Sizes(2, 4, 2, 70, 70, 16, 16), True, (2, 1)),
    (Sizes(1, 3, 1, 40, 200, 8, 24), True, (1, 2)),
    (Sizes(1, 1, 1, 90, 150, 20, 70), False, (1, 2)),
    (Sizes(1, 2, 1, 288, 140, 6, 5), True, (2, 4)),
]


def plain(x: dict[str, np.ndarray], spec) -> list[np.ndarray]:
    """dq, dk, dv by the definition, in float64."""
    q, k, v, dout = (x[name].astype(np.float64) for name in ("q", "k", "v", "dout"))
    wide_k, wide_v = np.repeat(k, spec.group, 1), np.repeat(v, spec.group, 1)
    scores = q @ wide_k.swapaxes(-1, -2) * spec.scale
    if spec.causal:
        seen = np.tri(spec.queries, spec.keys, spec.keys - spec.queries, dtype=bool)
        scores = np.where(seen, scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    weights = np.exp(scores - np.where(top == -np.inf, 0, top))
    total = weights.sum(-1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    slopes = dout @ wide_v.swapaxes(-1, -2)
    slopes = weights * (slopes - (weights * slopes).sum(-1, keepdims=True)) * spec.scale
    dk, dv = slopes.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ dout
    grouped = (spec.batch, spec.key_heads, spec.group)
    dk, dv = (z.reshape(*grouped, *z.shape[2:]).sum(2) for z in (dk, dv))
    return [slopes @ wide_k, dk, dv]


@pytest.mark.parametrize(("sizes", "causal", "leaves"), CASES, ids=str)
def test_gradients_are_right_within_rounding(rng, sizes, causal, leaves):
    spec, x = spec_of(sizes, causal, leaves), arrays(rng, sizes)

    grads = run_backward(spec, x, run_forward(spec, x))

    for grad, expected in zip(grads, plain(x, spec), strict=True):
        assert np.abs(grad - expected).max() < 2e-6 * max(1, np.abs(expected).max())


@pytest.mark.parametrize(
    "sizes", [Sizes(1, 2, 1, 40, 45, 8, 24), Sizes(1, 1, 1, 33, 33, 70, 5)], ids=str
)
def test_narrow_operands_give_the_bits_of_wide_ones(rng, sizes):
    spec, x = spec_of(sizes, True), arrays(rng, sizes)
    narrow = {name: x[name].astype(bfloat16.numpy) for name in ("q", "k", "v", "dout")}
    wide = {name: value.astype(np.float32) for name, value in narrow.items()}
    few = replace(spec, **{name: replace(getattr(spec, name), narrow="bfloat") for name in "qkv"})
    made = run_forward(spec, wide)

    assert all(map(same_bits, run_forward(few, wide | {n: narrow[n] for n in "qkv"}), made))
    expected = run_backward(spec, wide, made)
    assert all(map(same_bits, run_backward(few, narrow, made), expected))


@pytest.mark.parametrize(("sizes", "causal", "leaves"), CASES[1:], ids=str)
@pytest.mark.parametrize("machine", [AVX2, AVX512, NEON], ids=lambda machine: machine.name)
def test_every_machine_gives_the_bits_of_the_promised_order(rng, sizes, causal, leaves, machine):
    spec, x = spec_of(sizes, causal, leaves), arrays(rng, sizes)
    out, lse = run_forward(spec, x)

    dq, dk, dv = run_backward(spec, x, (out, lse), machine=machine, threads=2)

    batch, key, heads = sizes.b - 1, sizes.g - 1, slice(sizes.h - spec.group, sizes.h)
    mine = [list(value[batch, heads]) for value in (x["q"], out, lse, x["dout"])]
    expected = backward(spec, mine[0], x["k"][batch, key], x["v"][batch, key], *mine[1:])
    assert same_bits(dq[batch, heads].copy(), np.array(expected[0]))
    assert same_bits(dk[batch, key], expected[1])
    assert same_bits(dv[batch, key], expected[2])


MASKS = [
    (Sizes(2, 4, 2, 70, 150, 16, 20), (2, 1, 1, 150), False),
    (Sizes(1, 2, 1, 90, 90, 16, 16), (1, 1, 90, 90), True),
    (Sizes(1, 2, 2, 40, 33, 8, 8), (1, 2, 40, 33), False),
]


@pytest.mark.parametrize(("sizes", "shape", "causal"), MASKS, ids=str)
@pytest.mark.parametrize("machine", [AVX2, AVX512], ids=lambda machine: machine.name)
def test_a_mask_is_added_to_the_scores(rng, sizes, shape, causal, machine):
    spec, x = masked(spec_of(sizes, causal), arrays(rng, sizes), rng, shape)
    x["mask"][..., 3:4, :] = -np.inf  # a query that sees nothing, where masks differ by query
    out, lse = run_forward(spec, x)

    dq, dk, dv = run_backward(spec, x, (out, lse), machine=machine)

    every = np.broadcast_to(x["mask"], (sizes.b, sizes.h, sizes.t, sizes.s))
    batch, key, heads = sizes.b - 1, sizes.g - 1, slice(sizes.h - spec.group, sizes.h)
    mine = [list(value[batch, heads]) for value in (x["q"], out, lse, x["dout"], every)]
    expected = backward(spec, mine[0], x["k"][batch, key], x["v"][batch, key], *mine[1:])
    assert same_bits(dq[batch, heads].copy(), np.array(expected[0]))
    assert same_bits(dk[batch, key], expected[1])
    assert same_bits(dv[batch, key], expected[2])


def test_doubles_are_right_too(rng):
    sizes = Sizes(1, 2, 1, 70, 70, 8, 8)
    spec, x = spec_of(sizes, True, (2, 1), "double"), arrays(rng, sizes, "double")

    grads = run_backward(spec, x, run_forward(spec, x))

    for grad, expected in zip(grads, plain(x, spec), strict=True):
        assert np.abs(grad - expected).max() < 1e-13


def test_gradients_of_keys_are_the_tree_over_heads(rng):
    # two halves of a group, computed apart and added, are the whole
    sizes, half = Sizes(1, 4, 1, 64, 64, 8, 8), Sizes(1, 2, 1, 64, 64, 8, 8)
    whole, parts = spec_of(sizes, True, (4, 1)), spec_of(half, True, (2, 1))
    x = arrays(rng, sizes)
    made = run_forward(whole, x)

    _, dk, dv = run_backward(whole, x, made)

    sums = []
    for low in (0, 2):
        heads = slice(low, low + 2)
        y = dict(x, q=x["q"][:, heads].copy(), dout=x["dout"][:, heads].copy())
        sums.append(run_backward(parts, y, tuple(z[:, heads].copy() for z in made)))
    assert same_bits(dk, sums[0][1] + sums[1][1])
    assert same_bits(dv, sums[0][2] + sums[1][2])


def test_a_query_that_sees_nothing_has_no_gradient(rng):
    sizes = Sizes(1, 1, 1, 7, 3, 4, 4)
    spec, x = spec_of(sizes, True), arrays(rng, sizes)

    dq, dk, dv = run_backward(spec, x, run_forward(spec, x))

    assert same_bits(dq[0, 0, :4].copy(), np.zeros((4, 4), np.float32))
    assert np.isfinite(dk).all()
    assert np.isfinite(dv).all()
