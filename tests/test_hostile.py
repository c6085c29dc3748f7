"""Hostile arguments end in a result or in an error of ours, with asserts and without them.

The calls are tests/fuzz_hostile.py's, which also runs for as long as one wants.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import GnomonError
from gnomon.nn import functional as F
from gnomon.tensor.functions import FUNCTIONS
from tests.fuzz_hostile import NAMES, READS, fuzz
from tests.hostile_calls import CALLS
from tests.ops.samples import SAMPLES

SEED = 20
FEW, MANY = 160, 6000


def test_every_operation_is_called():
    assert set(SAMPLES) - set(NAMES) == set()
    assert len(CALLS) > 50


def test_errors_read_as_errors_do():
    assert READS.match("max_pool2d: stride is at least 1: got 0.")
    assert not READS.match("list index out of range")


def test_hostile_arguments_crash_nothing_and_leave_nothing_behind():
    count, findings = fuzz(SEED, FEW, 300)

    assert (count, findings) == (FEW, [])


def ends(*flags: str) -> list[str]:
    """How calls end in a process with these flags of Python's."""
    command = [sys.executable, *flags, "-W", "ignore", "-m", "tests.fuzz_hostile"]
    about = ["--seed", "21", "--told", "100"]
    done = subprocess.run([*command, *about], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_errors_are_the_same_without_asserts():
    assert ends("-O") == ends()


X = np.ones((2, 3, 4, 6), np.float32)
pooled = FUNCTIONS["avg_pool"]
FOUND = [
    (lambda x: gn.movedim(x, (0, 1), (0, 0)), "movedim: an axis is named twice"),
    (lambda x: gn.diag_embed(x, 0, 1, 1), "diag_embed: an axis is named twice"),
    (lambda x: gn.squeeze(x, 1.5), "squeeze: an axis is an integer: got 1.5"),
    (lambda x: gn.einsum("ij,j->i", x[0, 0], 2.5), "einsum: expected tensors: got float"),
    (lambda x: gn.meshgrid(x[0, 0, 0], [1]), "meshgrid: expected tensors: got"),
    (lambda x: gn.atleast_2d(x, [2]), "atleast_2d: expected tensors: got"),
    (lambda x: gn.linalg.multi_dot([x[0, 0], 3]), "linalg.multi_dot: expected tensors: got int"),
    (lambda x: gn.squeeze("nope", 0), "squeeze: x must be a tensor: got 'nope'"),
    (lambda x: gn.repeat([1], (2,)), "repeat: x must be a tensor"),
    (lambda x: gn.topk(x, 1, 0, 2.5), "topk: largest is True or False: got 2.5"),
    (lambda x: gn.sort(x, descending="no"), "sort: descending is True or False: got 'no'"),
    (lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=1.5), "causal is True or False"),
    (lambda x: gn.tril_indices(2**40, 3), "tril_indices: .* elements need"),
    (lambda x: gn.tril_indices(-1, 3), "tril_indices: sizes are integers, not negative"),
    (lambda x: gn.nn.GRU(6, 5, num_layers=2**40), "GRU: .* elements need"),
    (
        lambda x: F.conv_transpose1d(x[0], x[0].permute(1, 0, 2), stride=2**31),
        "are more than it can take apart",
    ),
    (
        lambda x: F.conv_transpose1d(x[0], x[0].permute(1, 0, 2), stride=b"x"),
        "conv_transpose1d: expected integers",
    ),
    (lambda x: gn.addcmul(x, b"x", x, value=2**62), "addcmul: .* must be a tensor"),
    (lambda x: gn.nn.GRU(6, 5, num_layers=0), "GRU: num_layers must be 1 or more: got 0"),
    (lambda x: gn.nn.GRU(6, 2**31, num_layers=(2**40,)), "GRU: num_layers must be 1 or more"),
    (lambda x: gn.diff(x, -1), "diff: n must be 0 or more: got -1"),
    (lambda x: x.copy_([[1.0], [2.0, 3.0]]), "copy_: rows differ in length"),
    (lambda x: x[([[1], [0, 1]],)], "index: rows differ in length"),
    (lambda x: x.unfold(3, 7, 1), "unfold: 7 elements do not fit into axis 3"),
    (lambda x: x.argmax(2) + x[:, :, :0].argmax(2), "argmax: nothing to choose from"),
    (lambda x: gn.bmm(x[0], x[0]), "bmm: inner sizes differ: left .3, 4, 6. ends in 6"),
    (lambda x: x[99], "index: index 99 is out of bounds for dimension 0 with size 2"),
    (lambda x: gn.count_nonzero(x, 1j), "count_nonzero: axis must not be complex: got 1j"),
    (lambda x: gn.all(x > 0, 1j), "all: axis must not be complex: got 1j"),
    (lambda x: gn.all(x > 0, gn.tensor(1j)), "all: axis must not be complex: got a tensor"),
    (lambda x: gn.tensordot(x, x, 1j), "tensordot: axes must not be complex: got 1j"),
    (lambda x: gn.tensordot(x, x, ((0,), (1j,))), "tensordot: axes must not be complex"),
    (lambda x: gn.diff(x, 1j, 0), "diff: n must not be complex: got 1j"),
    (lambda x: gn.std(x, 1, correction=1j), "std: correction must not be complex: got 1j"),
    (lambda x: gn.linalg.matrix_norm(x, 1j), "matrix_norm: ord must not be complex: got 1j"),
    (lambda x: gn.linalg.matrix_norm(x, 1, keepdims=1j), "matrix_norm: keepdims must not be"),
    (lambda x: gn.linalg.matrix_power(x, 1j), "matrix_power: n must not be complex: got 1j"),
    (lambda x: gn.norm(x, 1j), "norm: p must not be complex: got 1j"),
    (lambda x: gn.norm(x, dtype=1j), "norm: dtype must not be complex: got 1j"),
    (lambda x: gn.tril(x, 1j), "tril: k must not be complex: got 1j"),
    (lambda x: gn.nan_to_num(x, 1j), "nan_to_num: nan must not be complex: got 1j"),
    (lambda x: F.pad(x, 1j, "reflect"), "pad: pad must not be complex: got 1j"),
    (lambda x: gn.add(x, (0, 1j)), "add: y must be a tensor or number: got .0, 1j."),
    (lambda x: gn.bmm(x[0], (1j,)), "bmm: y must be a tensor: got .1j"),
    (lambda x: gn.unfold(x, 3, 2, 2**63), "unfold: step is below 2 .. 63: got 92"),
    (lambda _: gn.add(1j, 2), "add: needs a tensor: got .1j, 2."),
    (lambda _: gn.pow(2, 1j), "pow: needs a tensor: got .2, 1j."),
    (lambda x: gn.einsum("iij->ji", x[0, :, :1]), "einsum: axis i differs within x .3, 1, 6.: 3"),
    (lambda x: F.avg_pool2d(x, 2, 2**31), "avg_pool: strides and dilations are below 2 .. 31"),
    (lambda x: F.avg_pool2d(x, 2, 2**70), "avg_pool: strides and dilations are below 2 .. 31"),
    (lambda x: F.max_pool2d(x, 2, (2**62, 2**62)), "max_pool: strides and dilations are below"),
    (lambda x: F.max_pool2d(x, 1, 1, dilation=2**63), "max_pool: strides and dilations are"),
    (lambda x: F.unfold(x, (2, 3), 1, 1, 2**70), "unfold: strides and dilations are below 2 .. 31"),
    (lambda x: gn.diagonal(x, float("nan")), "diagonal: offset must be an integer: got nan"),
    (
        lambda x: pooled(x, (2, 2), (2, 2), ((0, 2**40), (0, 0)), ((0, 0), (0, 0))),
        "needs 39.6 TB",
    ),
]


@pytest.mark.parametrize(("call", "told"), FOUND)
def test_what_the_fuzzer_found_is_told(call: Callable, told: str):
    with pytest.raises(GnomonError, match=told):
        gn.evaluate(call(gn.from_numpy(X)))


@pytest.mark.parametrize("name", ["flatten", "t", "matrix_transpose"])
def test_a_view_of_nothing_at_all_is_a_call_that_lacks_an_argument(name: str):
    with pytest.raises(TypeError, match="missing a required argument: 'x'"):
        getattr(gn.Tensor, name)()


@pytest.mark.parametrize("scale", [0.0, -0.0, -0.5])
def test_attention_takes_any_scale(scale: float):
    rng = np.random.default_rng(1)
    q, k, v = (gn.from_numpy(rng.standard_normal((2, 3, 5, 4), np.float32)) for _ in range(3))

    found = F.scaled_dot_product_attention(q, k, v, scale=scale)

    expected = gn.softmax(q @ k.transpose(-1, -2) * scale, dim=-1) @ v
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("optimized", [False, True])
def test_many_hostile_arguments(optimized: bool):
    count, findings = fuzz(SEED + 1, MANY, 1800, optimized)

    assert (count, findings) == (MANY, [])
