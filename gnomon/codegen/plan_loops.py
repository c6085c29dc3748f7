"""Placement of a loop kernel's scalars: per row, in a pass along the row, or kept.

A row is passed over as often as folds along it depend on each other: softmax reads its row for the
maximum, again for the sum of exponentials, and again to divide. What was costly in an earlier pass
and is needed in a later one is kept in a row of scratch memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from gnomon.codegen.emitter import LANES
from gnomon.ir.memo import memo
from gnomon.ir.node import Node, topological
from gnomon.ir.symbolic import split
from gnomon.ops.scalars import SCALARS
from gnomon.schedule.kernel import LoopKernel, Store

CHEAP = frozenset({"range", "affine", "const", "load"})


@dataclass
class Pass:
    """One pass along the inner range: its folds, stores, and values saved for later passes."""

    folds: list[Node] = field(default_factory=list)
    stores: list[Store] = field(default_factory=list)
    kept: list[Node] = field(default_factory=list)

    def targets(self) -> list[Node]:
        """The scalars that the pass must compute."""
        bodies = [fold.inputs[1] for fold in self.folds]
        return [*bodies, *self.kept, *(x for s in self.stores for x in (s.value, s.place))]


class LoopPlan:
    """The plan of a loop kernel: levels and dependences of its scalars, and its passes in order."""

    def __init__(self, kernel: LoopKernel) -> None:
        self.kernel = kernel
        self.nodes = kernel.nodes()
        loads = [node for node in self.nodes if node.op == "load"]
        self.tables = {x.params["buffer"] for x in loads if "several" in x.params}
        """The first of several buffers of which each row reads one."""
        self.depends: dict[Node, frozenset[Node]] = {}
        self.level: dict[Node, int] = {}
        self.costly: dict[Node, bool] = {}
        for node in self.nodes:
            self._study(node)
        self.passes = self._passes()
        self.row_stores = [
            s for s in kernel.stores if not self.varies(s.value) and not self.varies(s.place)
        ]
        self._keep()

    def varies(self, node: Node) -> bool:
        """Whether a scalar changes along the inner range."""
        return self.kernel.inner in self.depends[node]

    def is_lane_fold(self, node: Node) -> bool:
        """Whether a node folds the inner range."""
        return node.op == "fold" and node.inputs[0] is self.kernel.inner

    def _study(self, node: Node) -> None:
        """Compute the level and the dependences of a scalar."""
        inner = frozenset().union(*(self.depends[x] for x in node.inputs))
        level = max((self.level[x] for x in node.inputs), default=0)
        if node.op == "range":
            inner = frozenset({node})
        if node.op == "fold":
            inner -= {node.inputs[0]}
            level += self.is_lane_fold(node)
        if "several" in node.params:
            inner |= {self.kernel.rows[0]}
        self.depends[node], self.level[node] = inner, level
        heavy = node.op == "fold" or (node.op == "map" and SCALARS[node.params["f"]].costly)
        self.costly[node] = not self.is_lane_fold(node) and (
            heavy or any(self.costly[x] for x in node.inputs)
        )

    def _passes(self) -> list[Pass]:
        """The folds and stores by level; sums with different leaves take separate passes."""
        found: dict[tuple[int, int], Pass] = {}
        for node in self.nodes:
            if self.is_lane_fold(node):
                key = (self.level[node] - 1, node.params["leaves"])
                found.setdefault(key, Pass()).folds.append(node)
        for store in self.kernel.stores:
            if self.varies(store.value) or self.varies(store.place):
                level = max(self.level[store.value], self.level[store.place])
                same = [key for key in found if key[0] == level]
                found.setdefault(min(same, default=(level, 1)), Pass()).stores.append(store)
        self.levels = sorted(found)
        return [found[key] for key in self.levels]

    def _keep(self) -> None:
        """Decide, from the last pass back, the values kept in scratch memory for later passes."""
        first = {}
        for (level, _), run in zip(self.levels, self.passes, strict=True):
            first.setdefault(level, run)
        self.kept: dict[Node, int] = {}
        for (level, _), run in reversed(list(zip(self.levels, self.passes, strict=True))):
            for node in self._needed_from_before(run, level):
                if node not in self.kept and self.level[node] in first:
                    self.kept[node] = len(self.kept)
                    first[self.level[node]].kept.append(node)

    def _needed_from_before(self, run: Pass, level: int) -> list[Node]:
        """Costly scalars of earlier levels that a pass reads, the outermost of each expression.

        A row of scratch holds one value per element: what varies inside a fold of another axis has
        several.
        """
        own = {*self.kernel.rows, self.kernel.inner}
        found, stack, seen = [], list(run.targets()), set()
        while stack:
            node = stack.pop()
            if node in seen or not self.varies(node):
                continue
            seen.add(node)
            ahead = self.level[node] < level and self.depends[node] <= own
            if ahead and self.costly[node] and node.op not in CHEAP:
                found.append(node)
            else:
                stack.extend(node.inputs)
        return found


@memo
@cache
def streamable(kernel: LoopKernel) -> tuple[int, ...]:
    """The buffers written along rows in whole aligned vectors, so that stores may stream."""
    plan = LoopPlan(kernel)
    folds = [x for x in plan.nodes if plan.is_lane_fold(x)]
    pieces = [kernel.inner.params["size"] // x.params["leaves"] for x in folds]
    stores = [store for run in plan.passes for store in run.stores]
    for store in stores:
        terms, offset = split(store.place)
        step = terms.pop(kernel.inner, 0)
        pieces += [*terms.values(), offset, step - 1]
    whole = all(piece % LANES == 0 for piece in pieces)
    return tuple(store.buffer for store in stores) if whole else ()


@memo
@cache
def overwritable(kernel: LoopKernel) -> tuple[tuple[int, int], ...]:
    """Pairs (output, operand) of a kernel's buffers where the output may alias the operand.

    Each element of the operand is read where it is then overwritten, and by nothing afterwards: a
    later result that needs it too finds it in a register.
    """
    plan = LoopPlan(kernel)
    last = plan.passes[-1].stores if plan.passes else []
    loads: dict[int, list[Node]] = {}
    for node in plan.nodes:
        if node.op == "load":
            first, several = node.params["buffer"], node.params.get("several", 1)
            for buffer in range(first, first + several):
                loads.setdefault(buffer, []).append(node)
    found = []
    for k, store in enumerate(last):
        size = store.dtype.itemsize
        fits = [
            (buffer, nodes)
            for buffer, nodes in loads.items()
            if buffer >= kernel.outputs and kernel.dtypes[buffer].itemsize == size
            if all(x.inputs == (store.place,) and "several" not in x.params for x in nodes)
        ]
        if fits:
            later = {*topological([s.value for s in last[k + 1 :]])}
            reloaded = later - at_hand(plan, [s.value for s in last[: k + 1]])
            found += [
                (store.buffer, buffer) for buffer, nodes in fits if reloaded.isdisjoint(nodes)
            ]
    return tuple(found)


def at_hand(plan: LoopPlan, values: Sequence[Node]) -> set[Node]:
    """The values that the last pass computes for a block of elements along with `values`.

    Values of earlier passes for the block are excluded: operands of folds, and saved ones.
    """
    kept = {node for run in plan.passes for node in run.kept}
    found, stack = set(), list(values)
    while stack:
        node = stack.pop()
        if node not in found:
            found.add(node)
            stack.extend(() if node.op == "fold" or node in kept else node.inputs)
    return found
