"""What microkernels are told of a processor."""

from __future__ import annotations

import pytest

from gnomon.codegen.machine import COMMON
from gnomon.compiler.target import machine, machine_of
from gnomon.runtime import device, system

pytestmark = pytest.mark.unit


@pytest.fixture
def processor():
    """Nothing is planted: it is this machine's own."""


def test_the_machine_is_the_one_that_code_is_made_for():
    made = machine()

    assert made is machine_of(device.target())
    assert made.lanes("float") * 32 <= device.target().vector_bits
    assert (made.l1, made.l2) == (system.caches().l1, system.caches().l2)


def test_what_is_far_is_far_on_every_processor():
    assert all(machine_of(device.foreign(x)).last == COMMON.last for x in device.FOREIGN)
