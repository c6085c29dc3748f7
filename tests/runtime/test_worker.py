"""IR text to object code, in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
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


@pytest.mark.parametrize("kind", [llvm.ModuleRef, llvm.TargetMachine])
def test_a_module_is_closed_before_its_context_while_its_error_is_held(
    kind: type, monkeypatch: pytest.MonkeyPatch
):
    closed: list[str] = []
    for each in (llvm.ContextRef, llvm.ModuleRef):
        monkeypatch.setattr(each, "_dispose", noting(each._dispose, each.__name__, closed))
    monkeypatch.setattr(kind, "verify" if kind is llvm.ModuleRef else "emit_object", refuse)

    # its traceback holds what the function's variables hold
    with pytest.raises(RuntimeError, match="refused") as held:
        worker.compile_text(add_text("k", 64), *goal(device.host()), 2, 0)

    assert held.traceback
    assert closed == ["ModuleRef", "ContextRef"]


def refuse(*_: object) -> None:
    """LLVM's refusal."""
    raise RuntimeError("refused")


def noting(dispose: Callable[[Any], None], name: str, closed: list[str]) -> Callable[[Any], None]:
    """A destructor that notes that it is called."""

    def noted(ref: Any) -> None:
        closed.append(name)
        dispose(ref)

    return noted
