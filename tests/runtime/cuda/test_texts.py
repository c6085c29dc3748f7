"""Texts of kernels for a card: parts are inlined, and other processors' instructions refused."""

from __future__ import annotations

import pytest

from gnomon.errors import CompileError
from gnomon.runtime.cpu import compile_kernels
from gnomon.runtime.cuda.texts import PTX, entry_text, in_global_memory, is_part
from tests.runtime.kernels import add_text

PART = """define internal float @part_add(float %a, float %b) noinline nounwind {
  %c = fadd float %a, %b
  ret float %c
}
"""
KERNEL = """declare float @part_add(float, float)
define void @sums(ptr %buffers, i64 %thread, i64 %threads, ptr %scratch) nounwind {
  %x = load ptr, ptr %buffers, align 8
  %a = load float, ptr %x, align 4
  %b = call float @part_add(float %a, float %a)
  store float %b, ptr %x, align 4
  ret void
}
"""


def test_a_kernel_and_its_parts_are_one_entry():
    text = entry_text("sums", {"sums": KERNEL, "part_add": PART})

    (ptx,) = compile_kernels([text], PTX)

    assert text.count("define") == 3
    assert ptx.decode().count(".entry launch(") == 1
    assert ".func" not in ptx.decode()
    assert "add.rn.f32" in ptx.decode()
    assert "ld.global.b32" in ptx.decode()
    assert "st.global.b32" in ptx.decode()
    assert [is_part(name) for name in ("part_add", "sums")] == [True, False]


def test_a_kernel_of_the_processor_is_one_of_the_card():
    (ptx,) = compile_kernels([entry_text("add", {"add": add_text("add", 16)})], PTX)

    assert ".target sm_80" in ptx.decode()
    assert ".approx" not in ptx.decode()


def test_reads_at_vectors_of_pointers_are_of_global_memory():
    read = "<4 x float> @llvm.masked.gather.v4f32.v4p0(<4 x ptr>"
    lines = (
        f"declare {read}, i32, <4 x i1>, <4 x float>)",
        f"  %v = call {read} %p, i32 4, <4 x i1> splat (i1 true), <4 x float> zeroinitializer)",
    )

    found = in_global_memory("\n".join(lines)).splitlines()

    assert found[0] == lines[0].replace("v4p0(<4 x ptr>", "v4p1(<4 x ptr addrspace(1)>")
    assert found[1] == "  %global0 = addrspacecast <4 x ptr> %p to <4 x ptr addrspace(1)>"
    assert found[2].startswith("  %v = call <4 x float> @llvm.masked.gather.v4f32.v4p1(")
    assert "(<4 x ptr addrspace(1)> %global0, i32 4" in found[2]


@pytest.mark.parametrize("name", ["llvm.x86.avx512bf16.dpbf16ps.512", "llvm.aarch64.get.fpcr"])
def test_instructions_of_other_processors_are_refused_before_llvm_sees_them(name):
    text = KERNEL.replace("part_add(", f"{name}(")

    with pytest.raises(CompileError, match=rf"sums is written for another processor.*{name}"):
        entry_text("sums", {"sums": text})
