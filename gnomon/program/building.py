"""From clusters to kernels: loops, hand-written kernels, chunks, and blocks of control flow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod

from gnomon.codegen.calls import OPAQUE, results_of
from gnomon.codegen.context import CompileContext
from gnomon.codegen.families import code_of
from gnomon.codegen.opaque import OpaqueCall
from gnomon.codegen.plan_loops import overwritable, streamable
from gnomon.codegen.products import contract, contract_with
from gnomon.errors import CompileError
from gnomon.forking import cached_property
from gnomon.ir.node import Node
from gnomon.ir.sizes import late
from gnomon.ops.collectives import TRANSFERS
from gnomon.ops.control_primitives import CONTROL
from gnomon.program import chunks
from gnomon.program.blocks import Build, ControlCall, control
from gnomon.program.collectives import transfer
from gnomon.program.external import external_kernel
from gnomon.program.kernel import PACK, Kernel
from gnomon.schedule.chunks import is_chunked
from gnomon.schedule.cluster import Cluster, has_epilogue
from gnomon.schedule.memory import nbytes
from gnomon.schedule.nest import KernelPart, name_of, parts_of
from gnomon.schedule.placed import Placed
from gnomon.settings import current

__all__ = ["KernelBuilder"]


@dataclass(frozen=True)
class KernelBuilder:
    """The kernels of a partition.

    inside: makes the blocks of graphs inside it; pieces: the kernels of a chunk's graph.
    """

    partition: Placed
    context: CompileContext
    inside: Build
    pieces: chunks.Build

    @property
    def kept(self) -> Sequence[Node] | None:
        """Inputs whose panels last; None where nothing is kept in panels."""
        numbers = self.context.kept
        return None if numbers is None else [self.partition.graph.inputs[k] for k in numbers]

    @cached_property
    def given(self) -> int:
        """The bytes of all results."""
        return sum(map(nbytes, dict.fromkeys(self.partition.graph.outputs)))

    def parts(self) -> Iterator[Kernel | ControlCall]:
        """All of them, in an order that respects what is needed."""
        stored = self.partition.stored
        for cluster in self.partition.ordered():
            if not any(x in stored and x.size for x in cluster.members):
                continue
            if next(iter(cluster.members)).op in CONTROL:
                yield control(tuple(cluster.members), self.inside)
            else:
                yield from (self._opaque if cluster.opaque else self._loops)(cluster)

    def _loops(self, cluster: Cluster) -> Iterator[Kernel]:
        """A cluster as loop kernels; equal ones share their code."""
        members = tuple(cluster.members)
        work = (x.size if x.op == "map" else prod(x.inputs[0].shape) for x in members if x.inputs)
        flops = sum(work)
        for part in parts_of(cluster, self.partition):
            kernel = part.kernel
            if current().allows("stream") and self._goes_far(part):
                kernel = replace(kernel, streams=True)
            given = code_of(kernel, self.context.sizes_vary)
            yield Kernel(
                name_of(part.buffers[: kernel.outputs]),
                given.code,
                part.buffers,
                kernel.outputs,
                kernel.inner.params["size"] if kernel.flat else None,
                members,
                late(partial(part_of, part.share), flops),
                len(kernel.checks()),
                over=overwritable(kernel),
                numbers=given.numbers,
            )

    def _goes_far(self, part: KernelPart) -> bool:
        """Whether a kernel's results leave the caches before they are read, whatever is done."""
        partition, far = self.partition, self.context.machine.is_far
        made = part.buffers[: part.kernel.outputs]
        last = all(x in partition.results and partition.users[x] <= 1 for x in made)
        together = part.kernel.flat and last and far(self.given // 2)
        if not together and not any(far(nbytes(x)) for x in made):
            return False
        along = [part.buffers[slot] for slot in streamable(part.kernel)]
        return bool(along) and (together or all(far(nbytes(x)) for x in along))

    def _opaque(self, cluster: Cluster) -> Iterator[Kernel]:
        """A node that a hand-written kernel computes, with what it does to the results."""
        node, *rest = cluster.members
        if is_chunked(node):
            yield chunks.by_chunks((node, *rest), results_of(node), self.pieces)
            return
        if node.op in TRANSFERS:
            yield transfer(node)
            return
        if node.op == "external":
            yield external_kernel(tuple(cluster.members))
            return
        if node.op not in OPAQUE:
            raise CompileError(
                f"compile: no kernel for {node.op}. Write one in gnomon/codegen/kernels."
            )
        first = [x for x in rest if x in cluster.before]
        after = [x for x in rest if x not in cluster.before]
        name, call = node.params.get("name", node.op), self._call(cluster, node, first, after)
        given = call.given(self.context.sizes_vary)
        if has_epilogue(cluster):
            name = f"{name}_{name_of(after or first)}"
        if call.before:
            yield self._packing(call.before, node)
        yield Kernel(
            name,
            given.code,
            call.buffers,
            call.outputs,
            None,
            (*first, node, *after),
            call.flops,
            call.checks,
            over=call.over,
            numbers=given.numbers,
            bytes=call.bytes,
        )

    def _call(
        self, cluster: Cluster, node: Node, first: list[Node], after: list[Node]
    ) -> OpaqueCall:
        """The call of a hand-written kernel, with what is pointwise before and after it."""
        machine, kept = self.context.machine, self.kept
        if has_epilogue(cluster):
            stored = self.partition.stored
            return contract_with(node, first, after, stored, machine, kept)
        if node.op == "contract":
            return contract(node, machine, kept)
        return OPAQUE[node.op](node, machine)

    def _packing(self, pack: OpaqueCall, node: Node) -> Kernel:
        """The kernel that lays a factor out as panels, which may last from run to run."""
        title = PACK if pack.buffers[1] in (self.kept or ()) else "panels"
        given = pack.given(self.context.sizes_vary)
        return Kernel(title, given.code, pack.buffers, 1, None, (node,), 0, numbers=given.numbers)


def part_of(share: float, flops: int) -> int:
    """The operations of one of a cluster's kernels."""
    return round(share * flops)
