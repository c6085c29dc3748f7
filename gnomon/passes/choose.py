"""Choose, for each node of a program, its division over the ranks of one mesh axis.

Greedy, in topological order. Preferred are, in this order, strategies that keep rows in place,
compute no product twice, move the fewest bytes, and repeat the least work; a split follows a split,
or avoids repeating a product. Correct strategies come from strategies.py, those of regions that
stay whole from regions.py. All results of a region's call have the placements that one kernel gives
them.

Each value also has a type: the placement that its node alone results in, given its inputs' types.
Users see types; the stored placement may differ to save work. Where values meet a varying value,
types decide on the division, since it determines the result.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cache
from typing import NamedTuple

from gnomon.ir.memo import Recent, memo
from gnomon.ir.node import NUMBER, Graph, Node
from gnomon.ops.collectives import MEETINGS
from gnomon.ops.layouts import LAYOUTS, in_leaves
from gnomon.ops.placements import REPLICATED, VARYING, Partial, Placement, Replicated, Split
from gnomon.ops.primitives import split_spec, summed
from gnomon.passes.layout import MeshAxis, is_whole, move_price
from gnomon.passes.regions import is_closed, of_region, primitives_of
from gnomon.passes.shares import commutes_with_sum, in_shares
from gnomon.passes.strategies import Strategy, is_named, strategies
from gnomon.passes.varying import ends_varying, is_divided, is_left_alone, usable, varies

Plan = dict[Node, Strategy]
Cost = tuple[float, float, float]
"""A cost: repeated flops of products, price of moves, repeated elements, compared in this order."""


def choose(graph: Graph, across: MeshAxis, given: dict[Node, Placement]) -> Plan:
    """The strategy of every node, chosen in forward order."""
    return choose_all(graph, across, given).plan


def types(graph: Graph, across: MeshAxis, given: dict[Node, Placement]) -> dict[Node, Placement]:
    """The type of every node: its placement as the author of the program may assume it."""
    return choose_all(graph, across, given).types


def choose_all(graph: Graph, across: MeshAxis, given: dict[Node, Placement]) -> Choices:
    """The strategy and type of every node, chosen in forward order."""
    made = Choices(across, in_shares(graph, across))
    for node in (*graph.inputs, *graph.nodes):
        if node in given:
            made.give(node, given[node])
        else:
            made.choose(node)
    return made


class ChosenStrategy(NamedTuple):
    """The choice for a node, shared by all nodes in the same situation."""

    strategy: Strategy
    type: Placement
    state: int
    asked: tuple[int, ...]
    """The wanted placement of each input, as a bit; empty if every rank computes all."""
    is_row: bool
    is_gradient: bool
    is_weight: bool


class Choices:
    """The choices so far; nodes in the same situation share one."""

    def __init__(self, across: MeshAxis, shares: AbstractSet[Node] = frozenset()) -> None:
        self.across, self.shares = across, shares
        self.plan: Plan = {}
        self.types: dict[Node, Placement] = {}
        """The placement that each node's own strategy results in, before readers move it."""
        self.state: dict[Node, int] = {}
        """Value -> number that stands for its shape, dtype and placement, for use in keys."""
        self.states: dict[object, int] = {}
        self.bits: dict[Placement, int] = {}
        self.moved: dict[Node, int] = defaultdict(int)
        """Value -> bit set of the placements in which readers want it."""
        self.rows: set[Node] = set()
        self.gradients: set[Node] = set()
        """Rows of gradients: ranks may have different numbers of them, and no sum depends on it."""
        self.own = False
        """Whether each rank passes its own rows, and their number."""
        self.uneven = False
        """Whether the rows of some rank are not whole leaves of the sum over all rows."""
        self.weights: set[Node] = set()
        self.constant: set[Node] = set()
        """Nodes that depend on constants alone, so that a rank may compute them once."""
        self.calls: dict[tuple[Node, ...], tuple[Placement, ...]] = {}
        self.met: dict[object, ChosenStrategy] = {}
        """Key of everything a choice depends on -> the choice, since layers repeat."""

    def give(self, node: Node, placement: Placement) -> None:
        """Record the placement that an input has."""
        self.plan[node] = Strategy((), placement)
        self.types[node] = placement
        if node.params["name"] == NUMBER:
            self.constant.add(node)
        self.state[node] = self._state(node, placement, placement, node in self.constant)

    def choose(self, node: Node) -> None:
        """Choose the strategy of a node whose inputs have theirs."""
        inputs, state, moved = node.inputs, self.state, self.moved
        twice = tuple(map(inputs.index, inputs)) if len({*inputs}) < len(inputs) else ()
        calls = self.calls.get(inputs) if node.op == "region" else None
        read = [state[x] for x in inputs]
        rows = (bool(self.rows), self.own, self.uneven, node in self.shares)
        key = (node.kind, rows, calls, twice, *read, *[moved[x] for x in inputs])
        found = self.met.get(key)
        if found is None:
            found = self.met[key] = self._choice(node)
        self.plan[node], self.types[node], state[node] = found[:3]
        for x, asked in zip(inputs, found.asked, strict=False):
            moved[x] |= asked
        if node.op == "region" and found.asked:
            self.calls[inputs] = found.strategy.wanted
        if found.is_row:
            self.rows.add(node)
            self._note_own(node)
        if found.is_gradient:
            self.gradients.add(node)
        if found.is_weight:
            self.weights.add(node)
        if self._is_constant(node):
            self.constant.add(node)

    def _choice(self, node: Node) -> ChosenStrategy:
        """Decide the strategy of a node, and what later choices need to know of its result."""
        plan, across = self.plan, self.across
        given = tuple(plan[x].given for x in node.inputs)
        varying = varies(node, given, across)
        alike = all(map(is_whole, given)) and node.op not in LAYOUTS
        undivided = (
            varying or ends_varying(node, across) or not self.constant.isdisjoint(node.inputs)
        )
        if alike and (undivided or not product_flops(node)):
            found = everywhere(given, varying)
            state = self._state(node, found.given, found.given, self._is_constant(node))
            return ChosenStrategy(found, found.given, state, (), False, False, False)
        alone = self._alone(node)
        found = alone if VARYING in given else self._chosen(node, plan, self._moved(node))
        kind = type_of(node, alone, [self.types[x] for x in node.inputs])
        if varying and found.given == REPLICATED:
            found = replace(found, given=VARYING)
        elif self.own and isinstance(found.given, Partial):
            rows, share = self._rows_of(node, found), self._has_share(node, found)
            found = replace(found, rows=rows, share=share)
        kind = VARYING if varying and kind == REPLICATED else kind
        plan[node] = found
        split = isinstance(found.given, Split)
        is_row = split and has_rows(node, plan, self.rows)
        is_gradient = is_row and has_gradient(node, plan, self.gradients)
        is_weight = split and is_kept(node, self.weights, self.across)
        asked = tuple(self.bits.setdefault(want, 1 << len(self.bits)) for want in found.wanted)
        facts = (is_row, is_gradient, is_weight)
        state = self._state(node, found.given, kind, *facts, found.rows, found.share)
        return ChosenStrategy(found, kind, state, asked, *facts)

    def _alone(self, node: Node) -> Strategy:
        """The strategy that a node would have if its inputs were placed as their types say."""
        plan = {x: replace(self.plan[x], given=self.types[x]) for x in node.inputs}
        return self._chosen(node, plan, {x: frozenset() for x in node.inputs})

    def _is_constant(self, node: Node) -> bool:
        """Whether a node is computed from constants alone; its inputs were chosen for before."""
        made = node.op not in LAYOUTS and node.op not in MEETINGS
        return made and node.op != "input" and self.constant.issuperset(node.inputs)

    def _state(self, node: Node, placement: Placement, kind: Placement, *facts: int) -> int:
        """A number for everything a reader's choice depends on; equal facts have equal numbers."""
        key = (node.shape, node.dtype, placement, kind, *facts)
        return self.states.setdefault(key, len(self.states))

    def _moved(self, node: Node) -> dict[Node, frozenset[Placement]]:
        """For each input of a node the placements in which earlier readers asked for it."""
        bits = self.bits.items()
        return {x: frozenset(w for w, bit in bits if self.moved[x] & bit) for x in node.inputs}

    def _chosen(
        self, node: Node, plan: Plan, moved: Mapping[Node, frozenset[Placement]]
    ) -> Strategy:
        """The cheapest strategy of a node under a plan, given the moves of earlier readers."""
        given = [plan[x].given for x in node.inputs]
        if is_left_alone(node, given) and is_named(node, self.across):
            return Strategy((given[0],), given[0], "boundary")
        every = usable([*options(node, self.across), *self._own_folds(node, plan)], given)
        found = [s for s in every if follows(node, s, plan, bool(self.rows))]
        if node.op == "region" and node.inputs in self.calls:
            found = [s for s in found if s.wanted == self.calls[node.inputs]] or found
        stay = {x for x in node.inputs if x in self.rows or x in self.weights}
        best = cheapest(node, found, plan, stay, moved, self.across)
        if best.given == REPLICATED and product_flops(node):
            best = cheapest(node, [best, *every], plan, stay, moved, self.across)
        return best

    def _note_own(self, node: Node) -> None:
        """Record that ranks gave their own rows, if a node places such rows over this mesh axis."""
        if "own" in node.params and is_named(node, self.across):
            self.own, ranks = True, self.across.ranks
            own = [each for name, _, each in node.params["layout"] if name == self.across.name]
            self.uneven |= not all(in_leaves(node, ranks, each) for each in own)

    def _rows_of(self, node: Node, strategy: Strategy) -> int:
        """The number of the ranks' own rows that a pending sum adds, without those of gradients."""
        found = max(self.plan[x].rows for x in node.inputs)
        if reads(self.gradients, node, strategy, self.plan):
            return found
        for x, want in zip(node.inputs, strategy.wanted, strict=True):
            if x in self.rows and isinstance(want, Split) and self.plan[x].given == want:
                found = max(found, x.shape[want.axis])
        return found

    def _has_share(self, node: Node, strategy: Strategy) -> bool:
        """Whether a rank's part of a pending sum is the sum of the rows that it gave."""
        pairs = zip(node.inputs, strategy.wanted, strict=True)
        in_place = [x for x, want in pairs if want == self.plan[x].given and not is_whole(want)]
        return any(x in self.rows or self.plan[x].share for x in in_place)

    def _own_folds(self, node: Node, plan: Plan) -> Iterator[Strategy]:
        """Strategies that fold each rank's own rows, where no tree over all rows is needed."""
        if (
            node in self.shares
            and commutes_with_sum(node)
            and all(plan[x].share for x in node.inputs)
        ):
            yield Strategy((Partial(),) * len(node.inputs), Partial(), own=True)
        if not (self.uneven or node in self.shares) or self.rows.isdisjoint(node.inputs):
            return
        known = options(node, self.across)
        for strategy in options(node, replace(self.across, own=True)):
            pairs = zip(node.inputs, strategy.wanted, strict=True)
            in_place = any(x in self.rows and plan[x].given == want for x, want in pairs)
            if in_place and strategy not in known:
                yield replace(strategy, own=True)


