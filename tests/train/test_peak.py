"""The peak is a rate of this machine."""

from __future__ import annotations

from gnomon.train.peak import Peak, measured_peak


def test_matrix_products_take_time_but_not_much():
    assert 1e7 < measured_peak() < 1e15


def test_a_step_above_the_peak_raises_it_and_figures_of_before_are_marked():
    peak = Peak(100e9)

    assert [peak.part(x) for x in (50e9, 100e9, 100.5e9)] == [0.5, 1.0, 1.0]
    assert not peak.correction(), "no figure changes"
    assert peak.part(114e9) == 1.0
    assert peak.correction() == (
        "the peak is 114 GFLOP/s, not 100: shares of it until here are too high"
    )
    assert not peak.correction()
    assert peak.part(57e9) == 0.5
