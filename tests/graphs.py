"""Graphs of a test: built from a function of nodes, run by the interpreter, differentiated.

Not a test, and not about compiled code: values here are numpy's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from gnomon.dtypes import dtype_of
from gnomon.ir.node import Arena, Node
from gnomon.ir.operators import constant
from gnomon.ops.interpret import interpret
from gnomon.ops.primitives import expand
from tests.gradients import gradients

STEP = 1e-5
"""Of central differences in float64: the error is about its square, and 1e-16 / step."""


def leaf(arena: Arena, array: np.ndarray) -> Node:
    """An input shaped like an array."""
    return arena.input(array.shape, dtype_of(array.dtype))


def built(f: Callable[..., Node], *arrays: np.ndarray) -> tuple[Node, list[Node]]:
    """f's node, and the inputs that stand for the arrays."""
    arena = Arena()
    leaves = [leaf(arena, x) for x in arrays]
    return f(*leaves), leaves


def value(f: Callable[..., Node], *arrays: np.ndarray) -> np.ndarray:
    """f of the arrays, by the interpreter."""
    root, leaves = built(f, *arrays)
    return interpret([root], dict(zip(leaves, arrays, strict=True)))[0]


def seed_of(root: Node) -> Node:
    """The gradient of a root of one element: one."""
    return expand(constant(root.arena, 1.0, root.dtype), root.shape)


def derived(f: Callable[..., Node], seed: np.ndarray, *arrays: np.ndarray) -> list[np.ndarray]:
    """The gradients of <seed, f> in float arrays, as the graph derives them; none counts as 0."""
    root, leaves = built(f, *arrays)
    g = leaf(root.arena, seed)
    asked = [x for x in leaves if x.dtype.is_floating_point]
    found = gradients(root, g, asked)
    parts = [x * 0.0 if part is None else part for x, part in zip(asked, found, strict=True)]
    return interpret(parts, {**dict(zip(leaves, arrays, strict=True)), g: seed})


def measured(f: Callable[..., Node], seed: np.ndarray, *arrays: np.ndarray) -> list[np.ndarray]:
    """The same by central differences, element by element."""
    return [differences(f, seed, arrays, k) for k, x in enumerate(arrays) if x.dtype == np.float64]


def differences(f: Callable, seed: np.ndarray, arrays: Sequence[np.ndarray], k: int) -> np.ndarray:
    """Central differences of <seed, f> in the k-th array."""
    slopes = np.zeros_like(arrays[k])
    for place in np.ndindex(slopes.shape):
        ends = []
        for sign in (1, -1):
            moved = [x.copy() for x in arrays]
            moved[k][place] += sign * STEP
            ends.append(np.sum(seed * value(f, *moved)))
        slopes[place] = (ends[0] - ends[1]) / (2 * STEP)
    return slopes


def check_gradient(f: Callable[..., Node], *arrays: np.ndarray) -> None:
    """The derived gradient is the measured one, for a seed that tells elements apart."""
    shape = value(f, *arrays).shape
    seed = np.cos(np.arange(int(np.prod(shape)), dtype=np.float64)).reshape(shape) + 1.5
    for mine, theirs in zip(derived(f, seed, *arrays), measured(f, seed, *arrays), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=2e-6, atol=2e-8)
