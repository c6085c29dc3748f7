"""The gradient of a control call: of all its results at once.

The gradient of a conditional is a conditional between the gradients of its branches. The gradient
of a loop over slices is a loop in the opposite order; it reads the values at the start of each
iteration, which the forward loop stacks. residuals.py stores forward values that a gradient would
recompute.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

from gnomon.errors import GradientError
from gnomon.ir.node import Arena, Graph, Node, copy_into
from gnomon.ir.operators import constant
from gnomon.ops.control_primitives import CONTROL, call, call_of
from gnomon.ops.primitives import expand
from gnomon.ops.registry import own_gradient, rule_of

PullBack = Callable[[Mapping[Node, Node], Sequence[Node]], list[Node | None]]
"""The type of pull_back in grad.py, which imports this file."""
Parts = list[Node | None]
Results = dict[Node, list[Node]]


def is_whole(node: Node) -> bool:
    """Whether the gradients of all results of a call are derived together, not one by one."""
    if node.op != "region":
        return node.op in CONTROL
    p = node.params
    derived = "of" not in p and own_gradient(p["name"]) is None
    return rule_of(node) is not None or (derived and len(p["body"].outputs) > 1)


def results_by_call(nodes: Iterable[Node], ops: Container[str] = CONTROL) -> Results:
    """The first result of every call of an operation among `ops` -> all its results, in order."""
    calls: dict[tuple[Any, ...], list[Node]] = {}
    for node in nodes:
        if node.op in ops:
            calls.setdefault(call_of(node), []).append(node)
    return {results[0]: results for results in calls.values()}


def gradients_of_call(
    gs: Mapping[Node, Node], needed: Sequence[bool], pull_back: PullBack
) -> Parts:
    """The gradients of a call's needed inputs, given those of its results."""
    node = next(iter(gs))
    if node.op == "while":
        raise GradientError(
            "while_loop: a loop without a bound has no gradient: what its iterations read would "
            f"have to be kept. Give max_iterations=n, or use scan.   "
            f"[{', '.join(map(str, node.sites))}]"
        )
    return GRADIENTS[node.op](node, gs, needed, pull_back)


def zeros(like: Node, arena: Arena, zero: float = 0.0) -> Node:
    """Zeros in a node's shape."""
    return expand(constant(arena, zero, like.dtype), like.shape)


def or_zeros(part: Node | None, like: Node, arena: Arena, zero: float = 0.0) -> Node:
    """A gradient, or zeros where there is none."""
    return zeros(like, arena, zero) if part is None else part


def add_seed(seeds: dict[Node, Node], x: Node, g: Node) -> None:
    """Add a gradient to the one that a node of a pass already has in `seeds`, if any."""
    seeds[x] = seeds[x] + g if x in seeds else g


def leaves_like(arena: Arena, nodes: Iterable[Node]) -> list[Node]:
    """Create inputs with these nodes' shapes and dtypes."""
    return [arena.input(x.shape, x.dtype) for x in nodes]


# choices


def gradient_of_choice(
    node: Node, gs: Mapping[Node, Node], needed: Sequence[bool], pull_back: PullBack
) -> Parts:
    """The gradient of a conditional: a conditional between its branches' gradients."""
    operands = [k for k, need in enumerate(needed[1:]) if need]
    places = [x.params["index"] for x in gs]
    pulled = [
        gradient_of_branch(node.params[name], places, operands, pull_back)
        for name in ("then", "other")
    ]
    kept = [k for k in range(len(operands)) if any(parts[k] is not None for _, parts in pulled)]
    graphs = [
        Graph(
            leaves,
            [or_zeros(parts[k], node.inputs[1 + operands[k]], leaves[0].arena) for k in kept],
        )
        for leaves, parts in pulled
    ]
    found: Parts = [None] * len(node.inputs)
    if kept:
        made = call("cond", (*node.inputs, *gs.values()), then=graphs[0], other=graphs[1])
        for k, part in zip(kept, made, strict=True):
            found[1 + operands[k]] = part
    return found


def gradient_of_branch(
    body: Graph, places: Sequence[int], operands: Sequence[int], pull_back: PullBack
) -> tuple[list[Node], Parts]:
    """Differentiate a branch: leaves for its inputs and results' gradients; operands' gradients."""
    arena = Arena()
    leaves = leaves_like(arena, body.inputs)
    outputs = [body.outputs[k] for k in places]
    images = copy_into(arena, outputs, dict(zip(body.inputs, leaves, strict=True)))
    incoming = leaves_like(arena, outputs)
    seeds: dict[Node, Node] = {}
    for image, g in zip(images, incoming, strict=True):
        add_seed(seeds, image, g)
    return [*leaves, *incoming], pull_back(seeds, [leaves[k] for k in operands])


