"""The saved form of a program is the program."""

from __future__ import annotations

import msgspec

from gnomon.compiler.pipeline import kernels_of
from gnomon.compiler.target import context
from gnomon.program.assembly import plan_of
from gnomon.program.saved import SavedProgram
from tests.controls import loop


def test_a_plan_comes_back_from_its_bytes():
    plan = plan_of(kernels_of(loop(), context()))

    found = msgspec.msgpack.decode(msgspec.msgpack.encode(plan), type=SavedProgram)

    assert isinstance(found, SavedProgram)
    assert found == plan
