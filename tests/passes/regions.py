"""A program for every region that a kernel claims or that is computed in chunks. Not a test.

Each has the region, and where it has one its gradient's, between an input and what reads it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gnomon.dtypes import bfloat16, float32, int64, uint8
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ops.attention import attention_forward
from gnomon.ops.blocks import block_product
from gnomon.ops.grouped import grouped_mm
from gnomon.ops.indexing import index_copy
from gnomon.ops.integer_blocks import block_product_int8
from gnomon.ops.linear_cross_entropy import linear_cross_entropy
from gnomon.ops.registry import REGIONS
from gnomon.ops.routed import routed_mm
from gnomon.ops.row_writes import put_rows
from gnomon.ops.sliding import spread_back
from gnomon.ops.windows import interleave, zero_padding
from tests.gradients import gradients
from tests.graphs import seed_of
from tests.quantized import random_blocks

ENDS = np.array([[3, 9], [9, 20], [20, 20], [31, 40]])
RUNS = np.array([[3, 9, 9, 12], [0, 5, 9, 11], [12, 12, 12, 12], [0, 0, 1, 4]])
Made = tuple[Graph, list[np.ndarray]]


def claimed() -> set[str]:
    """The names of all regions that kernels or chunks compute."""
    return {name for name, op in REGIONS.items() if op.facts.claim or op.facts.chunked}


class Given:
    """The inputs of a program, and numbers for them."""

    def __init__(self) -> None:
        self.arena, self.leaves, self.arrays = Arena(), [], []
        self.rng = np.random.default_rng(3)

    def floats(self, *shape: int, dtype=float32) -> Node:
        """An input of random numbers."""
        return self.take(self.rng.standard_normal(shape).astype(dtype.numpy), dtype)

    def numbers(self, below: int, *shape: int) -> Node:
        """An input of positions."""
        return self.take(self.rng.integers(0, below, shape), int64)

    def take(self, array: np.ndarray, dtype) -> Node:
        """An input that holds an array."""
        self.arrays.append(array)
        self.leaves.append(self.arena.input(array.shape, dtype, f"x{len(self.leaves)}"))
        return self.leaves[-1]

    def made(self, *results: Node) -> Made:
        """The program of these results, and the gradients of the first with respect to floats."""
        floats = [x for x in self.leaves if x.dtype.is_floating_point]
        y = results[0]
        slopes = gradients(y, seed_of(y) if y.rank == 0 else self.slope_of(y), floats)
        return Graph(self.leaves, [*results, *(g for g in slopes if g is not None)]), self.arrays

    def slope_of(self, y: Node) -> Node:
        """A gradient to begin with, as an input."""
        return self.floats(*y.shape, dtype=y.dtype)


def attention(causal: bool, heads: int = 4, groups: int = 4) -> Made:
    """Attention and its gradient."""
    given = Given()
    q = given.floats(4, heads, 512, 8)
    k, v = (given.floats(4, groups, 512, 8) for _ in range(2))
    return given.made(attention_forward(q, k, v, causal=causal, scale=0.5)[0])


def grouped(*shapes: tuple[int, ...]) -> Made:
    """A grouped product and both gradients, which are grouped again."""
    given = Given()
    a, b = (given.floats(*shape) for shape in shapes)
    return given.made(grouped_mm(a, b, given.take(ENDS, int64)))


def routed() -> Made:
    """A product of rows in four blocks and both gradients, which are routed again."""
    given = Given()
    x, mats = given.floats(48, 256), given.floats(4, 256, 24)
    return given.made(routed_mm(x, mats, given.take(RUNS, int64)))


def loss(dtype=float32, rows: tuple[int, ...] = (64,), **settings) -> Made:
    """A loss in chunks and the slopes of both factors."""
    given = Given()
    x, weight = given.floats(*rows, 8, dtype=dtype), given.floats(512, 8, dtype=dtype)
    return given.made(linear_cross_entropy(x, weight, given.numbers(512, *rows), **settings))


def rows_put() -> Made:
    """Slices put in their places."""
    given = Given()
    x, values, index = given.floats(8, 16, 4), given.floats(8, 4, 4), given.numbers(16, 4)
    return Graph(given.leaves, [index_copy(x, 1, index, values)]), given.arrays


def rows_put_by_row() -> Made:
    """Slices put in their places, with positions for each place of the first axis."""
    given = Given()
    x, values, index = given.floats(8, 2, 16, 4), given.floats(8, 2, 4, 4), given.numbers(16, 8, 4)
    return Graph(given.leaves, [put_rows(x, index, values, axis=2)]), given.arrays


def slid() -> Made:
    """The transpose of a convolution with strides."""
    given = Given()
    g, weight = given.floats(4, 8, 6, 6), given.floats(8, 64, 3, 3)
    y = spread_back(g, weight, (13, 13), ((0, 0), (0, 0)), ((2, 2), (1, 1), 1))
    return Graph(given.leaves, [y]), given.arrays


def padded() -> Made:
    """Zeros around images."""
    given = Given()
    y = zero_padding(given.floats(4, 8, 6, 6), (1, 1), (1, 1))
    return Graph(given.leaves, [y]), given.arrays


def interleaved() -> Made:
    """Phases side by side."""
    given = Given()
    parts = [given.floats(4, 8, 6, 6) for _ in range(4)]
    return Graph(given.leaves, [interleave(parts, (2, 2), (12, 12))]), given.arrays


def of_blocks(product: Callable[..., Node]) -> Made:
    """A product with a matrix in blocks."""
    given = Given()
    x, blocks = given.floats(8, 512), given.take(random_blocks("Q4_K", 32, 2), uint8)
    return Graph(given.leaves, [product(x, blocks, kind="Q4_K")]), given.arrays


PROGRAMS: dict[str, tuple[Callable[[], Made], tuple[str, ...]]] = {
    "attention": (lambda: attention(False), ("attention_forward", "attention_backward")),
    "causal": (lambda: attention(True), ("attention_forward", "attention_backward")),
    "shared heads": (
        lambda: attention(True, groups=1),
        ("attention_forward", "attention_backward"),
    ),
    "rows of groups": (
        lambda: grouped((48, 256), (4, 256, 24)),
        ("grouped_rows", "grouped_steps"),
    ),
    "columns of groups": (
        lambda: grouped((4, 24, 256), (256, 48)),
        ("grouped_rows", "grouped_steps"),
    ),
    "routed rows": (routed, ("routed_rows", "routed_steps")),
    "steps of groups": (lambda: grouped((16, 48), (48, 24)), ("grouped_rows", "grouped_steps")),
    "loss": (lambda: loss(strategy="vocab"), ("logit_blocks", "logit_slopes")),
    "loss of rows": (lambda: loss(strategy="batch"), ("logit_blocks", "logit_slopes")),
    "loss of sequences": (
        lambda: loss(rows=(4, 16), strategy="batch", z_loss=0.1, label_smoothing=0.1),
        ("logit_blocks", "logit_slopes"),
    ),
    "narrow loss": (lambda: loss(bfloat16, strategy="vocab"), ("logit_blocks", "logit_slopes")),
    "rows put": (rows_put, ("put_rows",)),
    "rows put by row": (rows_put_by_row, ("put_rows",)),
    "transposed convolution": (slid, ("slide_back",)),
    "padding": (padded, ("zero_padding",)),
    "interleaved": (interleaved, ("interleave",)),
    "blocks": (lambda: of_blocks(block_product), ("block_product",)),
    "blocks and int8": (lambda: of_blocks(block_product_int8), ("block_product_int8",)),
}
"""Program -> what makes it, and the regions that it has."""
