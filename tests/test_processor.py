"""What microkernels are told of a processor."""

from __future__ import annotations

import pytest

from gnomon.processor import machine, machine_of
from gnomon.runtime import device, system

pytestmark = pytest.mark.unit


def test_the_machine_is_the_one_that_code_is_made_for():
    made = machine()

    assert made is machine_of(device.target())
    assert made.lanes("float") * 32 <= device.target().vector_bits
    assert (made.l1, made.last) == (system.caches().l1, system.caches().l3)
