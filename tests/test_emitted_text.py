"""What is emitted for real programs: no operation that a compiler may change, one symbol a text."""

from __future__ import annotations

import pytest

from gnomon.program.kernel import Kernel
from gnomon.runtime import cpu, device
from tests.blocks import block, block_shapes, mlp, mlp_shapes, step
from tests.compiled import program
from tests.test_no_fast_math import faults
from tests.witnesses import WITNESSES, witness

STEPS = {
    "mlp": (mlp, mlp_shapes(12, 33, 20)),
    "block": (block(heads=3), block_shapes(2, 9, 12, 20)),
}


def kernels_of(name: str) -> tuple[Kernel, ...]:
    """The kernels of a witness or of a training step."""
    graph = step(*STEPS[name]) if name in STEPS else witness(name)[0]
    return program(graph).kernels


@pytest.mark.parametrize("name", [*WITNESSES, *STEPS])
def test_no_kernel_holds_anything_inexact(name: str):
    texts = [kernel.code.text for kernel in kernels_of(name)]

    assert texts
    assert not [what for text in texts for what in faults(text)]


@pytest.mark.parametrize("name", STEPS)
def test_a_symbol_names_one_text(name: str):
    texts: dict[str, str] = {}

    for kernel in kernels_of(name):
        assert texts.setdefault(kernel.code.symbol, kernel.code.text) == kernel.code.text
        assert f"@{kernel.code.symbol}(" in kernel.code.text


@pytest.mark.parametrize("processor", ["avx2", "avx512", "neon"])
@pytest.mark.parametrize("name", STEPS)
def test_every_processor_has_code_for_it(name: str, processor: str):
    texts = sorted({kernel.code.text for kernel in kernels_of(name)})

    codes = cpu.compile_kernels(texts, device.foreign(processor))

    assert len(codes) == len(texts)
    assert all(code[:4] == b"\x7fELF" for code in codes)


def test_attention_is_claimed_in_the_block():
    names = [kernel.name for kernel in kernels_of("block")]

    assert any("attention" in name for name in names)
