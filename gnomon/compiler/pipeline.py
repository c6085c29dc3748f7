"""The pipeline on one screen: a closed graph becomes a program that runs in one native call.

recompute   gradients of checkpointed functions read copies; first, since regions open after it
inline      regions open, except those a hand-written kernel claims
blocks      products and lookups read encoded blocks in place of what is decoded from them
divide      a program over a mesh becomes one rank's, with collectives; claims are asked anew
lower       collectives become transfers of bytes, folds and views
hoist       what all iterations of a loop compute alike stands before it
residuals   choices and loops keep what their gradients would recompute
trim        results of them that nobody reads go
empty       what has no elements is not computed, and folds of it are their identities
legalize    what kernels cannot compute becomes what they can
loosen      sums drop their trees, where numerics are "fast"
simplify    rewrites that keep every bit
partition   which nodes share a kernel, which are stored
generate    a kernel each, equal ones once
in order    little memory alive, few barriers; equal kernels that wait for nothing are one call
transfers   start as early, and are waited for as late, as can be
place       buffers share memory, barriers where threads must wait (gnomon/program/assembly.py)
load        machine code from the disk or the compiler
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import perf_counter

from gnomon.codegen.calls import is_claimed
from gnomon.codegen.products import carries_epilogue, opens
from gnomon.compiler.pass_log import passed, run_pass
from gnomon.ir.node import Graph, Node
from gnomon.ir.provenance import inherit
from gnomon.ir.show import log
from gnomon.ops.blocks import is_decoding
from gnomon.passes.divide import divide, mesh_axes
from gnomon.passes.empty import empty
from gnomon.passes.encoded import read_blocks
from gnomon.passes.hoist import hoist
from gnomon.passes.inline import inline
from gnomon.passes.legalize import legalize
from gnomon.passes.loosen import loosen
from gnomon.passes.lower_collectives import lower_collectives
from gnomon.passes.recompute import is_marked, recompute
from gnomon.passes.residuals import residuals
from gnomon.passes.simplify import simplify
from gnomon.passes.trim import trim
from gnomon.program.batching import in_order
from gnomon.program.blocks import ProgramBlock, separate_outputs
from gnomon.program.building import KernelBuilder
from gnomon.program.chunks import with_chunks
from gnomon.program.collectives import started_and_awaited
from gnomon.program.context import CompileContext
from gnomon.program.interpreted import node_by_node
from gnomon.program.kernel import PACK, Kernel
from gnomon.program.listing import fusions
from gnomon.schedule.excerpt import Verdicts
from gnomon.schedule.notes import Notes
from gnomon.schedule.partition import partition_of
from gnomon.schedule.placed import Placed

__all__ = ["block_of", "ignored", "kernels_of"]

Ask = Callable[[str, str], None]


def ignored(name: str, text: str) -> None:
    """Ignore a finished text, which is compiled later."""


def kernels_of(
    graph: Graph, context: CompileContext, ask: Ask = ignored, judge: Verdicts | None = None
) -> ProgramBlock:
    """The block of a graph after all passes, with its kernels; `ask` is called with each code.

    LLVM takes longer than the passes do, so other processes start before the last kernel is known.
    """
    allows = context.settings.allows
    if context.backend.interprets:
        return node_by_node(graph)
    claimed = is_claimed if allows("claim") else lambda node: False
    flat = run_pass("recompute", graph, recompute) if is_marked(graph) else graph
    flat = inline_unclaimed(flat, claimed)
    if mesh_axes(flat):
        # of a part a kernel may think otherwise than of the whole
        over_ranks = partial(divide, ranks_differ=context.ranks_differ)
        flat = inline(run_pass("divide", flat, over_ranks, divides=True), claimed)
    flat = run_pass("lower", flat, lower_collectives)
    for name, step in (("hoist", hoist), ("residuals", residuals), ("trim", trim)):
        flat = run_pass(name, flat, step) if allows(name) else flat
    with inherit(()):  # kernels have no lines of their own: their nodes' lines are the program's
        return opened_block(flat, context, ask, judge)


def inline_unclaimed(graph: Graph, claimed: Callable[[Node], bool]) -> Graph:
    """Inline regions that no kernel claims; products then read quantized blocks, not decodings."""
    decodings: list[Node] = []

    def stays(node: Node) -> bool:
        if not is_decoding(node):
            return claimed(node)
        decodings.append(node)
        return True

    flat = run_pass("inline", graph, lambda g: inline(g, stays))
    if not decodings:
        return flat
    return inline(run_pass("blocks", flat, read_blocks), claimed)


def opened_block(
    graph: Graph, context: CompileContext, ask: Ask, judge: Verdicts | None, inside: bool = False
) -> ProgramBlock:
    """Run the passes after inlining, and partition the graph into a block of kernels."""
    settings = context.settings
    flat = run_pass("legalize", run_pass("empty", graph, empty), legalize)
    flat = run_pass("loosen", flat, loosen) if settings.numerics == "fast" else flat
    flat = run_pass("simplify", flat, simplify) if settings.allows("simplify") else flat
    flat = separate_outputs(flat) if inside else flat
    start = perf_counter()
    divide = partial(partition_of, flat, settings.allows, carries_epilogue, judge, opens)
    placed = divide()
    while judge and judge.settle(flat):
        placed = divide()
    passed(f"partition: {len(flat.nodes)} nodes -> {len(placed.clusters)} kernels", start)
    log(3, lambda: f"partition: {len(flat.nodes)} nodes -> {len(placed.clusters)} kernels")
    log(3, lambda: fusions(list(Notes(placed).decisions())))
    return block_of(placed, context, ask, judge, Notes(placed))


def block_of(
    placed: Placed,
    context: CompileContext,
    ask: Ask = ignored,
    judge: Verdicts | None = None,
    notes: Notes | None = None,
) -> ProgramBlock:
    """Generate the kernels of a partition, in running order, and the blocks of inner graphs."""
    graph, parts, start = placed.graph, [], perf_counter()
    within = partial(opened_block, context=context.inside, ask=ask, judge=judge, inside=True)
    for part in KernelBuilder(placed, context, within, partial(pieces_of, context)).parts():
        for each in part.chunks or ((part,) if isinstance(part, Kernel) else ()):
            for code in each.codes:
                ask(code.symbol, code.text)
        parts.append(part)
    passed(f"generate: {len(parts)} kernels", start)
    panels = tuple(part.buffers[0] for part in parts if part.name == PACK)
    outside = {*graph.inputs, *graph.outputs, *panels}
    ordered = with_chunks(in_order(parts, outside, context.allows))
    timed, bounds = started_and_awaited(ordered)
    for each in bounds:
        log(1, lambda each=each: str(each))
    return ProgramBlock(graph, tuple(timed), notes, panels, bounds)


def pieces_of(context: CompileContext, graph: Graph) -> tuple[Graph, tuple[Kernel, ...]]:
    """The kernels of a graph that chunks of a region share."""
    block = kernels_of(graph, replace(context, kept=None))
    return block.graph, tuple(block.kernels())