# loops over slices


def gradient_of_scan(
    node: Node, gs: Mapping[Node, Node], needed: Sequence[bool], pull_back: PullBack
) -> Parts:
    """The gradient of a loop: a loop in the opposite order, which sums gradients of constants."""
    iteration = BackwardIteration(node, gs, needed)
    body = iteration.body(pull_back)
    p = node.params
    made = call(
        "scan_over",
        iteration.inputs(),
        body=body,
        carried=len(iteration.floats) + len(iteration.constants),
        sliced=p["carried"] + p["sliced"] + len(iteration.rows),
        length=p["length"],
        reverse=not p["reverse"],
    )
    places = [*iteration.floats, *iteration.constants, *iteration.slices]
    parts = dict(zip(places, made, strict=True))
    return [
        part if need else None for part, need in zip(iteration.spread(parts), needed, strict=True)
    ]


class BackwardIteration:
    """The backward iteration of a loop: what it carries, reads and gives, by number of input."""

    def __init__(self, node: Node, gs: Mapping[Node, Node], needed: Sequence[bool]) -> None:
        self.node, self.forward = node, node.params["body"]
        self.carried = node.params["carried"]
        self.end = self.carried + node.params["sliced"]
        self.given: dict[int, Node] = {x.params["index"]: g for x, g in gs.items()}
        float_inputs = [x.dtype.is_floating_point for x in node.inputs]
        self.floats = [k for k in range(self.carried) if float_inputs[k]]
        self.slices = [k for k in range(self.carried, self.end) if needed[k]]
        self.constants = [k for k in range(self.end, len(needed)) if needed[k]]
        self.rows = [k for k in self.given if k >= self.carried]

    def inputs(self) -> list[Node]:
        """The inputs of the backward loop."""
        node, arena = self.node, self.node.arena
        ends = [self.given.get(k, zeros(node.inputs[k], arena, -0.0)) for k in self.floats]
        sums = [zeros(node.inputs[k], arena, -0.0) for k in self.constants]
        rows = [self.given[k] for k in self.rows]
        slices = node.inputs[self.carried : self.end]
        return [*ends, *sums, *self.begins(), *slices, *rows, *node.inputs[self.end :]]

    def begins(self) -> list[Node]:
        """The carried values before each forward iteration, stacked by running the loop again."""
        body, p = self.forward, self.node.params
        stacking = Graph(body.inputs, [*body.outputs, *body.inputs[: self.carried]])
        made = call("scan_over", self.node.inputs, **{**shared(p), "body": stacking})
        return made[len(body.outputs) :]

    def body(self, pull_back: PullBack) -> Graph:
        """The graph of one backward iteration."""
        arena, forward = Arena(), self.forward
        leaves = leaves_like(arena, forward.inputs)
        images = copy_into(arena, forward.outputs, dict(zip(forward.inputs, leaves, strict=True)))
        ends = leaves_like(arena, (leaves[k] for k in self.floats))
        sums = leaves_like(arena, (leaves[k] for k in self.constants))
        rows = leaves_like(arena, (images[k] for k in self.rows))
        seeds = {leaves[k]: g for k, g in zip(self.constants, sums, strict=True)}
        for k, g in (*zip(self.rows, rows, strict=True), *zip(self.floats, ends, strict=True)):
            add_seed(seeds, images[k], g)
        asked = [leaves[k] for k in (*self.floats, *self.constants, *self.slices)]
        found = pull_back(seeds, asked)
        outputs = [or_zeros(g, x, arena, -0.0) for x, g in zip(asked, found, strict=True)]
        first, last = leaves[: self.end], leaves[self.end :]
        return Graph([*ends, *sums, *first, *rows, *last], outputs)

    def spread(self, parts: Mapping[int, Node]) -> Parts:
        """Gradients by number of input, as a list of all inputs; None where there is none.

        A constant of a loop without iterations is not read and gets no gradient.
        """
        unread = range(self.end, len(self.node.inputs)) if not self.node.params["length"] else ()
        return [None if k in unread else parts.get(k) for k in range(len(self.node.inputs))]


def shared(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters that all results of a call have: those without the result's number."""
    return {name: value for name, value in params.items() if name != "index"}


GRADIENTS: dict[str, Callable[..., Parts]] = {
    "cond": gradient_of_choice,
    "scan_over": gradient_of_scan,
}
"""Primitive -> the gradients of a call's inputs."""
