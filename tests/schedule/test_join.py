"""Clusters with a common operand become one kernel, and only where no other stands between."""

from __future__ import annotations

import pytest

from gnomon.ops.scalars import exp
from gnomon.ops.scan_primitives import scan
from gnomon.ops.view_primitives import permute
from tests.schedule.kernels_of import kernels, leaf, partition
from tests.schedule.waiting import waits_for

pytestmark = pytest.mark.unit


def test_means_of_one_gradient_are_one_kernel():
    g = leaf(300, 7)
    first, second = (g.arena.input((300, 7), g.dtype) for _ in range(2))

    assert len(kernels(first + g * 0.1, second * 0.9 + g * g)) == 1


def test_nothing_is_shared_when_fusion_is_off():
    g = leaf(300, 7)

    assert len(kernels(exp(g), exp(g * 2.0), without="fuse")) > len(kernels(exp(g), exp(g * 2.0)))


def test_what_needs_another_kernel_in_between_stays_apart():
    x = leaf(300, 7)
    e = exp(x)
    y = scan("add", e, 1) * x

    made = partition(e, y)

    assert made.home[e] is not made.home[y]
    assert not any(c in c.needs or waits_for(c.needs, c) for c in made.clusters)


def test_other_domains_stay_apart():
    x = leaf(300, 8)
    turned = permute(x, (1, 0))

    assert len(kernels(exp(x), exp(turned * 2.0))) == 2