def type_of(node: Node, alone: Strategy, types: Sequence[Placement]) -> Placement:
    """The type of a node whose strategy is known for a program of it alone.

    A pending sum is reduced at its call. A value that is divided only to save work, with no input's
    layout asking for it, has a replicated type.
    """
    if alone.rule == "boundary":
        return alone.given
    return alone.given if is_divided(alone, types) else REPLICATED


@memo
@cache
def everywhere(given: tuple[Placement, ...], varying: bool) -> Strategy:
    """The strategy that computes the whole result on every rank, from replicated or own values."""
    return Strategy(given, VARYING if varying else REPLICATED)


def cheapest(
    node: Node,
    strategies: Sequence[Strategy],
    plan: Plan,
    stay: set[Node],
    moved: Mapping[Node, frozenset[Placement]],
    across: MeshAxis,
) -> Strategy:
    """The strategy that moves the fewest bytes of values that should stay, then costs least."""
    if len(strategies) == 1:
        return strategies[0]
    return min(
        strategies,
        key=lambda s: (bytes_moved(node, s, plan, stay), *cost(node, s, plan, moved, across)),
    )


def has_rows(node: Node, plan: Plan, rows: set[Node]) -> bool:
    """Whether a split node's parts are rows that stay on their rank."""
    return bool(node.params.get("stays")) or reads(rows, node, plan[node], plan)


