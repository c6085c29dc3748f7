"""Attention and its gradient in plain numpy, in the order that the kernels promise."""

from __future__ import annotations

from itertools import chain as joined

import numpy as np

from gnomon.codegen.kernels.attention_parts import BLOCK_KEYS, BLOCK_QUERIES, AttentionSpec
from gnomon.codegen.kernels.order import combine_counts
from gnomon.codegen.math import FUNCTIONS
from tests.codegen.kernels.exact import fma
from tests.oracle.algebra import ExactAlgebra


def chain(a: np.ndarray, b: np.ndarray, total: np.ndarray) -> np.ndarray:
    """total + a b, one fused multiply-add after another over a's columns, b's rows."""
    for k in range(a.shape[1]):
        total = fma(a[:, k, None], b[k], total)
    return total


def fresh(*shape: int, like: np.ndarray) -> np.ndarray:
    """Where chains start."""
    return np.full(shape, -0.0, like.dtype)


def blocks(spec: AttentionSpec) -> list[list[tuple[int, int]]]:
    """The blocks of queries (first, end) of each leaf."""
    return [
        [
            (start, min(start + BLOCK_QUERIES, (leaf + 1) * spec.leaf))
            for start in range(leaf * spec.leaf, (leaf + 1) * spec.leaf, BLOCK_QUERIES)
        ]
        for leaf in range(spec.leaves[1])
    ]


def squares(spec: AttentionSpec, start: int, end: int) -> list[tuple[slice, np.ndarray]]:
    """The blocks of keys that a block of queries meets, and who sees what in each."""
    shift = spec.keys - spec.queries
    seen = min(max(end + shift, 0), spec.keys) if spec.causal else spec.keys
    found = []
    for key in range(0, seen, BLOCK_KEYS):
        keys = np.arange(key, min(key + BLOCK_KEYS, seen))
        rows = np.arange(start, end)[:, None] + shift
        found.append((slice(key, keys[-1] + 1), (keys <= rows) | (not spec.causal)))
    return found


def scores_of(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """q k^T, each a chain over the width."""
    return chain(q, k.T, fresh(len(q), len(k), like=q))


def forward(
    spec: AttentionSpec, q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None
) -> tuple:
    """out and lse of one head."""
    a = ExactAlgebra(spec.scalar)
    out, lse = np.empty((spec.queries, spec.value_width), q.dtype), np.empty(spec.queries, q.dtype)
    for start, end in joined.from_iterable(blocks(spec)):
        top, total = a.const(-np.inf), a.const(0.0)
        gathered = fresh(end - start, spec.value_width, like=q)
        for keys, seen in squares(spec, start, end):
            scores = scores_of(q[start:end], k[keys])
            if mask is not None:
                scores = a.fma(scores, a.const(spec.scale), mask[start:end, keys])
            highest = np.where(seen, scores, -np.inf).max(1).astype(q.dtype)
            old, top = top, np.maximum(top, highest * a.const(spec.scale if mask is None else 1))
            base = np.where(top == -np.inf, 0, top).astype(q.dtype)
            with np.errstate(invalid="ignore"):
                shrink = FUNCTIONS["exp"](a, old - base)
            inside = scores - base[:, None]
            if mask is None:
                inside = a.fma(scores, a.const(spec.scale), -base[:, None])
            weights = np.where(seen, FUNCTIONS["exp"](a, inside), 0).astype(q.dtype)
            total = total * shrink
            for column in weights.T:
                total = total + column
            gathered = chain(weights, v[keys], gathered * shrink[:, None])
        total = np.broadcast_to(total, end - start)
        divisor = np.where(total == 0, 1, total)[:, None].astype(q.dtype)
        out[start:end] = gathered / divisor + a.const(0.0)
        lse[start:end] = top + FUNCTIONS["log"](a, total)
    return out, lse


def row_sums(x: np.ndarray) -> np.ndarray:
    """The sum of each row in 64 virtual lanes."""
    lanes = fresh(len(x), -(-x.shape[1] // 64) * 64, like=x)
    lanes[:, : x.shape[1]] = x
    total = lanes[:, :64]
    for start in range(64, lanes.shape[1], 64):
        total = total + lanes[:, start : start + 64]
    while total.shape[1] > 1:
        half = total.shape[1] // 2
        total = total[:, :half] + total[:, half:]
    return total[:, 0]


def weights_of(
    spec: AttentionSpec, scores: np.ndarray, lse: np.ndarray, mask: np.ndarray | None
) -> np.ndarray:
    """The share of each key in each query."""
    a = ExactAlgebra(spec.scalar)
    if mask is None:
        return FUNCTIONS["exp"](a, a.fma(scores, a.const(spec.scale), -lse))
    scores = a.fma(scores, a.const(spec.scale), mask)
    with np.errstate(invalid="ignore"):
        weights = FUNCTIONS["exp"](a, scores - lse)
    return np.where(scores == -np.inf, a.const(0.0), weights)


def backward(spec: AttentionSpec, qs, k, v, outs, lses, douts, masks=None) -> tuple:
    """dq of each head of a group, dk and dv of their head of keys; inputs are lists over heads."""
    a, stack = ExactAlgebra(spec.scalar), []
    dqs = [np.empty_like(q) for q in qs]
    counts = iter(combine_counts([(spec.group, spec.leaves[0]), (spec.queries, spec.leaves[1])]))
    masks = masks or [None] * len(qs)
    for q, out, lse, dout, dq, mask in zip(qs, outs, lses, douts, dqs, masks, strict=True):
        for leaf in blocks(spec):
            dk, dv = fresh(*k.shape, like=q), fresh(*v.shape, like=q)
            for start, end in leaf:
                rows = slice(start, end)
                delta = row_sums(dout[rows] * out[rows])
                slopes_q = fresh(end - start, spec.width, like=q)
                for keys, seen in squares(spec, start, end):
                    weights = weights_of(
                        spec,
                        scores_of(q[rows], k[keys]),
                        lse[rows, None],
                        None if mask is None else mask[rows, keys],
                    )
                    slopes = scores_of(dout[rows], v[keys]) - delta[:, None]
                    slopes = weights * slopes * a.const(spec.scale)
                    weights, slopes = (np.where(seen, x, a.const(0.0)) for x in (weights, slopes))
                    dv[keys] = chain(weights.T, dout[rows], dv[keys])
                    dk[keys] = chain(slopes.T, q[rows], dk[keys])
                    slopes_q = chain(slopes, k[keys], slopes_q)
                dq[rows] = slopes_q + a.const(0.0)
            for _ in range(next(counts)):
                older_k, older_v = stack.pop()
                dk, dv = older_k + dk, older_v + dv
            stack.append((dk, dv))
    (dk, dv), = stack  # fmt: skip
    return dqs, dk + a.const(0.0), dv + a.const(0.0)
