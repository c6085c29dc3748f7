"""Routines on complex matrices are numpy's on pairs."""

from __future__ import annotations

import numpy as np

import gnomon as gn
from gnomon.ops.complex_lapack import complex_lu, complex_svd
from gnomon.ops.fourier import as_numbers, as_pairs


def drawn(rng, *shape):
    """Complex normal numbers."""
    return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)


def test_full_vectors_stand_over_one_another_filled_up_with_zeros(rng):
    x = drawn(rng, 2, 2, 3)

    both, s = complex_svd(as_pairs(x), full=True)

    both = as_numbers(both)
    u, v = both[:, :2], both[:, 2:]
    assert not u[..., 2].any()
    np.testing.assert_allclose(u[..., :2] * s[:, None] @ np.conj(v[..., :2].mT), x, atol=1e-12)


def test_a_pivot_is_the_largest_by_the_sum_of_both_parts():
    x = np.array([[4.9, 0], [3 + 3j, 1]])  # 4.9 is farther from 0 than 3 + 3j, and less by parts

    _, places, failed = complex_lu(as_pairs(x), pivot=True, check="")

    assert places.tolist() == [2, 2]
    assert not failed


def test_results_have_the_same_bits_whatever_the_number_of_threads(rng):
    x = gn.tensor(drawn(rng, 60, 60))
    before = gn.get_num_threads()
    made = []
    for count in (1, 2):
        gn.set_num_threads(count)
        made.append([part.numpy().tobytes() for part in gn.linalg.svd(x)])
    gn.set_num_threads(before)

    assert made[0] == made[1]
