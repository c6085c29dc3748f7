"""From the IR text of a kernel to PTX: its functions in one module, behind a wrapper."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gnomon.errors import CompileError
from gnomon.runtime.device import Target

__all__ = ["ENTRY", "PTX", "entry_text", "is_part"]

PTX = Target("sm_80", "nvptx64-nvidia-cuda", "sm_80", "+ptx80", 32, 128)
"""What code is made for: the driver assembles it for the card that there is."""
ENTRY = "launch"
"""The name of a wrapper."""
PART = "part_"
"""How the names of functions begin that kernels call."""
WRAPPER = f"""
define ptx_kernel void @{ENTRY}(ptr %buffers, ptr %scratch, i64 %stride) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %g = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %before = mul i32 %b, %n
  %number = add i32 %before, %t
  %all = mul i32 %g, %n
  %thread = zext i32 %number to i64
  %threads = zext i32 %all to i64
  %offset = mul i64 %thread, %stride
  %own = getelementptr i8, ptr %scratch, i64 %offset
  call void @SYMBOL(ptr %buffers, i64 %thread, i64 %threads, ptr %own)
  ret void
}}
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
"""
FOREIGN = re.compile(r"llvm\.(?:x86|aarch64)\.[\w.]+")
"""Instructions of other processors, at which LLVM would end the process."""
CALLED = re.compile(r"declare [^@]*@(\w+)\(")


def is_part(symbol: str) -> bool:
    """Whether a function is called by kernels alone."""
    return symbol.startswith(PART)


def entry_text(symbol: str, texts: Mapping[str, str]) -> str:
    """A kernel and the functions that it calls, behind the wrapper.

    Raises CompileError for a text with instructions of another processor.
    """
    text = joined(symbol, texts)
    if foreign := FOREIGN.search(text):
        raise CompileError(
            f"compile: {symbol} is written for another processor: it calls {foreign[0]}. Report "
            "this with the program."
        )
    return text + WRAPPER.replace("SYMBOL", symbol)


def joined(symbol: str, texts: Mapping[str, str]) -> str:
    """A kernel and the functions that it calls, all inlined into it, in one text."""
    lines: list[str] = []
    declared: set[str] = set()
    wanted, done = [symbol], set()
    while wanted:
        name = wanted.pop()
        if name in done:
            continue
        done.add(name)
        for line in texts[name].splitlines():
            called = CALLED.match(line)
            if called and called[1] in texts:
                wanted.append(called[1])
            elif not line.startswith("declare") or line not in declared:
                declared |= {line} if line.startswith("declare") else set()
                lines.append(line)
    text = "\n".join(lines)
    text = re.sub(r"^define (?:internal )?([^@]*)@", r"define internal \1@", text, flags=re.M)
    return re.sub(r"\) (?:noinline )?(nounwind[^{]*)\{", r") alwaysinline \1{", text)
