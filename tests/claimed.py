"""The bits of regions that hand-written kernels claim: attention, by its kernels' promised order.

Not a test. The order itself is in tests/codegen/kernels/attention_oracle.py.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from gnomon.codegen.calls import attention_spec
from gnomon.ir.node import Node
from tests.codegen.kernels.attention_oracle import backward, forward


def attention_forward(
    node: Node, q: np.ndarray, k: np.ndarray, v: np.ndarray, *masks: np.ndarray
) -> list[np.ndarray]:
    """Attention of every head, and the logarithms of its sums."""
    spec = attention_spec(node, (2, 3, 4, 0, 1), 0)
    out, lse = np.empty((*q.shape[:3], v.shape[3]), q.dtype), np.empty(q.shape[:3], q.dtype)
    for b, h in product(range(spec.batch), range(spec.heads)):
        g = h // spec.group
        mask = [m[b, h] for m in masks]
        out[b, h], lse[b, h] = forward(spec, q[b, h], k[b, g], v[b, g], *mask)
    return [out, lse]


def attention_backward(node: Node, *arrays: np.ndarray) -> list[np.ndarray]:
    """The gradients of q, k and v."""
    q, k, v, out, lse, dout, *masks = arrays
    spec = attention_spec(node, (3, 4, 5, 6, 7), 3)
    dq, dk, dv = (np.empty_like(x) for x in (q, k, v))
    for b, g in product(range(spec.batch), range(spec.key_heads)):
        heads = range(g * spec.group, (g + 1) * spec.group)
        grouped = ([x[b, h] for h in heads] for x in (out, lse, dout, *masks))
        made, dk[b, g], dv[b, g] = backward(
            spec, [q[b, h] for h in heads], k[b, g], v[b, g], *grouped
        )
        for h, slope in zip(heads, made, strict=True):
            dq[b, h] = slope
    return [dq, dk, dv]


CLAIMED = {"attention_forward": attention_forward, "attention_backward": attention_backward}
