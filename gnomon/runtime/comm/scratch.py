"""Scratch memory for what comes to be folded, as IR text: a block that came back is used again.

Fresh pages cost more than what is moved through them, so the largest block that came back is kept,
at a place that says where.
"""

from __future__ import annotations

from gnomon.codegen.emitter import Emitter

__all__ = ["forget", "give", "take"]

HEAD = 64
"""Bytes before a block, which say how large it is."""


def take(e: Emitter, spare: str, nbytes: str) -> str:
    """Emit an allocation of `nbytes`: the spare block if it is large enough."""
    found = e.load(spare, "ptr", 8)
    some, fits, make, done = map(e.fresh, ("some", "fits", "make", "made"))
    none = e.value(f"icmp eq ptr {found}, null")
    e.do(f"br i1 {none}, label %{make}, label %{some}")
    e.label(some)
    size = e.load(found, "i64", 8)
    e.do(f"br i1 {e.value(f'icmp sge i64 {size}, {nbytes}')}, label %{fits}, label %{make}")
    e.label(fits)
    e.store("null", spare, "ptr", 8)
    e.do(f"br label %{done}")
    e.label(make)
    made = e.call("ptr", "malloc", ("i64", e.add(nbytes, HEAD)))
    e.store(nbytes, made, "i64", 8)
    e.do(f"br label %{done}")
    e.label(done)
    block = e.value(f"phi ptr [{found}, %{fits}], [{made}, %{make}]")
    return e.offset(block, HEAD)


def give(e: Emitter, spare: str, block: str) -> None:
    """Emit the release of a block: it becomes the spare one if it is larger."""
    whole = e.offset(block, -HEAD)
    kept = e.load(spare, "ptr", 8)
    some, done, before = e.fresh("kept"), e.fresh("given"), e.block
    e.do(f"br i1 {e.value(f'icmp eq ptr {kept}, null')}, label %{done}, label %{some}")
    e.label(some)
    larger = e.value(f"icmp sgt i64 {e.load(kept, 'i64', 8)}, {e.load(whole, 'i64', 8)}")
    stays = e.value(f"select i1 {larger}, ptr {kept}, ptr {whole}")
    leaves = e.value(f"select i1 {larger}, ptr {whole}, ptr {kept}")
    e.call("void", "free", ("ptr", leaves))
    e.do(f"br label %{done}")
    e.label(done)
    now = e.value(f"phi ptr [{whole}, %{before}], [{stays}, %{some}]")
    e.store(now, spare, "ptr", 8)


def forget(e: Emitter, spare: str) -> None:
    """Emit the release of the spare block."""
    e.call("void", "free", ("ptr", e.load(spare, "ptr", 8)))
    e.store("null", spare, "ptr", 8)
