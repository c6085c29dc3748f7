"""What is seen from outside does not depend on the processor: kernels, and who shares a code.

Programs of random sizes are made for each description of a processor, without LLVM and without
running: large ones cost nothing. Their bits are compared in test_same_bits.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon.bench.cases import VARIED
from gnomon.bench.ours.gpt import shapes
from gnomon.nn import functional as F
from gnomon.runtime import cpu
from tests.bench.tiny import tiny
from tests.processors import PROCESSORS, planted, unlinked
from tests.test_shapes import KERNELS, fresh, gradient

Sizes = tuple[int, int, int]
Choices = tuple[list[tuple], int]
"""Of all programs the kernels in order, and how many programs needed new code."""

FEW = ("laptop", "sapphire", "apple")
"""Descriptions that differ most: small caches; wide vectors and pairs; short vectors."""
MATMUL: dict[str, Callable[..., gn.Tensor]] = {
    "product": lambda x, w, b: x @ w,
    "turned right": lambda x, w, b: x @ w.T.contiguous().T,
    "turned left": lambda x, w, b: x.T @ (x @ w),
    "doubles": lambda x, w, b: x.double() @ w.double(),
    "bfloats": lambda x, w, b: x.bfloat16() @ w.bfloat16(),
    "bytes": lambda x, w, b: gn.matmul(x.to(gn.int8), w.to(gn.int8)),
    "epilogue": lambda x, w, b: F.gelu(x @ w + b),
    "prologue": lambda x, w, b: F.relu(x * 2 + 1) @ w,
    "both": lambda x, w, b: F.relu(F.relu(x) @ w + b) * 2,
    "layers": lambda x, w, b: gradients(x, w, b),
    "weights": lambda x, w, b: F.linear(x, w.T, b),
    "stored": lambda x, w, b: x.expand(3, *x.shape) * 2.0,
}


def gradients(x: gn.Tensor, w: gn.Tensor, b: gn.Tensor) -> gn.Tensor:
    """Of a product with a bias, with respect to its weight."""
    w = w.detach().requires_grad_()
    F.gelu(x @ w + b).sum().backward()
    return w.grad


def sizes_of(seed: int, count: int) -> list[Sizes]:
    """Rows, steps, columns: few, around the borders of the rules, and large."""
    rng = np.random.default_rng(seed)
    bounds = [(1, 9), (12, 21), (40, 62), (64, 300), (500, 3000), (8000, 20000)]
    chances = [0.2, 0.2, 0.2, 0.2, 0.15, 0.05]
    drawn = rng.choice(len(bounds), (count, 3), p=chances)
    return [tuple(int(rng.integers(*bounds[k])) for k in one) for one in drawn]


def choices(function: Callable, given: Sequence[Sequence[tuple[int, ...]]]) -> Choices:
    """What is chosen for a function at many shapes, by a compiler that has seen nothing."""
    with fresh(vary=True), unlinked():
        compiled, told, known = gn.compile(function), [], {}
        for shapes in given:
            compiled(*(gn.from_numpy(np.zeros(shape, np.float32)) for shape in shapes))
        for program in compiled.captured():
            told.append(["program"])
            for k in program.executable.kernels:
                code = known.setdefault(k.code.symbol, len(known))
                told.append((k.name, code, k.outputs, len(k.buffers), k.over, len(k.members)))
        return told, compiled.compiles


def differing(function: Callable, given: Sequence, names: Sequence[str]) -> dict[str, tuple]:
    """The descriptions for which something else is chosen than for the first."""
    found = {}
    for name in names:
        with planted(name):
            found[name] = choices(function, given)
    first = found[names[0]]
    return {name: each for name, each in found.items() if each != first}


def of_products(name: str, seed: int, count: int, names: Sequence[str]) -> dict[str, tuple]:
    """The descriptions that choose otherwise for products."""
    given = [((m, k), (k, n), (n,)) for m, k, n in sizes_of(seed, count)]
    return differing(MATMUL[name], given, names)


@pytest.mark.parametrize("name", MATMUL)
def test_products_have_the_same_kernels_and_codes_on_every_processor(name: str):
    assert not of_products(name, 1, 5, FEW)


ODD = ((52, 20, 2006), (802, 2188, 82), (70, 2006, 90), (33, 1094, 61), (5, 127, 40), (64, 547, 64))
"""Sizes of products; the leaves of those from the second on have odd numbers of steps."""


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("name", ["bfloats", "bytes"])
def test_steps_that_go_in_pairs_have_a_code_of_their_own_on_every_processor(
    name: str, turned: bool
):
    given = [((m, k), (k, n), (n,)) for m, k, n in (reversed(ODD) if turned else ODD)]

    assert not differing(MATMUL[name], given, FEW)


@pytest.mark.parametrize("name", KERNELS)
def test_all_else_has_the_same_kernels_and_codes_on_every_processor(name: str):
    given = [((2 * (m % 50) + 10, n % 90 + 7),) for m, n, _ in sizes_of(2, 4)]

    assert not differing(KERNELS[name], given, FEW)


def test_a_convolution_has_the_same_kernels_and_codes_on_every_processor():
    given = [((2, c, h, 9), (16 + c, c, 3, 3)) for c, h in ((3, 9), (16, 12), (64, 20), (7, 33))]

    assert not differing(lambda x, w: F.conv2d(x, w, padding=1), given, FEW)
    assert not differing(lambda x, w: gradient(lambda x: F.conv2d(x, w))(x), given, FEW)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", MATMUL)
def test_many_products_have_the_same_kernels_and_codes(name: str, seed: int):
    assert not of_products(name, 100 + seed, 16, list(PROCESSORS))


@pytest.mark.parametrize("name", ["sapphire"])
def test_a_training_step_of_many_shapes_compiles_as_often_on_every_processor(
    name: str, tmp_path: Path
):
    settings = {**VARIED, "layers": 1, "width": 32, "shapes": VARIED["shapes"][:10]}
    with planted(name), fresh(vary=True), unlinked():
        made = shapes(tiny("shapes", tmp_path, **settings))
        made["step"]()

        assert made["figures"]() == {"compiles": 3, "captures": 3}


@pytest.mark.long
@pytest.mark.parametrize("name", PROCESSORS)
def test_what_docs_say_of_twenty_shapes_holds_on_every_processor(name: str, tmp_path: Path):
    with planted(name), fresh(vary=True), unlinked():
        made = shapes(tiny("shapes", tmp_path, **VARIED))
        made["step"]()

        assert made["figures"]() == {"compiles": 3, "captures": 3}


def test_what_is_not_linked_is_held_by_libraries_all_the_same():
    with unlinked():
        made = cpu.load({"nothing": "define void @nothing() { ret void }"})
        again = cpu.fetch({"nothing": "its key"})

    assert made == again == {"nothing": 0}
    assert made.libraries == again.libraries
