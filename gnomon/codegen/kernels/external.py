"""The call of an external operation: `external_N`, of N buffers.

Thread 0 calls the function whose address stands behind the buffers, with the slots of the call; the
others go on to the next barrier.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from gnomon.codegen.emitter import KERNEL, Emitter, LLVMModule
from gnomon.codegen.loops import Code
from gnomon.ir.memo import memo

__all__ = ["calling", "external_code"]


def calling(symbol: str, address: Callable[[Emitter], str]) -> Code:
    """The code that has thread 0 call the function at an address, with the slots of the call."""
    module = LLVMModule()
    e = module.function(symbol, KERNEL)
    first = e.value("icmp eq i64 %thread, 0")
    e.when(first, lambda: e.do(f"call void {address(e)}(ptr %buffers)"))
    e.ret()
    return Code(symbol, module.text(), 0)


@memo
@cache
def external_code(buffers: int) -> Code:
    """The code of an external call with `buffers` buffers."""

    def address(e: Emitter) -> str:
        return e.load(e.offset("%buffers", 8 * buffers), "ptr", 8)

    return calling(f"external_{buffers}", address)
