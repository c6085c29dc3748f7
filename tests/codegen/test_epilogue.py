"""Products with epilogues: the bits of the same program without, in every layout and raggedness."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gnomon.compiler.build import build
from gnomon.dtypes import bfloat16, float32
from gnomon.ir.node import Graph, Node
from gnomon.ir.operators import cast, elementwise
from gnomon.ops.primitives import contract, reshape
from gnomon.ops.scalars import exp, tanh
from gnomon.program.executable import Executable
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.settings import override
from tests.compiled import threads
from tests.graphs import built
from tests.oracle.graphs import exact
from tests.processors import every

pytestmark = pytest.mark.unit

CASES = {
    "bias": (lambda x, w, b: contract("ab,cb->ac", x, w) + b, (37, 20), (33, 20), (33,)),
    "activation and what it was made of": (
        lambda x, w: [tanh(contract("ab,bc->ac", x, w)), contract("ab,bc->ac", x, w)],
        (70, 33),
        (33, 48),
    ),
    "residual and scale of rows": (
        lambda x, w, z, s: (contract("ab,cb->ac", x, w) + z) * s,
        (19, 64),
        (64, 64),
        (19, 64),
        (19, 1),
    ),
    "batches": (
        lambda x, w, z: exp(contract("hab,hcb->hac", x, w) * 0.1) + z,
        (3, 17, 9),
        (3, 21, 9),
        (3, 17, 21),
    ),
    "rows of two axes, repeated along one": (
        lambda x, w, z: contract("bti,oi->bto", x, w) + z,
        (3, 7, 20),
        (35, 20),
        (7, 35),
    ),
    "an operand of one batch": (
        lambda x, w, z: contract("hab,hcb->hac", x, w) * z,
        (3, 17, 9),
        (3, 21, 9),
        (17, 21),
    ),
    "one row": (lambda x, w, b: contract("ab,cb->ac", x, w) * b, (1, 40), (70, 40), (70,)),
    "turned": (lambda x, w, z: contract("ab,cb->ca", x, w) + z, (37, 20), (33, 20), (33, 37)),
    "reshaped": (
        lambda x, w, z: reshape(contract("ab,cb->ac", x, w), (12, 4, 24)) + z,
        (12, 20),
        (96, 20),
        (12, 4, 24),
    ),
    "narrow result": (
        lambda x, w: cast(contract("ab,cb->ac", x, w), bfloat16),
        (37, 20),
        (33, 20),
    ),
    "narrow factors": (
        lambda x, w, z: (
            cast(contract("ab,cb->ac", cast(x, bfloat16), cast(w, bfloat16)), float32) * z
        ),
        (37, 20),
        (33, 20),
        (37, 33),
    ),
    "a factor is read again": (
        lambda x, w: contract("ab,cb->ac", x, w) * x,
        (30, 30),
        (30, 30),
    ),
    "truth values": (
        lambda x, w, z: elementwise("gt", contract("ab,cb->ac", x, w), z),
        (20, 33),
        (30, 33),
        (20, 30),
    ),
}


def normal(*shape: int) -> np.ndarray:
    """Random numbers that depend on the shape alone."""
    return np.random.default_rng(shape).normal(size=shape).astype(np.float32)


def compiled(roots: list[Node], leaves: list[Node], arrays: list[np.ndarray]) -> tuple:
    """A program, and its results as bytes."""
    program = build(Graph(leaves, roots))
    found = program.run([DeviceBuffer.of(x) for x in arrays])
    pairs = zip(found, roots, strict=True)
    return program, [b.numpy(x.dtype.numpy, x.shape).tobytes() for b, x in pairs]


def case(name: str) -> tuple[list[Node], list[Node], list[np.ndarray]]:
    """A case's results, leaves and inputs."""
    f, *shapes = CASES[name]
    arrays = [normal(*shape) for shape in shapes]
    roots, leaves = built(f, *arrays)
    return (list(roots) if isinstance(roots, list | tuple) else [roots]), leaves, arrays


def fusions(program: Executable) -> int:
    """How many products have an epilogue."""
    return sum(len(k.nodes) > 1 and k.nodes[0].op == "contract" for k in program.kernels)


@pytest.mark.parametrize("name", CASES)
def test_bits_are_those_of_the_oracle_and_of_separate_kernels(name: str):
    roots, leaves, arrays = case(name)

    program, together = compiled(roots, leaves, arrays)
    with override(without="epilogues,prologues"):
        separate, apart = compiled(roots, leaves, arrays)

    assert fusions(program) == 1
    assert fusions(separate) == 0
    assert together == apart
    assert together == [x.tobytes() for x in exact(Graph(leaves, roots), arrays)]


def test_one_column_has_no_vectors_and_stays_apart():
    arrays = [normal(40, 30), normal(1, 30)]
    roots, leaves = built(lambda x, w: [exp(contract("ab,cb->ac", x, w))], *arrays)

    program, _ = compiled(list(roots), leaves, arrays)

    assert fusions(program) == 0


@pytest.mark.parametrize("count", [1, 3])
def test_bits_do_not_depend_on_threads(count: int):
    roots, leaves, arrays = case("batches")
    _, expected = compiled(roots, leaves, arrays)
    with threads(count):
        assert compiled(roots, leaves, arrays)[1] == expected


def test_code_is_shared_by_equal_products_and_not_by_others():
    def two(scale: float) -> Callable[..., list[Node]]:
        return lambda x, w, b: [contract("ab,cb->ac", x, w) + b * scale]

    arrays = [normal(24, 20), normal(33, 20), normal(33)]
    symbols = []
    for scale in (2.0, 3.0, 2.0):
        roots, leaves = built(two(scale), *arrays)
        program, _ = compiled(list(roots), leaves, arrays)
        symbols.append(program.kernels[0].code.symbol)

    assert symbols[0] == symbols[2]
    assert symbols[0] != symbols[1]


def test_code_is_told_apart_by_all_that_is_known_of_further_operands():
    x, w = normal(24, 20), normal(33, 20)
    further = [
        (lambda c, b: c + b, normal(33)),
        (lambda c, b: c + b, normal(24, 1)),
        (lambda c, b: c + b, normal(24, 33)),
        (lambda c, b: c + cast(b, float32), normal(33).astype(np.float64)),
        (lambda c, b: c - b, normal(33)),
    ]
    symbols = []
    for f, operand in further:
        given = [x, w, operand]
        roots, leaves = built(lambda x, w, b, f=f: [f(contract("ab,cb->ac", x, w), b)], *given)
        program, _ = compiled(list(roots), leaves, given)
        assert len(program.kernels) == 1
        symbols.append(program.kernels[0].code.symbol)

    assert len({*symbols}) == len(further)


def test_decisions_are_told_with_their_reason():
    roots, leaves, arrays = case("bias")
    program, _ = compiled(roots, leaves, arrays)

    told = program.explain_fusions()

    assert "1 candidate, 1 done" in told
    assert "with add" in told


def test_an_epilogue_of_several_operations_is_told_in_one_line():
    roots, leaves, arrays = case("residual and scale of rows")
    program, _ = compiled(roots, leaves, arrays)

    assert "with add, mul" in program.explain_fusions()


@every
def test_operands_are_asked_for_before_they_are_read():
    text = {}
    for name in ("bias", "residual and scale of rows"):
        roots, leaves, arrays = case(name)
        program, _ = compiled(roots, leaves, arrays)
        text[name] = program.kernels[0].code.text

    asked = {name: text[name].count("call void @llvm.prefetch") for name in text}

    assert asked["residual and scale of rows"] > asked["bias"]
