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
