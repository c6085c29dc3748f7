"""Products of the package by tensor cores beside the model of their sums, and their speed.

Factors cancel each other, so that a sum's bits are those that its order of addition leaves.
"""

from __future__ import annotations

import numpy as np

import gnomon as gn
from benchmarks.cuda.tensor_core import model, numbers, rounded
from gnomon.ops.canonical import CONTRACTED, leaves

__all__ = ["KINDS", "SIZES", "TIMED", "cancelling", "has_the_sums", "on_card", "product", "same"]

KINDS = {"bf16": gn.bfloat16, "f16": gn.float16}
SIZES = [(256, 256, 1024), (130, 392, 264), (7, 384, 520), (65, 67, 129)]
"""Rows, columns and steps."""
TIMED = 4096
"""Rows, columns and steps of the product that is timed."""


def cancelling(
    r: np.random.Generator, rows: int, columns: int, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Factors whose exact sums are 0: what is left is what their order of addition cuts off."""
    half, order = steps // 2, r.permutation(steps // 2)
    x, w = drawn(r, rows, half), drawn(r, half, columns)
    rest = np.zeros((rows, steps % 2), np.float32), np.zeros((steps % 2, columns), np.float32)
    return np.hstack([x, -x[:, order], rest[0]]), np.vstack([w, w[order], rest[1]])


def drawn(r: np.random.Generator, *shape: int) -> np.ndarray:
    """Numbers of a normal distribution."""
    return r.standard_normal(shape).astype(np.float32)


def chain(a: np.ndarray, b: np.ndarray, kind: str) -> np.ndarray:
    """The sums of one leaf: instructions of sixteen steps, from zero; factors as 16 bits."""
    (rows, steps), columns = a.shape, b.shape[1]
    a = np.pad(a, ((0, -rows % 16), (0, -steps % 16))).reshape(-1, 16, steps + -steps % 16)
    b = np.pad(b, ((0, -steps % 16), (0, -columns % 8))).reshape(a.shape[2], -1, 8)
    left, right = np.repeat(a, b.shape[1], 0), np.tile(b.transpose(1, 0, 2), (len(a), 1, 1))
    sums = np.zeros((len(left), 16, 8), np.float32)
    for k in range(0, a.shape[2], 16):
        factors = numbers(left[:, :, k : k + 16], kind), numbers(right[:, k : k + 16], kind)
        sums = model(*factors, sums, kind)
    whole = sums.reshape(len(a), -1, 16, 8).swapaxes(1, 2).reshape(16 * len(a), -1)
    return whole[:rows, :columns]


def product(a: np.ndarray, b: np.ndarray, kind: str) -> np.ndarray:
    """A product of float32 numbers, rounded to 16 bits: leaves, and a tree over them."""
    count = leaves(a.shape[1], CONTRACTED)
    pairs = zip(
        np.split(rounded(a, kind), count, 1), np.split(rounded(b, kind), count), strict=True
    )
    parts = [chain(*pair, kind) for pair in pairs]
    while len(parts) > 1:
        parts = [one + other for one, other in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def on_card(x: np.ndarray, kind: str) -> gn.Tensor:
    """Numbers as factors on the card."""
    return gn.tensor(x, device="cuda").to(KINDS[kind])


def same(found: gn.Tensor, wanted: np.ndarray, kind: str) -> bool:
    """Whether a tensor has the 16 bits to which sums are rounded; NaN are alike."""
    expected = numbers(rounded(wanted, kind), kind)
    made = found.float().cpu().numpy().astype(np.float64)
    return np.array_equal(made, expected, equal_nan=True)


def has_the_sums(sizes: tuple[int, int, int], kind: str) -> bool:
    """Whether products of a size have the model's sums, however their factors lie."""
    x, w = cancelling(np.random.default_rng(0), *sizes)
    a, b, wanted = on_card(x, kind), on_card(w, kind), product(x, w, kind)
    turned = on_card(np.ascontiguousarray(w.T), kind)
    made = a @ b, a @ turned.T, a.T.contiguous().T @ b
    return all(same(each, wanted, kind) for each in made)
