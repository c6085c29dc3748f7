"""Chains: folds that run element by element, in ascending order, leaf by leaf.

A block of positions along the row has one chain each, side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gnomon.codegen.block import ScalarValues
from gnomon.codegen.blocks import ChainBlocks, is_cut
from gnomon.codegen.folds import SLOT, Folds
from gnomon.codegen.lifted import Lifted, is_lifted
from gnomon.codegen.plan_loops import LoopPlan
from gnomon.codegen.shares import WorkTeam
from gnomon.ir.node import Node
from gnomon.ir.sizes import agree
from gnomon.ops import canonical

AHEAD = 8
"""Terms of a short chain that a card reads at once, since a thread waits long for each."""


class Chains:
    """Emitter of chains where a value needs them; chains over one range share its loop."""

    def __init__(
        self,
        plan: LoopPlan,
        values: ScalarValues,
        folds: Folds,
        reserves: tuple[Callable[[int], str], Callable[[int], str]],
        team: WorkTeam,
    ) -> None:
        """Set up; reserves: functions that reserve scratch for a team and for each member."""
        self.plan, self.values, self.folds, self.team = plan, values, folds, team
        self.reserve, self.own = reserves

    def __call__(self, fold: Node) -> None:
        """Emit a chain, and beside it all that run over the same range."""
        folds = self._siblings(fold)
        numbers = self.values.numbers
        leaves, size = numbers.leaves(fold), numbers.size(fold.inputs[0])
        self._before(folds)
        owners = [each for each in folds for _ in range(self._width(each))]
        if not is_lifted(leaves) and leaves == 1:
            parts = self._leaf(owners, "0", size)
        else:
            parts = self._by_leaves(owners, leaves, size // leaves)
        totals: dict[Node, list[str]] = {}
        for each, total in zip(owners, parts, strict=True):
            totals.setdefault(each, []).append(self.folds.result(each, total))
        for each, found in totals.items():
            self.values.remember(each, found)

    def _siblings(self, fold: Node) -> list[Node]:
        """A chain and those that may share its loop: same range, leaves and scope."""
        missing = self._missing(fold)
        found = [
            node
            for node in self.plan.nodes
            if node.op == "fold"
            and node is not fold
            and node not in missing
            and not self.plan.is_lane_fold(node)
            and agree(self._place(node), self._place(fold))
            and not self._known(node)
            and self._open(node)
            and self._missing(node) <= missing
        ]
        return [fold, *found]

    def _missing(self, fold: Node) -> set[Node]:
        """Folds that a chain reads and that do not vary along it: they are computed first."""
        stack, seen, found = [fold.inputs[1]], set(), set()
        while stack:
            node = stack.pop()
            if node in seen or self._known(node):
                continue
            seen.add(node)
            if node.op == "fold" and fold.inputs[0] not in self.plan.depends[node]:
                found.add(node)
            stack.extend(node.inputs)
        return found

    def _known(self, node: Node) -> bool:
        """Whether a value has been computed."""
        return any(node in scope for scope in self.values.scopes)

    def _place(self, fold: Node) -> tuple:
        """The range, leaves, variation and scope of a chain, equal for those of one loop."""
        leaves = fold.params["leaves"]
        return fold.inputs[0], leaves, self.plan.varies(fold), self.plan.level[fold]

    def _open(self, node: Node) -> bool:
        """Whether the loop of every range that a chain depends on is open."""
        return self.plan.depends[node] <= {*self.values.rows, self.plan.kernel.inner}

    def _before(self, folds: Sequence[Node]) -> None:
        """Emit what chains read and does not vary along their range."""
        turning = folds[0].inputs[0]
        stack, seen = [f.inputs[1] for f in folds], set()
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if turning in self.plan.depends[node] or node.op in ("const", "range", "affine"):
                stack.extend(node.inputs)
            elif self._open(node):
                self.values.vectors(node)

    def _width(self, fold: Node) -> int:
        """The number of positions at which a chain has separate totals."""
        return len(self.values.positions) if self.plan.varies(fold) else 1

    def _leaf(self, owners: Sequence[Node], low: str, size: int | Lifted) -> list[str]:
        """Compute the totals of all chains and positions over a leaf, block by block."""
        e = self.values.e
        if not is_cut(owners, size):
            return self._chain(owners, low, e.add(low, size))
        blocks, length = ChainBlocks.of(self.folds, owners, self.own), canonical.BLOCK

        def one(first: str, end: str) -> list[str]:
            return self._chain(owners, e.add(low, first), e.add(low, end))

        return blocks.joined(blocks.over(-(-size // length), length, str(size), one))

    def _chain(self, owners: Sequence[Node], low: str, high: str) -> list[str]:
        """Compute the totals of all chains and positions over low..high in ascending order."""
        turning, folds = owners[0].inputs[0], dict.fromkeys(owners)

        def step(i: str, *totals: str) -> list[str]:
            self.values.enter()
            self.values.rows[turning] = i
            taken = [v for f in folds for v in self.folds.lifted(f, self.values)[: self._width(f)]]
            rows = zip(owners, totals, taken, strict=True)
            following = [self.folds.combine(f, total, v) for f, total, v in rows]
            self.values.leave()
            del self.values.rows[turning]
            return following

        state = [self.folds.start(fold) for fold in owners]
        e = self.values.e
        if not self.team.strided or any(self.plan.costly[f.inputs[1]] for f in folds):
            return e.loop(low, high, 1, step, state)

        def steps(i: str, *totals: str) -> list[str]:
            found = list(totals)
            for k in range(AHEAD):
                found = step(e.add(i, k), *found)
            return found

        count = e.value(f"sub i64 {high}, {low}")
        middle = e.add(low, e.value(f"and i64 {count}, {-AHEAD}"))
        totals = e.loop(low, middle, AHEAD, steps, state)
        kinds = [kind for kind, _ in state]
        return e.loop(middle, high, 1, step, list(zip(kinds, totals, strict=True)))

    def _by_leaves(
        self, owners: Sequence[Node], leaves: int | Lifted, size: int | Lifted
    ) -> list[str]:
        """The total of each chain and position over its leaves."""
        e, reserve = self.values.e, self.own if self.team.apart else self.reserve
        tables = [reserve(leaves * SLOT) for _ in owners]

        def leaf(k: str) -> None:
            totals = self._leaf(owners, e.mul(k, size), size)
            for fold, total, table in zip(owners, totals, tables, strict=True):
                self.folds.spill(fold, total, table, k)

        self.team.each(leaves, leaf)
        pairs = zip(owners, tables, strict=True)
        return self.team.taken([self.folds.spilled(*pair, leaves) for pair in pairs])
