"""One program at many shapes: the bits of each shape's own code, by few codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest

import gnomon as gn
from gnomon.bench.cases import VARIED
from gnomon.bench.ours.gpt import shapes
from gnomon.compiler import build as building
from gnomon.ir import memo
from gnomon.nn import functional as F
from tests.bench.tiny import tiny
from tests.strategies import same_bits

Shape = tuple[int, int]
Function = Callable[[gn.Tensor], gn.Tensor]

SHAPES = [(4, 10), (4, 17), (6, 33), (3, 200), (2, 300), (2, 1000), (7, 256), (5, 128), (130, 70)]


class Nothing(set):
    """What holds nothing, whatever is added."""

    def __contains__(self, item: object) -> bool:
        return False


@contextmanager
def fresh(vary: bool) -> Iterator[None]:
    """A compiler that has seen nothing yet."""
    memo.clear()
    with nullcontext() if vary else patch.object(building, "_outlines", Nothing()):
        yield


def results(
    function: Function, shapes: Sequence[Shape], vary: bool
) -> tuple[list[np.ndarray], list[set[str]]]:
    """A function's results at all shapes, and the codes that each shape needed anew."""
    found, codes, known = [], [], set()
    with fresh(vary):
        compiled = gn.compile(function)
        for n, m in shapes:
            values = np.random.default_rng(n * m).standard_normal((n, m), dtype=np.float32)
            found.append(np.array(compiled(gn.from_numpy(values))))
            used = {
                code.symbol
                for entries in compiled.programs.values()
                for _, program in entries
                for kernel in program.executable.kernels
                for code in kernel.codes
            }
            codes.append(used - known)
            known |= used
    return found, codes


def gradient(function: Function) -> Function:
    """The gradient of a function's sum of squares."""

    def run(x: gn.Tensor) -> gn.Tensor:
        x = x.detach().requires_grad_()
        function(x).square().sum().backward()
        return x.grad

    return run


LOOPS: dict[str, Function] = {
    "chain": lambda x: (x * 2 + 1).exp(),
    "narrow": lambda x: (x.to(gn.float16) * 1.5).to(gn.bfloat16).float(),
    "integers": lambda x: (x * 9).to(gn.int64) % 7 // 2,
    "softmax": lambda x: F.softmax(x * 2 + 1, dim=-1),
    "mean": lambda x: x.mean(),
    "columns": lambda x: x.exp().sum(0),
    "greatest": lambda x: x.amax(1) + x.amin(0)[: x.shape[0] // 9 + 1].sum(),
    "norm": lambda x: F.layer_norm(x, x.shape[-1:]),
    "turned": lambda x: x.T * 3 + x.reshape(x.shape[1], x.shape[0]),
    "split": lambda x: x.reshape(2, -1).flip(1).reshape(x.shape) - x,
    "framed": lambda x: F.pad(x, (0, 3, 1, 2), value=0.5)[1:, 2:],
    "counted": lambda x: gn.arange(x.shape[1]) * x - gn.arange(x.shape[0])[:, None],
    "picked": lambda x: x[:, gn.arange(x.shape[1] - 1, -1, -1)],
    "stacked": lambda x: gn.cat([x, x[:, :5] + 1], dim=1),
    "all or none": lambda x: (x > 0).all(1) | (x < 1).any(1),
}


@pytest.mark.parametrize("name", LOOPS)
def test_loops_have_the_bits_of_each_shapes_own_code(name: str):
    found, codes = results(LOOPS[name], SHAPES, vary=True)
    expected, alone = results(LOOPS[name], SHAPES, vary=False)

    assert all(same_bits(x, y) for x, y in zip(found, expected, strict=True))
    assert sum(map(len, codes)) <= sum(map(len, alone))


@pytest.mark.parametrize("name", ["softmax", "norm", "columns", "turned", "framed", "picked"])
def test_gradients_have_the_bits_of_each_shapes_own_code(name: str):
    run = gradient(LOOPS[name])

    found, _ = results(run, SHAPES, vary=True)
    expected, _ = results(run, SHAPES, vary=False)

    assert all(same_bits(x, y) for x, y in zip(found, expected, strict=True))


def attention(x: gn.Tensor) -> gn.Tensor:
    """Causal self-attention of two heads; lengths are those of rows."""
    n, m = x.shape
    q = x.reshape(1, n, m, 1) * gn.ones(6)
    q = gn.cat([q, -q], dim=1).reshape(2, n, m, 6).transpose(0, 1)
    return F.scaled_dot_product_attention(q, q * 0.5, q + 1, is_causal=True)


KERNELS: dict[str, Function] = {
    "attention": attention,
    "attention's gradient": gradient(attention),
    "gather": lambda x: x.take_along_dim(x.abs().to(gn.int64) % 3, 1),
    "scatter": gradient(lambda x: x[:, (gn.arange(3 * x.shape[1]) * 7) % x.shape[1]] * 2),
    "sort": lambda x: x.sort(dim=1).values,
    "running sum": lambda x: x.cumsum(1) + x.cumsum(0),
    "product": lambda x: x @ x.T,
    "gradient of products": gradient(lambda x: F.gelu(x @ x.T) @ x),
}


@pytest.mark.parametrize("name", KERNELS)
def test_written_kernels_have_the_bits_of_each_shapes_own_code(name: str):
    found, _ = results(KERNELS[name], SHAPES, vary=True)
    expected, _ = results(KERNELS[name], SHAPES, vary=False)

    assert all(same_bits(x, y) for x, y in zip(found, expected, strict=True))


def test_a_chain_over_all_elements_is_one_code():
    _, codes = results(LOOPS["chain"], SHAPES, vary=True)

    assert [len(each) for each in codes] == [1] + 8 * [0]


def test_a_size_is_open_from_its_second_value_on():
    shapes = [(4, n) for n in (20, 30, 40, 50, 60, 70)]
    _, codes = results(LOOPS["softmax"], shapes, vary=True)

    assert [len(each) for each in codes] == [1, 1, 0, 0, 0, 0]


def test_other_programs_keep_their_sizes():
    with fresh(vary=True):
        one, other = gn.compile(LOOPS["softmax"]), gn.compile(lambda x: F.softmax(x - 1, dim=-1))
        x = gn.ones(4, 20)
        for function in (one, other):
            function(x)
        symbols = [
            kernel.code.symbol
            for function in (one, other)
            for entries in function.programs.values()
            for _, program in entries
            for kernel in program.executable.kernels
        ]

    assert all(symbol.startswith("k") for symbol in symbols)


def test_a_training_step_compiles_three_times_for_many_shapes(tmp_path):
    settings = {**VARIED, "layers": 1, "width": 32, "shapes": VARIED["shapes"][:10]}
    problem = tiny("shapes", tmp_path, **settings)
    told = []
    for vary in (True, False):
        with fresh(vary):
            made = shapes(problem)
            told.append((made["step"](), made["figures"]()))

    (varied, figures), (fixed, _) = told
    assert varied == fixed
    assert figures == {"compiles": 3, "captures": 3}


def test_slices_are_put_into_tensors_of_many_shapes():
    with fresh(vary=True):
        for (rows, columns), dtype in product(SHAPES, (np.float32, np.float64, np.int16)):
            x, new = np.zeros((rows, columns), dtype), np.full((2, columns), 7, dtype)
            made = gn.from_numpy(x.copy())
            made[gn.tensor([rows - 1, 0])] = gn.from_numpy(new)
            x[[rows - 1, 0]] = new
            assert same_bits(made.numpy(), x)
