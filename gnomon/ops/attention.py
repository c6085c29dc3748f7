"""Attention by its definition: scores, softmax in float32, a mixture of values.

Hand-written kernels claim the regions `attention_forward` and `attention_backward`
(gnomon/codegen/calls.py): the code here is their definition, and runs where no kernel applies.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import accumulator, bool_, int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ir.operators import cast, constant, elementwise
from gnomon.ops.arguments import flag, floats_only
from gnomon.ops.canonical import ROWS, SEQUENCE, leaves
from gnomon.ops.facts import Claim
from gnomon.ops.linalg import alike
from gnomon.ops.primitives import contract, expand, reduce, reshape, unsqueeze
from gnomon.ops.registry import internal, op
from gnomon.ops.scalars import where
from gnomon.ops.statistics import top


def np_attention(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    *,
    causal: bool = False,
    scale: Any = None,
    mask: np.ndarray | None = None,
):
    """Compute attention with numpy."""
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


def np_attention_forward(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    *,
    causal: bool = False,
    scale: Any = None,
):
    """Compute attention, and the logarithm of each query's sum of exponentials, with numpy."""
    repeats = q.shape[-3] // k.shape[-3]
    scores = q @ np.swapaxes(np.repeat(k, repeats, -3), -1, -2) * scale
    if causal:
        t, s = scores.shape[-2:]
        scores = np.where(np.tri(t, s, s - t, dtype=bool), scores, -np.inf)
    if mask is not None:
        scores = scores + mask
    top_score = np.max(scores, -1, keepdims=True)
    lse = np.log(np.sum(np.exp(scores - top_score), -1)) + top_score[..., 0]
    return np_attention(q, k, v, causal=causal, scale=scale, mask=mask), lse


def attention_rule(
    gs: Sequence[Node | None],
    results: Sequence[Node],
    *operands: Any,
    causal: bool,
    scale: float,
) -> tuple[Node | None, ...]:
    """The gradients of q, k and v as one call, which a kernel claims too, and the mask's own."""
    q, k, v, *rest = operands
    mask: Node | None = rest[0] if rest else None
    made = None
    if gs[0] is not None:
        made = attention_backward((q, k, v), results, gs[0], mask, causal=causal, scale=scale)
        if mask is None:
            return (*made, None)
    slopes = score_slopes(gs, results, (q, k, v), mask, causal, scale)
    of_mask = None if mask is None else reshape(slopes, mask.shape)
    if made is not None:
        return (*made, of_mask)
    grouped = reshape(q, (*slopes.shape[:4], q.shape[-1]))
    dq = reshape(contract("bgwts,bgsz->bgwtz", slopes * scale, k), q.shape)
    return dq, contract("bgwts,bgwtz->bgsz", slopes * scale, grouped), None, of_mask


def score_slopes(
    gs: Sequence[Node | None],
    results: Sequence[Node],
    qkv: tuple[Node, Node, Node],
    mask: Node | None,
    causal: bool,
    scale: float,
) -> Node:
    """The gradient of the scores, in full: only a mask's own gradient reads it."""
    q, k, v = qkv
    y, lse = results
    p, _ = weights(q, k, lse, mask, causal, scale)
    group, slope = p.shape[:4], None
    if gs[0] is not None:
        dp = contract("bgwtz,bgsz->bgwts", reshape(gs[0], (*group, v.shape[-1])), v)
        slope = dp - reshape(reduce("add", gs[0] * y, (3,)), (*group, 1))
    if gs[1] is not None:
        own = reshape(gs[1], (*group, 1))
        slope = own if slope is None else slope + own
    assert slope is not None, "one of the results has a gradient"
    return p * slope


def wide_queries(q: Node) -> tuple[int, ...]:
    """The operands of q, k and v that the kernel widens itself: not a single query."""
    return (1, 2) if q.shape[2] == 1 else (0, 1, 2)


