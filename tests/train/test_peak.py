"""The peak is a rate of this machine."""

from __future__ import annotations

from gnomon.train.peak import measured_peak


def test_matrix_products_take_time_but_not_much():
    assert 1e7 < measured_peak() < 1e15
