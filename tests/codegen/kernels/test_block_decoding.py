"""Every format has a decoder; what it computes is tested by products (test_block_product.py)."""

from __future__ import annotations

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.block_decoding import DECODERS, emit_decode
from gnomon.ops.blocks import FORMATS


def test_every_format_has_a_decoder_that_reads_its_block_alone():
    assert set(DECODERS) == set(FORMATS)
    for kind in FORMATS:
        module = LLVMModule()
        emit_decode(module, "decode", kind)
        assert "define internal void @decode(ptr noalias readonly %rows" in module.text()


def test_numbers_are_written_as_soon_as_they_are_there():
    """Registers are fewer than the numbers of a block: products do not wait for each other."""
    for kind in FORMATS:
        module, waiting, most = LLVMModule(), 0, 0
        emit_decode(module, "decode", kind)
        for line in module.text().splitlines():
            waiting += " fmul " in line or "@llvm.fma" in line
            most, waiting = max(most, waiting), 0 if "store <16 x float>" in line else waiting
        assert 0 < most <= 9, (kind, most)
