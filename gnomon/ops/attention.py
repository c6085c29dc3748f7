"""Attention by its definition: scores, softmax in float32, a mixture of values.

The regions `attention_forward` and `attention_backward` are what hand-written kernels claim
(gnomon/codegen/calls.py): this is their definition, and what runs where none applies.
"""

from __future__ import annotations

import math

import numpy as np

from gnomon.dtypes import accumulator, bool_, int64
from gnomon.errors import ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.arguments import floats_only
from gnomon.ops.linalg import alike
from gnomon.ops.primitives import contract, reduce, reshape, unsqueeze
from gnomon.ops.registry import internal, op
from gnomon.ops.scalars import where
from gnomon.ops.scans import LETTERS
from gnomon.ops.statistics import top


def np_attention(q, k, v, *, causal=False, scale=None, mask=None):
    """Attention by numpy."""
    repeats = q.shape[-3] // k.shape[-3] if q.ndim > 2 else 1
    k, v = (np.repeat(x, repeats, -3) if repeats > 1 else x for x in (k, v))
    scores = q @ np.swapaxes(k, -1, -2) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        t, s = scores.shape[-2:]
        scores = np.where(np.tri(t, s, s - t, dtype=bool), scores, -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    e = np.exp(scores - np.max(scores, -1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def np_attention_forward(q, k, v, *, causal=False, scale=None):
    """Attention and the logarithm of each query's sum by numpy."""
    repeats = q.shape[-3] // k.shape[-3]
    scores = q @ np.swapaxes(np.repeat(k, repeats, -3), -1, -2) * scale
    if causal:
        t, s = scores.shape[-2:]
        scores = np.where(np.tri(t, s, s - t, dtype=bool), scores, -np.inf)
    top_score = np.max(scores, -1, keepdims=True)
    lse = np.log(np.sum(np.exp(scores - top_score), -1)) + top_score[..., 0]
    return np_attention(q, k, v, causal=causal, scale=scale), lse


def attention_rule(gs, results, q: Node, k: Node, v: Node, *, causal: bool, scale: float):
    """The gradient as one call, which a kernel claims too."""
    if gs[0] is not None:
        return attention_backward(q, k, v, results, gs[0], causal=causal, scale=scale)
    p, grouped = weights(q, k, results[1], causal, scale)
    ds = p * reshape(gs[1], (*p.shape[:4], 1)) * scale
    dq = reshape(contract("bgwts,bgsz->bgwtz", ds, k), q.shape)
    return dq, contract("bgwts,bgwtz->bgsz", ds, grouped), None


@op(reference=np_attention_forward, gradient=attention_rule)
def attention_forward(
    q: Node, k: Node, v: Node, *, causal: bool, scale: float
) -> tuple[Node, Node]:
    """Attention, and log(sum(exp(scores))) of each query, which its gradient reads.

    Shapes: q (b, h, t, d), k (b, g, s, d), v (b, g, s, e) -> (b, h, t, e), (b, h, t)
    """
    scores = scored(q, k, causal, scale)
    highest = top(scores, (4,))
    e = elementwise("exp", scores - highest)
    total = unsqueeze(reduce("add", e, (4,)), 4)
    some = elementwise("eq", total, 0.0)
    y = contract("bgwts,bgsz->bgwtz", e / where(some, 1.0, total), v)
    lse = reshape(elementwise("log", total) + highest, q.shape[:-1])
    return reshape(y, (*q.shape[:-1], v.shape[-1])), lse


@internal
def attention_backward(
    q: Node,
    k: Node,
    v: Node,
    results: tuple[Node, Node],
    g: Node,
    *,
    causal: bool,
    scale: float,
) -> tuple[Node, Node, Node]:
    """The gradients of q, k and v, from attention's results and the gradient of the first.

    results are attention_forward's, (b, h, t, e) and (b, h, t); g is (b, h, t, e).
    """
    y, lse = results
    p, qs = weights(q, k, lse, causal, scale)
    group = p.shape[:4]
    gs = reshape(g, (*group, v.shape[-1]))
    dp = contract("bgwtz,bgsz->bgwts", gs, v)
    delta = reshape(reduce("add", g * y, (3,)), (*group, 1))
    ds = p * (dp - delta) * scale
    return (
        reshape(contract("bgwts,bgsz->bgwtz", ds, k), q.shape),
        contract("bgwts,bgwtz->bgsz", ds, qs),
        contract("bgwts,bgwtz->bgsz", p, gs),
    )


def weights(q: Node, k: Node, lse: Node, causal: bool, scale: float) -> tuple[Node, Node]:
    """The share of each key in each query, and queries in groups that share keys."""
    scores = scored(q, k, causal, scale)
    group = scores.shape[:4]
    p = elementwise("exp", scores - reshape(lse, (*group, 1)))
    hidden_keys = elementwise("eq", scores, float("-inf"))
    return where(hidden_keys, 0.0, p), reshape(q, (*group, q.shape[-1]))


def scored(q: Node, k: Node, causal: bool, scale: float) -> Node:
    """Scores of query heads in groups that share keys: (b, g, w, t, s)."""
    groups = k.shape[1]
    grouped = (q.shape[0], groups, q.shape[1] // groups, *q.shape[2:])
    scores = contract("bgwtz,bgsz->bgwts", reshape(q, grouped), k) * scale
    return hidden(scores, causal, None)


@op(reference=np_attention)
def attention(
    q: Node,
    k: Node,
    v: Node,
    *,
    causal: bool = False,
    scale: float | None = None,
    mask: Node | None = None,
) -> Node:
    """Mix the rows of v by how well each query matches each key.

    Shapes: q (*q, t, d), k (*k, s, d), v (*k, s, e) -> (*q, t, e)

    Softmax is taken in float32. With fewer key heads than query heads, keys are shared in equal
    groups. With `causal` the last query sees every key and each earlier one sees one key fewer.
    A mask is True where a key may be seen, or a number added to the score. A query that sees no
    key gives 0. scale defaults to 1 / sqrt(d).
    """
    floats_only("attention", q, k, v)
    check(q, k, v)
    q, k, v = alike("attention", q, k, v)
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else float(scale)
    if mask is None:
        wide = accumulator(q.dtype)
        heads = [cast(reshape(x, in_heads(x)), wide) for x in (q, k, v)]
        y, _ = attention_forward(*heads, causal=causal, scale=scale)
        return cast(reshape(y, (*q.shape[:-1], v.shape[-1])), q.dtype)
    return masked_attention(q, k, v, mask, causal, scale)


def in_heads(x: Node) -> tuple[int, ...]:
    """The shape of x with exactly a batch axis and a heads axis."""
    batch, heads = math.prod(x.shape[:-3]), x.shape[-3] if x.rank > 2 else 1
    return (batch, heads, *x.shape[-2:])


def masked_attention(q: Node, k: Node, v: Node, mask: Node, causal: bool, scale: float) -> Node:
    """Attention with a mask, written out."""
    heads, groups = (q.shape[-3], k.shape[-3]) if q.rank > 2 else (1, 1)
    shared = heads != groups
    grouped = (*q.shape[:-3], groups, heads // groups, *q.shape[-2:]) if shared else q.shape
    batch = LETTERS[: k.rank - 2]
    names = batch + ("w" if shared else "")
    wide = accumulator(q.dtype)
    scores = contract(f"{names}tz,{batch}sz->{names}ts", reshape(q, grouped), k, wide) * scale
    scores = hidden(scores, causal, spread(mask, q.rank, groups, heads, shared))
    y = contract(f"{names}ts,{batch}sz->{names}tz", cast(shares(scores), v.dtype), v)
    return reshape(y, (*q.shape[:-1], v.shape[-1]))


def check(q: Node, k: Node, v: Node) -> None:
    """Refuse sizes that do not fit."""
    together = f"q {q.shape}, k {k.shape}, v {v.shape}"
    if not 2 <= q.rank == k.rank == v.rank:
        raise ShapeError(f"attention: q, k and v need equally many axes, at least 2: {together}.")
    if q.shape[-1] != k.shape[-1] or k.shape[:-1] != v.shape[:-1] or q.shape[:-3] != k.shape[:-3]:
        raise ShapeError(
            f"attention: q and k share batch and width, k and v batch, heads and rows: {together}."
        )
    if q.rank > 2 and q.shape[-3] % max(k.shape[-3], 1):
        raise ShapeError(f"attention: query heads must be a multiple of key heads: {together}.")


def spread(mask: Node | None, rank: int, groups: int, heads: int, shared: bool) -> Node | None:
    """A mask over query heads, laid out as groups of them where keys are shared."""
    if mask is None or not shared or mask.rank < 3:
        return mask
    split = (groups, heads // groups) if mask.shape[-3] == heads else (1, 1)
    return reshape(mask, (*mask.shape[:-3], *split, *mask.shape[-2:]))


def hidden(scores: Node, causal: bool, mask: Node | None) -> Node:
    """Scores with −inf for what a query may not see."""
    never = float("-inf")
    if causal:
        t, s = scores.shape[-2:]
        rows = reshape(scores.arena.node("iota", (), size=t, dtype=int64), (t, 1))
        columns = reshape(scores.arena.node("iota", (), size=s, dtype=int64), (1, s))
        seen = elementwise("le", columns, rows if s == t else rows + (s - t))
        scores = where(seen, scores, never)
    if mask is None:
        return scores
    return where(mask, scores, never) if mask.dtype is bool_ else scores + cast(mask, scores.dtype)


def shares(scores: Node) -> Node:
    """softmax along the last axis; 0 where every score is −inf."""
    last = scores.rank - 1
    e = elementwise("exp", scores - top(scores, (last,)))
    total = unsqueeze(reduce("add", e, (last,)), last)
    return e / where(elementwise("eq", total, 0.0), 1.0, total)
