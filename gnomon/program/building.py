"""From clusters to kernels: loops, hand-written kernels, chunks, and blocks of control flow."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from operator import ne
from typing import Any

from gnomon.codegen.calls import OPAQUE, results_of
from gnomon.codegen.families import NumberedCode, code_of
from gnomon.codegen.numbers import dissected
from gnomon.codegen.opaque import OpaqueCall
from gnomon.codegen.plan_loops import overwritable, streamable
from gnomon.codegen.products import contract, contract_with
from gnomon.errors import CompileError, DeviceError
from gnomon.forking import cached_property
from gnomon.ir.node import Node
from gnomon.ir.sizes import late
from gnomon.ir.specializations import CLUSTERS
from gnomon.ir.substitution import of_symbols, substituted, symbols_in
from gnomon.ops.collectives import TRANSFERS
from gnomon.ops.control_primitives import CONTROL
from gnomon.ops.external import external_of
from gnomon.ops.registry import asks_for_chunks
from gnomon.program import chunks
from gnomon.program.blocks import Build, ControlCall, control
from gnomon.program.collectives import transfer
from gnomon.program.context import CompileContext
from gnomon.program.external import external_kernel
from gnomon.program.kernel import PACK, Kernel
from gnomon.schedule.cluster import Cluster, has_epilogue
from gnomon.schedule.memory import nbytes
from gnomon.schedule.nest import ClusterSignature, KernelPart, name_of, parts_of
from gnomon.schedule.placed import Placed
from gnomon.schedule.shared_nests import NestAtSizes, SharedNests
from gnomon.settings import current

__all__ = ["KernelBuilder", "kernel_of"]

FEW = 2
"""Numbers that a hand-written kernel may read instead of knowing them, and be as quick: where an
operand begins, and one stride of it."""


@dataclass(frozen=True)
class KernelBuilder:
    """Builder of the kernels of a partition.

    inside: makes the blocks of graphs inside it; pieces: the kernels of a chunk's graph.
    """

    partition: Placed
    context: CompileContext
    inside: Build
    pieces: chunks.ChunkGraph

    @property
    def kept(self) -> Sequence[Node] | None:
        """The inputs that are prepacked weights, by graph input; None if nothing is prepacked."""
        numbers = self.context.kept
        return None if numbers is None else [self.partition.graph.inputs[k] for k in numbers]

    @cached_property
    def given(self) -> int:
        """The bytes of all results."""
        return sum(map(nbytes, dict.fromkeys(self.partition.graph.outputs)))

    def parts(self) -> Iterator[Kernel | ControlCall]:
        """All kernels and control calls, in an order that respects dependences."""
        for cluster in self.partition.ordered():
            if not self._has_results(cluster):
                continue
            if next(iter(cluster.members)).op in CONTROL:
                yield control(tuple(cluster.members), self.inside)
            else:
                yield from (self._opaque if cluster.opaque else self._loops)(cluster)

    def _has_results(self, cluster: Cluster) -> bool:
        """Whether a cluster writes any result."""
        return any(x in self.partition.stored and x.size for x in cluster.members)

    @cached_property
    def described(self) -> dict[Hashable, dict[Sequence[int], None]]:
        """The numbers of the calls so far, by name and outline; empty at first."""
        return {}

    @cached_property
    def signatures(self) -> dict[Cluster, ClusterSignature]:
        """The signatures of clusters that become loops."""
        loops = [c for c in self.partition.clusters if not c.opaque and self._has_results(c)]
        return {cluster: ClusterSignature(cluster, self.partition.stored) for cluster in loops}

    @cached_property
    def shared(self) -> SharedNests:
        """The loop nests that several clusters share."""
        is_done = current().allows("share")
        return SharedNests(self.signatures.items() if is_done else ())

    def _loops(self, cluster: Cluster) -> Iterator[Kernel]:
        """The loop kernels of a cluster; equal clusters, or those of many sizes, share code."""
        signature = self.signatures[cluster]
        nest = self.shared.at(cluster, signature)
        if nest is not None:
            made = [self._kernel(cluster, part, nest) for part in nest.parts()]
            if nest.holds():
                yield from made
                return
        for part in parts_of(cluster, signature):
            yield self._kernel(cluster, part)

    def _kernel(
        self, cluster: Cluster, part: KernelPart, nest: NestAtSizes | None = None
    ) -> Kernel:
        """One kernel of a cluster, at the cluster's sizes if several share its nest."""
        kernel, members = part.kernel, tuple(cluster.members)
        work = (x.size if x.op == "map" else prod(x.inputs[0].shape) for x in members if x.inputs)
        if self.context.allows("stream") and self._goes_far(part):
            kernel = replace(kernel, streams=True)
        varies = self.context.sizes_vary or nest is not None
        given = code_of(kernel, varies, *self.context.machine.shares)
        width = kernel.inner.params["size"] if kernel.flat else None
        fields: tuple[Any, ...] = given.code, given.numbers, width, part.elements, part.domain
        if nest is not None:
            fields = bound_at(fields, nest)
        code, numbers, width, elements, domain = fields
        return Kernel(
            name_of(part.buffers[: kernel.outputs]),
            code,
            part.buffers,
            kernel.outputs,
            width,
            members,
            late(part_of, elements, domain, sum(work)),
            len(kernel.checks()),
            over=overwritable(kernel),
            numbers=numbers,
        )

    def _goes_far(self, part: KernelPart) -> bool:
        """Whether a kernel's results are evicted from caches before they are read."""
        partition, far = self.partition, self.context.machine.is_far
        made = part.buffers[: part.kernel.outputs]
        last = all(x in partition.results and partition.users[x] <= 1 for x in made)
        together = part.kernel.flat and last and far(self.given // 2)
        if not together and not any(far(nbytes(x)) for x in made):
            return False
        along = [part.buffers[slot] for slot in streamable(part.kernel)]
        return bool(along) and (together or all(far(nbytes(x)) for x in along))

    def _opaque(self, cluster: Cluster) -> Iterator[Kernel]:
        """The kernel of a node with a hand-written one, its epilogue included."""
        node, *rest = cluster.members
        if asks_for_chunks(node):
            yield chunks.by_chunks((node, *rest), results_of(node), self.pieces)
            return
        if node.op in TRANSFERS or node.op == "external":
            refuse_off_host(node, self.context)
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
        given = call.given(self._reads_sizes(call))
        if has_epilogue(cluster):
            name = f"{name}_{name_of(after or first)}"
        if call.before:
            yield self._packing(call.before, node)
        yield kernel_of(replace(call, name=name), given, (*first, node, *after))

    def _call(
        self, cluster: Cluster, node: Node, first: list[Node], after: list[Node]
    ) -> OpaqueCall:
        """The call of a hand-written kernel, with its prologue and epilogue."""
        machine, kept = self.context.machine, self.kept
        if has_epilogue(cluster):
            stored = self.partition.stored
            return contract_with(node, first, after, stored, machine, kept)
        if node.op == "contract":
            return contract(node, machine, kept)
        return OPAQUE[node.op](node, machine)

    def _reads_sizes(self, call: OpaqueCall) -> bool:
        """Whether a call's code takes sizes as runtime arguments: they vary, or calls are alike."""
        if self.context.sizes_vary or not current().allows("share"):
            return self.context.sizes_vary
        taken = dissected(call.spec)
        known = self.described.setdefault((call.name, taken.outline), {})
        known[taken.numbers] = None
        return len(known) >= CLUSTERS.enough and any(
            are_near(taken.numbers, x) for x in reversed(known)
        )

    def _packing(self, pack: OpaqueCall, node: Node) -> Kernel:
        """The kernel that packs a factor into panels, which later runs may use again."""
        title = PACK if pack.buffers[1] in (self.kept or ()) else "panels"
        given = pack.given(self._reads_sizes(pack))
        return Kernel(title, given.code, pack.buffers, 1, None, (node,), 0, numbers=given.numbers)


def kernel_of(call: OpaqueCall, given: NumberedCode, nodes: tuple[Node, ...]) -> Kernel:
    """The kernel of a call whose code computes these nodes."""
    return Kernel(
        call.name,
        given.code,
        call.buffers,
        call.outputs,
        None,
        nodes,
        call.flops,
        call.checks,
        over=call.over,
        numbers=given.numbers,
        bytes=call.bytes,
    )


def refuse_off_host(node: Node, context: CompileContext) -> None:
    """Refuse functions of this process in a program for another device."""
    if not context.backend.on_host:
        name = node.op if node.op in TRANSFERS else external_of(node.params["key"]).name
        raise DeviceError(
            f"{name}: it runs on the CPU alone: got a program for device {context.backend.name}. "
            f"Move its operands with cpu().   [{', '.join(map(str, node.sites))}]"
        )


def part_of(elements: int, domain: int, flops: int) -> int:
    """The flops that one of a cluster's kernels does."""
    return round(elements / max(domain, 1) * flops)


def are_near(numbers: Sequence[int], others: Sequence[int]) -> bool:
    """Whether two lists of numbers differ, and in at most a few entries."""
    return 0 < sum(map(ne, numbers, others)) <= FEW


def bound_at(fields: tuple[Any, ...], nest: NestAtSizes) -> tuple[Any, ...]:
    """Fields of a shared nest, bound to the sizes of one cluster."""
    values = nest.values(symbols_in(fields))
    return substituted(fields, of_symbols(values.__getitem__))