def has_gradient(node: Node, plan: Plan, gradients: set[Node]) -> bool:
    """Whether a split node's rows are a gradient's: it places one, or reads such in place."""
    begins = node.op == "place" and "gradient" in node.params
    return begins or reads(gradients, node, plan[node], plan)


def reads(values: set[Node], node: Node, strategy: Strategy, plan: Plan) -> bool:
    """Whether a strategy reads any of these values in the placement that it has, without a move."""
    wanted = zip(node.inputs, strategy.wanted, strict=True)
    return any(x in values and plan[x].given == w for x, w in wanted)


def is_kept(node: Node, weights: set[Node], across: MeshAxis) -> bool:
    """Whether a split node is made of weights alone, whose parts are used on their own rank."""
    if node.op == "from_local":
        return across.name in node.params["keeps"]
    read = [x for x in node.inputs if x.rank]
    return bool(read) and all(x in weights for x in read)


def bytes_moved(node: Node, strategy: Strategy, plan: Plan, stay: set[Node]) -> float:
    """The bytes of inputs that should stay on their rank and that a strategy moves."""
    wanted = zip(node.inputs, strategy.wanted, strict=True)
    return sum(x.size * x.dtype.itemsize for x, w in wanted if x in stay and plan[x].given != w)


def follows(node: Node, strategy: Strategy, plan: Plan, rows: bool) -> bool:
    """Whether a strategy takes some split input as it is, so that it costs no message to divide.

    For a hand-written kernel any split is worth its messages. Where rows stay in place, two pending
    sums are a parameter's gradients: scattering them costs less than reducing them.
    """
    if strategy.rule == "boundary":
        return True
    if node.op == "region" and not all(is_whole(plan[x].given) for x in node.inputs):
        return True
    if rows and len({x for x in node.inputs if isinstance(plan[x].given, Partial)}) > 1:
        return True
    if all(isinstance(w, Replicated) for w in strategy.wanted) and strategy.given == REPLICATED:
        return True
    return any(
        plan[x].given == w != REPLICATED for x, w in zip(node.inputs, strategy.wanted, strict=True)
    )


