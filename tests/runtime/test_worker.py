"""IR text to object code, in this process."""

from __future__ import annotations

import pytest

from gnomon.codegen.emitter import Emitter
from gnomon.runtime import device, worker
from tests.runtime.kernels import add_text, kernel


def goal(target: device.Target) -> tuple[str, str, str]:
    """What a target is to the code generator."""
    return target.triple, target.cpu, target.features


@pytest.mark.parametrize("name", [*device.FOREIGN])
def test_one_text_gives_code_for_every_kind_of_processor(name):
    code = worker.compile_text(add_text("k", 64), *goal(device.foreign(name)), 2, 0)

    assert code.startswith(b"\x7fELF")


def test_the_same_text_gives_the_same_bytes():
    first, second = (
        worker.compile_text(add_text("k", 64), *goal(device.host()), 2, 0) for _ in range(2)
    )

    assert first == second


def test_running_the_pipeline_is_a_choice():
    def body(e: Emitter) -> None:
        place = e.value("alloca i64")
        e.store("%thread", place, "i64", 8)
        e.store(e.load(place, "i64", 8), "%scratch", "i64", 8)

    plain, passed = (
        worker.compile_text(kernel("k", body), *goal(device.host()), 2, passes) for passes in (0, 1)
    )

    assert plain != passed


def test_a_bad_text_is_answered_with_a_complaint():
    code, complaint = worker.answer(("define void @k( {", *goal(device.host()), 2, 0))

    assert code == b""
    assert "expected" in complaint
