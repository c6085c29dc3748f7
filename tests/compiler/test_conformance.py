"""LLVM's code for the emitter's idioms, beside numpy, on every instruction set of this machine."""

from __future__ import annotations

import re

import numpy as np
import pytest

import gnomon as gn
from gnomon.compiler import conformance
from gnomon.compiler import idioms as idiom_list
from gnomon.compiler.conformance import emit_idioms, failures, guarded_memory, same
from gnomon.compiler.idioms import constant_mask, idioms
from gnomon.dtypes import DType
from gnomon.errors import CompileError
from gnomon.runtime import device, worker
from gnomon.settings import override


def instruction_sets() -> list[str]:
    """The limits under which this machine can run code."""
    best = device.host().name
    return ["auto", "avx2"] if best == "avx512" else ["auto"]


@pytest.mark.parametrize("limit", instruction_sets())
def test_every_idiom_is_what_numpy_says(limit):
    assert list(failures(list(idioms()), device.host(limit))) == []


def test_what_is_written_beside_a_result_is_seen():
    found = guarded_memory(8)
    expected = found.copy()
    assert same(found, expected, np.dtype("int8"))

    found[-1] = 0

    assert not same(found, expected, np.dtype("int8"))


def test_what_a_lane_holds_is_seen():
    expected = guarded_memory(8)
    found = expected.copy()
    found[conformance.GUARD] = 1

    assert not same(found, expected, np.dtype("int8"))


def other(x: np.ndarray, made: DType) -> np.ndarray:
    """Values that no cast gives."""
    return x.astype(made.numpy) + 1


def test_nothing_is_compiled_by_an_llvm_that_is_wrong(monkeypatch, tmp_path):
    with override(cache=True, cache_dir=str(tmp_path)):
        monkeypatch.setattr(conformance, "_right", set())
        with monkeypatch.context() as planted:
            planted.setattr(idiom_list, "converted", other)
            with pytest.raises(CompileError) as refused:
                (gn.arange(7) * 41).tolist()
        assert re.match(r"compile: LLVM [\d.]+ makes wrong code for \w", str(refused.value))
        assert "GNOMON_CPU_FEATURES=avx2" in str(refused.value)

        assert (gn.arange(7) * 41).tolist()[:3] == [0, 41, 82]
        monkeypatch.setattr(conformance, "_right", set())
        monkeypatch.setattr(conformance, "failures", None)
        conformance.assure()


def test_each_wrong_idiom_is_told_by_name(monkeypatch):
    monkeypatch.setattr(idiom_list, "converted", other)

    wrong = next(failures(list(idioms(thorough=False))))

    assert wrong == f"int32 to int8, stored: lanes {list(range(16))} on"


@pytest.mark.parametrize("lanes", [2, 4, 8, 16, 32, 64])
@pytest.mark.parametrize("kind", ["i8", "i16", "i32"])
def test_no_narrow_store_keeps_a_mask_that_llvm_knows(lanes, kind):
    mask = constant_mask(frozenset({0}), lanes)
    text = (
        f"call void @llvm.masked.store.v{lanes}{kind}.p0(<{lanes} x {kind}> %x, ptr %p, i32 1, "
        f"<{lanes} x i1> {mask})"
    )

    made = worker.mended(text, "+avx512f")

    assert re.search(r"<\d+ x i1> %mask0\.e\)$", made)
    assert worker.mended(text, "-avx512f") == text
    assert worker.mended(text.replace(kind, "f32"), "+avx512f") == text.replace(kind, "f32")


def test_every_store_of_the_idioms_is_mended():
    text = emit_idioms(list(idioms(thorough=False)), "few")
    narrow = re.findall(r"call void @llvm\.masked\.store\.v\d+i(?:8|16|32)\.", text)

    assert worker.mended(text, "+avx512f").count('asm "", "=r,0"') == len(narrow) > 50
