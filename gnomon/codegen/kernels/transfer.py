"""The two calls of a transfer between ranks: `transfer_start` and `transfer_wait`.

Thread 0 calls what the group's block names, with the slots of the call; the others go on to the
next barrier. What stands in the slots is said in gnomon/runtime/comm/base.py.
"""

from __future__ import annotations

from functools import cache

from gnomon.codegen.emitter import Emitter
from gnomon.codegen.kernels.external import calling
from gnomon.codegen.loops import Code
from gnomon.ir.memo import memo

__all__ = ["transfer_code"]

GROUP = 2
"""The slot of the group's block, whose first words are the addresses of both functions."""


@memo
@cache
def transfer_code(step: str) -> Code:
    """The code of a transfer's step: "start" or "wait"."""

    def address(e: Emitter) -> str:
        group = e.load(e.offset("%buffers", 8 * GROUP), "ptr", 8)
        return e.load(e.offset(group, 8 * ("start", "wait").index(step)), "ptr", 8)

    return calling(f"transfer_{step}", address)
