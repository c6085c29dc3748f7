"""The collector of cycles waits while programs are built, and goes on as it was before."""

from __future__ import annotations

import gc

import pytest

from gnomon.ir.collector import uncollected

pytestmark = pytest.mark.unit


def test_it_goes_on_after_an_error():
    with pytest.raises(ValueError), uncollected():
        raise ValueError

    assert gc.isenabled()


def test_one_within_another_leaves_it_to_the_outer():
    with uncollected():
        with uncollected():
            pass

        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_program_that_never_collects_goes_on_so():
    gc.disable()
    try:
        with uncollected():
            pass

        assert not gc.isenabled()
    finally:
        gc.enable()
