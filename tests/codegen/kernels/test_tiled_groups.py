"""Products of groups by tiles: the bits of the CPU's kernels, whatever the sizes of groups."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from benchmarks.cuda.tensor_sums import cancelling
from gnomon.settings import override
from tests.codegen.kernels.test_grouped import ENDS
from tests.cuda.cards import HOPPER, card_of_teams

R = np.random.default_rng(11)
ROUTED = np.array([[3, 9, 9], [0, 5, 12], [12, 12, 12], [0, 0, 1]])
"""Ends of the runs of three groups in four blocks of 12 rows."""


there = pytest.fixture(card_of_teams(3), name="there")


def numbers(*shape: int) -> np.ndarray:
    return R.standard_normal(shape).astype(np.float32)


def made(
    device: str,
    rows: np.ndarray,
    matrices: np.ndarray,
    ends: np.ndarray,
    dtype: gn.dtype = gn.float32,
) -> list[bytes]:
    """The bytes of a product of groups, and of its gradients."""
    factors = (gn.tensor(v, device=device).to(dtype) for v in (rows, matrices))
    x, w = (v.detach().requires_grad_() for v in factors)
    offsets = gn.tensor(ends, device=device)
    y = gn.routed_mm(x, w, offsets) if ends.ndim > 1 else gn.grouped_mm(x, w, offs=offsets)
    weights = np.cos(np.arange(y.numel())).astype(np.float32).reshape(tuple(y.shape))
    (y * gn.tensor(weights, device=device)).sum().backward()
    return [v.detach().float().cpu().numpy().tobytes() for v in (y, x.grad, w.grad)]


def test_groups_of_any_sizes_have_the_bits_of_the_cpu(there):
    for name in ("several", "some empty", "one huge", "all empty"):
        given = numbers(50, 20), numbers(4, 20, 36), np.array(ENDS[name], np.int32)

        assert made("cuda", *given) == made("cpu", *given), name


def test_many_rows_take_higher_tiles(there):
    given = numbers(90, 9), numbers(2, 9, 70), np.array([33, 85], np.int32)

    assert made("cuda", *given) == made("cpu", *given)


def test_routed_rows_have_them_too(there):
    given = numbers(48, 9), numbers(3, 9, 7), ROUTED
    shares = numbers(2, 48, 9), numbers(6, 9, 7), np.stack([ROUTED, ROUTED[::-1]])

    for each in (given, shares):
        assert made("cuda", *each) == made("cpu", *each)


def test_no_order_of_threads_changes_a_bit(there):
    there.order = np.random.default_rng(0)
    given = numbers(20, 17), numbers(3, 17, 20), np.array([5, 5, 18], np.int32)

    assert made("cuda", *given) == made("cpu", *given)


hopper = pytest.fixture(card_of_teams(2, HOPPER), name="hopper")
GROUPS = {
    "runs": (26, 3, 32, 16, np.array([5, 5, 23], np.int32)),
    "odd": (19, 2, 21, 9, np.array([17, 18], np.int32)),
    "blocks": (48, 3, 24, 8, ROUTED),
}
"""Rows, groups, steps and columns of products, and the ends of groups."""


@pytest.mark.parametrize("name", GROUPS)
def test_tensor_cores_have_the_sums_of_the_definition(hopper, name):
    """The opened region's products are other kernels: those of test_tensor_tiles.py."""
    rows, groups, steps, columns, ends = GROUPS[name]
    x, w = cancelling(R, rows, groups * columns, steps)
    given = x, w.reshape(steps, groups, columns).swapaxes(0, 1), ends, gn.bfloat16

    found = made("cuda", *given)

    with override(without="claim"):
        assert made("cuda", *given) == found
    with override(numerics="portable"):
        assert made("cuda", *given)[0] != found[0]
