"""Folds of ranks' parts are perfect binary trees in rank order."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gnomon.runtime.comm.base import combine, parts, stretch

pytestmark = pytest.mark.unit

# a small number that is lost beside a large one, unless it is added last
LARGE = np.float32(2.0**24)
SMALL = [np.array(x, np.float32) for x in (LARGE, 1.0, 1.0, -LARGE)]


def test_a_sum_is_a_tree_of_neighbours():
    assert combine(SMALL, "add") == (SMALL[0] + SMALL[1]) + (SMALL[2] + SMALL[3])
    assert combine(SMALL, "add") != combine(SMALL, "add", ordered=False)


def test_without_an_order_a_sum_goes_around():
    row = ((SMALL[0] + SMALL[1]) + SMALL[2]) + SMALL[3]

    assert combine(SMALL, "add", ordered=False) == row


def test_one_part_is_copied():
    part = np.zeros(2, np.float32)

    assert combine([part], "add") is not part


@pytest.mark.parametrize(("monoid", "expected"), [("max", 5), ("min", 2), ("add", 10)])
def test_other_folds(monoid, expected):
    assert combine([np.array(k) for k in (3, 5, 2)], monoid) == expected


def test_stretches_cover_everything_once():
    ends = [stretch(11, 4, k) for k in range(4)]

    assert ends[0][0] == 0
    assert ends[-1][1] == 11
    assert all(a[1] == b[0] for a, b in itertools.pairwise(ends))


def test_parts_are_for_each_rank_its_stretch_of_every_array():
    xs = [np.arange(6).reshape(2, 3), np.arange(4)]

    first, second = parts(xs, [0, 0], 2)

    assert [x.tolist() for x in first] == [[[0, 1, 2]], [0, 1]]
    assert [x.tolist() for x in second] == [[[3, 4, 5]], [2, 3]]
