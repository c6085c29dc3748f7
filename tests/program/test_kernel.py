"""Kernel calls: their lines."""

from __future__ import annotations

from gnomon.program.kernel import Kernel
from tests.program.test_listing import compiled, small_model


def test_a_kernel_names_each_line_once():
    (product, *_) = compiled(small_model()).kernels

    assert isinstance(product, Kernel)
    assert [site.line for site in product.sites] == [3]
