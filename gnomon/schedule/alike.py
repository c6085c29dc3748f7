"""Merge kernels that differ only in buffers and offsets into one kernel with one more range.

Examples are the parts of a join, or of the gradients of slices in a loop over time: part k reads
its own buffers and works k rows further. Merged into one kernel they share one code, whose length
does not grow with the number of parts.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from gnomon.ir.memo import typed
from gnomon.ir.node import Arena, Node
from gnomon.ir.symbolic import (
    divisor_of,
    is_quotient,
    join,
    loop_range,
    number,
    plus,
    split,
    times,
)
from gnomon.schedule.kernel import LoopKernel, Store

__all__ = ["KernelPart", "runs_of"]

BufferKey = tuple[str, int]
"""The key of an index in a kernel: "load", "store" or "affine", and a number."""


@dataclass(frozen=True)
class KernelPart:
    """A kernel, the nodes of its buffers, the elements that it computes, and the domain's."""

    kernel: LoopKernel
    buffers: tuple[Node, ...]
    elements: int
    domain: int


class KernelForm:
    """A kernel's structure, which alike kernels have in common, and the offsets of its indices."""

    def __init__(self, kernel: LoopKernel) -> None:
        roots = [x for s in kernel.stores for x in (*split(s.place)[0], s.value)]
        self.nodes = ordered((*kernel.rows, kernel.inner, *roots))
        self.place = {node: k for k, node in enumerate(self.nodes)}
        self.offsets: dict[BufferKey, int] = {}
        rows = tuple(tuple(self._row(k, node)) for k, node in enumerate(self.nodes))
        stores = tuple(
            (s.buffer, self._terms(("store", s.buffer), s.place), self.place[s.value], s.dtype.name)
            for s in kernel.stores
        )
        dtypes = tuple(d.name for d in kernel.dtypes)
        self.key = (rows, stores, len(kernel.rows), dtypes, kernel.flat)

    def _row(self, k: int, node: Node) -> Iterator[Hashable]:
        """The row of a node in the form's key: operation, operands, parameters, but no offsets."""
        yield node.op
        if node.op == "affine":
            yield self._terms(("affine", k), node)
            return
        yield tuple(self.place[x] for x in operands(node))
        yield from (typed(node.params[name]) for name in sorted(node.params))
        if node.op == "load":
            yield self._terms(("load", k), node.inputs[0])
        elif is_quotient(node):
            yield divisor_of(node)

    def _terms(self, where: BufferKey, index: Node) -> Hashable:
        """The terms of an index, for the form's key; the offset is recorded separately."""
        terms, self.offsets[where] = split(index)
        return tuple((self.place[atom], coef) for atom, coef in terms.items())


class AlikeRun:
    """A run of consecutive parts whose kernels differ only in buffers and offsets."""

    def __init__(self, part: KernelPart, form: KernelForm) -> None:
        self.parts, self.form = [part], form
        self.steps: dict[BufferKey, int] = {}

    def takes(self, part: KernelPart, form: KernelForm) -> bool:
        """Add a part to the run if it continues it; returns whether it does."""
        if form.key != self.form.key:
            return False
        steps = {k: form.offsets[k] - first for k, first in self.form.offsets.items()}
        count = len(self.parts)
        if count > 1 and any(step != count * self.steps[k] for k, step in steps.items()):
            return False
        self.steps = self.steps or steps
        self.parts.append(part)
        return True

    def merged(self) -> list[KernelPart]:
        """The parts merged into one kernel; as they are if one would take a buffer twice."""
        first, columns = self.parts[0], zip(*(p.buffers for p in self.parts), strict=True)
        groups = [xs if len(set(xs)) > 1 else xs[:1] for xs in columns]
        buffers = tuple(x for xs in groups for x in xs)
        if len(self.parts) == 1 or len(set(buffers)) < len(buffers):
            return self.parts
        kernel = self._kernel(first.kernel, [len(xs) for xs in groups])
        return [KernelPart(kernel, buffers, sum(p.elements for p in self.parts), first.domain)]

    def _kernel(self, kernel: LoopKernel, counts: Sequence[int]) -> LoopKernel:
        """The kernel of the first part, extended by a range over all parts."""
        arena = Arena()
        which = loop_range(arena, len(self.parts), "part")
        made: dict[Node, Node] = {}

        def index_of_part(where: BufferKey, x: Node) -> Node:
            """An index of the first part, plus its step from part to part."""
            terms, offset = split(x)
            moved = {made[atom]: coef for atom, coef in terms.items()}
            return plus(join(arena, moved, offset), times(which, self.steps[where]))

        for k, node in enumerate(self.form.nodes):
            if node.op == "affine":
                made[node] = index_of_part(("affine", k), node)
            elif node.op == "load":
                slot = node.params["buffer"]
                params = {**node.params, "buffer": sum(counts[:slot])}
                params |= {"several": counts[slot]} if counts[slot] > 1 else {}
                place = index_of_part(("load", k), node.inputs[0])
                guards = tuple(made[x] for x in node.inputs[1:])
                made[node] = arena.node("load", (place, *guards), **params)
            else:
                inputs = tuple(made[x] for x in operands(node))
                inputs += (number(arena, divisor_of(node)),) if is_quotient(node) else ()
                made[node] = arena.with_inputs(node, inputs)
        stores = tuple(
            Store(s.buffer, index_of_part(("store", s.buffer), s.place), made[s.value], s.dtype)
            for s in kernel.stores
        )
        dtypes = tuple(d for d, n in zip(kernel.dtypes, counts, strict=True) for _ in range(n))
        rows = (which, *(made[r] for r in kernel.rows))
        return LoopKernel(rows, made[kernel.inner], stores, dtypes, flat=False)


def runs_of(parts: Iterable[KernelPart]) -> list[KernelPart]:
    """Merge runs of equal kernels into single parts, in order."""
    runs: list[AlikeRun] = []
    for part in parts:
        form = KernelForm(part.kernel)
        if not runs or not runs[-1].takes(part, form):
            runs.append(AlikeRun(part, form))
    return [part for run in runs for part in run.merged()]


def operands(node: Node) -> Sequence[Node]:
    """The operands of a scalar; of an address only its terms, of a division only the dividend."""
    if node.op == "load":
        return (*split(node.inputs[0])[0], *node.inputs[1:])
    return node.inputs[:1] if is_quotient(node) else node.inputs


def ordered(roots: Iterable[Node]) -> list[Node]:
    """All scalars on which the roots depend, operands first."""
    found: dict[Node, None] = {}
    stack = [(x, False) for x in reversed([*roots])]
    while stack:
        node, ready = stack.pop()
        if ready:
            found[node] = None
        elif node not in found:
            stack.append((node, True))
            stack += [(x, False) for x in reversed(operands(node))]
    return list(found)
