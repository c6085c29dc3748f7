"""From the IR text of a kernel to PTX: its functions in one module, behind a wrapper."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import count

from gnomon.errors import CompileError
from gnomon.runtime.cuda.lanes import by_lanes, teamwork
from gnomon.runtime.device import Target

__all__ = ["ENTRY", "PTX", "entry_text", "in_global_memory", "is_part", "width_of"]

PTX = Target("sm_80", "nvptx64-nvidia-cuda", "sm_80", "+ptx80", 32, 128)
"""The target of code for cards, which the driver assembles for the card of the machine."""
ENTRY = "launch"
"""The name of a wrapper."""
PART = "part_"
"""The beginning of the names of functions that kernels call."""
WRAPPER = f"""
define ptx_kernel void @{ENTRY}(ptr %buffers, ptr %scratch, i64 %stride) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %g = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %before = mul i32 %b, %n
  %number = add i32 %before, %t
  %all = mul i32 %g, %n
  %thread32 = udiv i32 %number, WIDTH
  %threads32 = udiv i32 %all, WIDTH
  %thread = zext i32 %thread32 to i64
  %threads = zext i32 %threads32 to i64
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
LOADED = re.compile(r"^( *)(%[\w.]+) = load ptr, (ptr .*)$", re.M)
"""A pointer that is loaded from the table of slots."""
GLOBAL = r"""\1\2.global = load ptr addrspace(1), \3
\1\2 = addrspacecast ptr addrspace(1) \2.global to ptr"""
"""The pointer, of which LLVM knows that it is to global memory: others are slower to read."""
GATHERED = re.compile(
    r"^(.*@llvm\.masked\.(?:gather|scatter)\.\w+\.v\d+)p0(\(.*?)(<\d+ x) ptr>( %[\w.]+)?(.*)$", re.M
)
"""A read or write at a vector of pointers, or its declaration."""
WIDTH = re.compile(r"^; threads (\d+)$", re.M)
"""The line by which a kernel says how many threads of a card are one of its own."""
CALLED = re.compile(r"declare [^@]*@(\w+)\(")


def width_of(text: str) -> int:
    """The card threads that make one thread of a kernel: its lanes, or a team; mostly one."""
    found = WIDTH.search(text)
    return int(found[1]) if found else 1


def is_part(symbol: str) -> bool:
    """Whether a function is called only by other kernels."""
    return symbol.startswith(PART)


def entry_text(symbol: str, texts: Mapping[str, str]) -> str:
    """The text of a kernel and the functions that it calls, after the entry's wrapper.

    Raises CompileError for a text with instructions of another processor.
    """
    width = width_of(texts[symbol])
    text = inline_text(symbol, texts if width == 1 else {**texts, **teamwork(width)})
    if foreign := FOREIGN.search(text):
        raise CompileError(
            f"compile: {symbol} is written for another processor: it calls {foreign[0]}. Report "
            "this with the program."
        )
    whole = text + WRAPPER.replace("SYMBOL", symbol).replace("WIDTH", str(width))
    return in_global_memory(whole if width == 1 else by_lanes(whole))


def in_global_memory(text: str) -> str:
    """A text with pointers marked as global memory of the card.

    An access to memory of any kind is slower. From single pointers LLVM follows the mark to
    accesses, from vectors of pointers it does not.
    """
    numbers = count()

    def at_global(found: re.Match[str]) -> str:
        before, values, lanes, pointers, after = found.groups()
        kind = f"{lanes} ptr addrspace(1)>"
        if pointers is None:
            return f"{before}p1{values}{kind}{after}"
        name = f"%global{next(numbers)}"
        cast = f"  {name} = addrspacecast {lanes} ptr>{pointers} to {kind}"
        return f"{cast}\n{before}p1{values}{kind} {name}{after}"

    return GATHERED.sub(at_global, LOADED.sub(GLOBAL, text))


def inline_text(symbol: str, texts: Mapping[str, str]) -> str:
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