def cost(
    node: Node,
    strategy: Strategy,
    plan: Plan,
    moved: Mapping[Node, frozenset[Placement]],
    across: MeshAxis,
) -> Cost:
    """The cost of a strategy for a node: work that every rank repeats, and moves of its inputs."""
    price = sum(
        0.0 if w in moved.get(x, ()) else move_price(plan[x].given, w, x, across)
        for x, w in zip(node.inputs, strategy.wanted, strict=True)
    )
    if isinstance(strategy.given, Partial):
        price += move_price(strategy.given, REPLICATED, node, across)
    if math.isinf(price):
        return price, price, price
    repeated = strategy.given == REPLICATED
    return product_flops(node) * repeated, price, float(node.size * repeated)


def product_flops(node: Node) -> float:
    """The multiplications and additions of a product."""
    if node.op == "region":
        return sum(map(product_flops, region_graph(node)))
    if node.op != "contract":
        return 0.0
    left, right, out = split_spec(node.params["spec"])
    sizes = dict(zip(left + right, node.inputs[0].shape + node.inputs[1].shape, strict=True))
    flops = 2.0 * node.size
    for letter in summed(left, right, out):
        flops *= sizes[letter]
    return flops


# regions

_options = memo(Recent[tuple[object, ...], list[Strategy]]())


def options(node: Node, across: MeshAxis) -> list[Strategy]:
    """Every correct strategy of a node, cached because layers repeat each other."""
    key = (across, node.kind, *((x.shape, x.dtype) for x in node.inputs))
    found = _options.get(key)
    if found is None:
        found = strategies(node, across)
        found = _options[key] = [*found, *of_region(node, across)] if is_closed(node) else found
    return found


def region_graph(node: Node) -> Graph:
    """The body of a region, cut down to the result that a node gives, as primitives."""
    return result_of(node.params["body"], node.params["index"])


@memo
@cache
def result_of(body: Graph, index: int) -> Graph:
    """One result of a region's body as primitives."""
    return primitives_of(Graph(body.inputs, [body.outputs[index]]))
