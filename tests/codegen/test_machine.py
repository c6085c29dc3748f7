"""What kernels know of a processor."""

from __future__ import annotations

import pytest

from gnomon.codegen.machine import AVX2, AVX512, NEON

pytestmark = pytest.mark.unit


def test_lanes_follow_from_the_register():
    assert [machine.lanes("float") for machine in (AVX2, AVX512, NEON)] == [8, 16, 4]
    assert [machine.lanes("double") for machine in (AVX2, AVX512, NEON)] == [4, 8, 2]
