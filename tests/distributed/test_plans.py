"""Which axis of a parameter is split."""

from __future__ import annotations

import pytest

from gnomon.distributed.plans import shared_axis
from gnomon.passes.layout import REPLICATED, Split

pytestmark = pytest.mark.unit


def test_the_first_axis_that_ranks_share_in_whole_leaves():
    assert shared_axis((600, 384), (0, 1), 2) == Split(0)
    assert shared_axis((600, 384), (1, 0), 2) == Split(1)


def test_an_axis_that_only_sizes_divide_is_passed_over():
    assert shared_axis((100, 512), (0, 1), 2) == Split(1)  # 100 is one leaf
    assert shared_axis((307, 512), (0, 1), 4) == Split(1)


def test_a_parameter_with_no_such_axis_is_replicated():
    assert shared_axis((307, 100), (0, 1), 2) == REPLICATED