@op(
    reference=np_attention_forward,
    gradient=attention_rule,
    claim=Claim("attention", strided=(4,), widens=wide_queries),
)
def attention_forward(
    q: Node, k: Node, v: Node, mask: Node | None = None, *, causal: bool, scale: float
) -> tuple[Node, Node]:
    """Attention, and log(sum(exp(scores))) of each query, which its gradient needs.

    Shapes: q (b, h, t, d), k (b, g, s, d), v (b, g, s, e) -> (b, h, t, e), (b, h, t)

    A mask (b, h, t, s) is added to the scores.

    >>> k, v = ones(1, 1, 4, 3), ones(1, 1, 4, 5)
    >>> attention_forward(ones(1, 1, 2, 3), k, v, causal=False, scale=1.0)[0].shape
    Size([1, 1, 2, 5])
    >>> attention_forward(ones(1, 1, 2, 3), k, v, causal=False, scale=0.0)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: attention: the scale is positive: got 0.0.
    """
    flag("attention", "causal", causal)
    if not scale > 0:
        raise ArgumentError(f"attention: the scale is positive: got {scale}.")
    scores = scored(q, k, mask, causal, scale)
    highest = top(scores, (4,))
    e = elementwise("exp", scores - highest)
    total = unsqueeze(reduce("add", e, (4,)), 4)
    some = elementwise("eq", total, 0.0)
    y = contract("bgwts,bgsz->bgwtz", e / where(some, 1.0, total), v)
    lse = reshape(elementwise("log", total) + highest, q.shape[:-1])
    return reshape(y, (*q.shape[:-1], v.shape[-1])), lse


def all_wide(q: Node) -> tuple[int, ...]:
    """The operands of the gradient that the kernel widens itself."""
    return (0, 1, 2, 5)


@internal(claim=Claim("attention_grad", strided=(4,), widens=all_wide, sums=True))
def attention_backward(
    qkv: tuple[Node, Node, Node],
    results: tuple[Node, Node],
    g: Node,
    mask: Node | None = None,
    *,
    causal: bool,
    scale: float,
) -> tuple[Node, Node, Node]:
    """The gradients of q, k and v, from attention's results and the gradient of the first.

    results are attention_forward's, (b, h, t, e) and (b, h, t); g is (b, h, t, e).
    """
    (q, k, v), (y, lse) = qkv, results
    p, qs = weights(q, k, lse, mask, causal, scale)
    group = p.shape[:4]
    gs = reshape(g, (*group, v.shape[-1]))
    dp = contract("bgwtz,bgsz->bgwts", gs, v)
    delta = reshape(reduce("add", g * y, (3,)), (*group, 1))
    ds = p * (dp - delta) * scale
    over_queries = leaves(p.shape[2], ROWS), leaves(p.shape[3], SEQUENCE)
    return (
        reshape(summed_shares("bgwts,bgsz->bgwtz", ds, k, (1,)), q.shape),
        summed_shares("bgwts,bgwtz->bgsz", ds, qs, over_queries),
        summed_shares("bgwts,bgwtz->bgsz", p, gs, over_queries),
    )


def summed_shares(spec: str, shares: Node, rows: Node, counts: tuple[int, ...]) -> Node:
    """Rows weighted by their shares and summed over keys or queries, in the kernel's leaves."""
    return shares.arena.node("contract", (shares, rows), spec=spec, leaves=counts, dtype=rows.dtype)


def weights(
    q: Node, k: Node, lse: Node, mask: Node | None, causal: bool, scale: float
) -> tuple[Node, Node]:
    """The softmax weight of each key for each query, and queries in groups that share keys."""
    scores = scored(q, k, mask, causal, scale)
    group = scores.shape[:4]
    p = elementwise("exp", scores - reshape(lse, (*group, 1)))
    hidden_keys = elementwise("eq", scores, float("-inf"))
    return where(hidden_keys, 0.0, p), reshape(q, (*group, q.shape[-1]))


