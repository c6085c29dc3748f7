"""Batches: equal kernels that wait for nothing of each other are one call, with the same bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gnomon.compiler.build import build
from gnomon.ir.node import Graph, Node
from gnomon.ops.scalars import exp
from gnomon.ops.scan_primitives import scan
from gnomon.program.executable import Executable
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.settings import override
from tests.graphs import built

pytestmark = pytest.mark.unit

SIZES = (3, 70, 2000, 64)


def compiled(f: Callable[..., list[Node]], *arrays: np.ndarray) -> tuple[Executable, list[bytes]]:
    """A program over arrays, and its results."""
    roots, leaves = built(f, *arrays)
    made = build(Graph(leaves, roots))
    return made, [
        b.numpy(x.dtype.numpy, x.shape).tobytes()
        for b, x in zip(made.run([DeviceBuffer.of(a) for a in arrays]), roots, strict=True)
    ]


def updates(*xs: Node) -> list[Node]:
    """The same of every tensor."""
    return [exp(x) * 0.5 + x * x for x in xs]


def arrays() -> list[np.ndarray]:
    """Parameters of several sizes."""
    return [np.random.default_rng(n).normal(size=n).astype(np.float32) for n in SIZES]


def test_one_call_updates_tensors_of_all_sizes():
    program, _ = compiled(updates, *arrays())

    (kernel,) = program.kernels
    assert len(kernel.members) == len(SIZES)
    assert len(program.program.steps) == 1


def test_a_batch_changes_no_bit():
    _, together = compiled(updates, *arrays())
    with override(without="batch"):
        program, apart = compiled(updates, *arrays())

    assert together == apart
    assert not any(k.members for k in program.kernels)


def test_what_reads_from_a_member_is_not_in_the_batch():
    def twice(x: Node) -> list[Node]:
        y = scan("add", exp(x), 0)
        return [scan("add", exp(y), 0)]

    program, _ = compiled(twice, np.ones(70, np.float32))

    assert not any(k.members for k in program.kernels)


def test_a_batch_names_the_lines_of_all_members():
    program, _ = compiled(updates, *arrays())

    (kernel,) = program.kernels
    assert set(kernel.sites) == {s for k in kernel.members for s in k.sites}
    assert f"({len(kernel.members)})" in program.explain()
