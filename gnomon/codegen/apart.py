"""Functions that kernels of several codes call: each is compiled once, whoever calls it.

A kernel's own functions stand in its module. Those that depend on nothing else there are taken out
and named by their text, so that equal ones of other kernels are the same function.
"""

from __future__ import annotations

import re

from gnomon.codegen.emitter import Emitter, LLVMModule
from gnomon.codegen.loops import Code
from gnomon.ir.memo import digest

__all__ = ["outline_functions"]

LEAST = 60
"""Lines from which on a function is worth an object of its own."""
PREFIX = "part_"
"""The beginning of the names of such functions; gnomon/runtime/cpu.py links by it."""
NAME = re.compile(r"@([\w.]+)")


def outline_functions(module: LLVMModule, kernel: str) -> tuple[Code, ...]:
    """Move a kernel's long functions out of its module, and return them, each as code of its own.

    The module then declares them, so that equal functions of other kernels are compiled once.
    """
    others = [name for name in module.functions if name != kernel]
    return tuple(
        outline(module, name) for name in others if is_worth_outlining(module.functions[name])
    )


def is_worth_outlining(function: Emitter) -> bool:
    """Whether a function is long enough to outline, and calls nothing but LLVM's intrinsics."""
    if len(function.lines) < LEAST:
        return False
    text = function.text()
    known = all(name == function.name or name.startswith("llvm.") for name in NAME.findall(text))
    return known and "!" not in text


def outline(module: LLVMModule, name: str) -> Code:
    """Outline a function as separate code, which other functions call by a name of its content."""
    function = module.functions.pop(name)
    text = function.text().replace("define internal ", "define ", 1)
    used = set(NAME.findall(text))
    declared = [x for x in sorted(module.declared) if NAME.findall(x)[0] in used]
    text = "\n".join([*declared, text, ""])
    symbol = f"{PREFIX}{digest(text.replace(f'@{name}(', '@('))}"
    before, after = f"@{name}(", f"@{symbol}("
    for other in module.functions.values():
        if before in "\n".join(other.lines):
            other.lines = [line.replace(before, after) for line in other.lines]
    kinds = ", ".join(kind for kind, _ in function.parameters)
    module.declare(f"declare {function.returns} @{symbol}({kinds})")
    return Code(symbol, text.replace(before, after), 0)