def scored(q: Node, k: Node, mask: Node | None, causal: bool, scale: float) -> Node:
    """Scores of query heads in groups that share keys: (b, g, w, t, s)."""
    groups = k.shape[1]
    grouped = (q.shape[0], groups, q.shape[1] // max(groups, 1), *q.shape[2:])
    scores = contract("bgwtz,bgsz->bgwts", reshape(q, grouped), k) * scale
    return hidden(scores, causal, None if mask is None else reshape(mask, scores.shape))


@op(reference=np_attention, autocast="narrow")
def attention(
    q: Node,
    k: Node,
    v: Node,
    *,
    causal: bool = False,
    scale: float | None = None,
    mask: Node | None = None,
) -> Node:
    """Average the rows of v, weighted by how well each query matches each key.

    Shapes: q (*q, t, d), k (*k, s, d), v (*k, s, e) -> (*q, t, e)

    Softmax is computed in float32. With fewer key heads than query heads, keys are shared in equal
    groups. With `causal` the last query sees every key and each earlier one sees one key fewer. A
    mask is True where a key may be seen, or a number added to the score. A query that sees no key
    gives 0. scale defaults to 1 / sqrt(d).

    softmax(scale · q kᵀ) v (Vaswani et al. 2017, arXiv:1706.03762, eq. 1); shared key heads as
    in Ainslie et al. 2023, arXiv:2305.13245.

    >>> attention(eye(2), eye(2), tensor([[1.0], [3.0]]), causal=True)
    Tensor([[1.    ],
            [2.3395]])
    >>> attention(ones(1, 1, 2, 3), ones(1, 1, 4, 5), ones(1, 1, 4, 5))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: attention: q and k share batch and width, k and v batch, heads and
    rows: q (1, 1, 2, 3), k (1, 1, 4, 5), v (1, 1, 4, 5).
    """
    floats_only("attention", q, k, v)
    check_attention(q, k, v)
    q, k, v = alike("attention", q, k, v)
    scale = 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else float(scale)
    wide = accumulator(q.dtype)
    heads = [cast(reshape(x, in_heads(x)), wide) for x in (q, k, v)]
    if not scale > 0:  # kernels look for the highest score before they scale
        heads[0], scale = heads[0] * scale, 1.0
    shown = None if mask is None else reshape(as_bias(mask, q, k), (*in_heads(q)[:3], k.shape[-2]))
    y, _ = attention_forward(*heads, shown, causal=causal, scale=scale)
    return cast(reshape(y, (*q.shape[:-1], v.shape[-1])), q.dtype)


def as_bias(mask: Node, q: Node, k: Node) -> Node:
    """A mask as a tensor that is added to the scores: (*q, t, s)."""
    wide = accumulator(q.dtype)
    if mask.dtype is bool_:
        zero, never = (constant(mask.arena, value, wide) for value in (0.0, float("-inf")))
        mask = where(mask, zero, never)
    shape = (*q.shape[:-1], k.shape[-2])
    try:
        return expand(cast(mask, wide), shape)
    except ShapeError:
        raise ShapeError(
            f"attention: the mask must broadcast to (queries, keys) of every head, {shape}: "
            f"got {mask.shape}."
        ) from None


def in_heads(x: Node) -> tuple[int, ...]:
    """The shape of x with exactly a batch axis and a heads axis."""
    batch, heads = math.prod(x.shape[:-3]), x.shape[-3] if x.rank > 2 else 1
    return (batch, heads, *x.shape[-2:])


def check_attention(q: Node, k: Node, v: Node) -> None:
    """Refuse shapes of q, k and v that do not fit each other."""
    together = f"q {q.shape}, k {k.shape}, v {v.shape}"
    if not 2 <= q.rank == k.rank == v.rank:
        raise ShapeError(f"attention: q, k and v need equally many axes, at least 2: {together}.")
    if q.shape[-1] != k.shape[-1] or k.shape[:-1] != v.shape[:-1] or q.shape[:-3] != k.shape[:-3]:
        raise ShapeError(
            f"attention: q and k share batch and width, k and v batch, heads and rows: {together}."
        )
    if q.rank > 2 and (q.shape[-3] % k.shape[-3] if k.shape[-3] else q.shape[-3]):
        raise ShapeError(f"attention: query heads must be a multiple of key heads: {together}.")


def hidden(scores: Node, causal: bool, mask: Node | None) -> Node:
    """Scores plus the mask, with −inf where a query may not see a key."""
    never = float("-inf")
    if causal:
        t, s = scores.shape[-2:]
        rows = reshape(scores.arena.node("iota", (), size=t, dtype=int64), (t, 1))
        columns = reshape(scores.arena.node("iota", (), size=s, dtype=int64), (1, s))
        seen = elementwise("le", columns, rows if s == t else rows + (s - t))
        scores = where(seen, scores, never)
    return scores if mask is None else scores + mask
