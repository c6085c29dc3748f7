"""Control primitives: conditionals, while loops, and loops over slices.

Each has its branches or its body as closed graphs among its parameters, and a node for each result:
results of one call share inputs and graphs. They have no gradient here: the gradient of a call
needs all its results at once (gnomon/passes/calls.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import DType, bool_
from gnomon.errors import ShapeError
from gnomon.ir.node import PRIMITIVES, Graph, Node, Primitive, Shape, Signature, primitive
from gnomon.ops.scalars import SCALARS

Kinds = list[tuple[Shape, DType]]
GraphRunner = Callable[[Graph, Sequence[np.ndarray]], list[np.ndarray]]
"""A function that computes a graph's outputs from its inputs."""


class Control(Primitive):
    """Base of control primitives, which have several results and graphs that compute them."""

    def kinds(self, inputs: Sequence[Node], params: dict[str, Any]) -> Kinds:
        """The shapes and dtypes of all results."""
        raise NotImplementedError(f"{self.name} has no results")

    def values(
        self, params: dict[str, Any], inputs: Sequence[np.ndarray], run: GraphRunner
    ) -> list[np.ndarray]:
        """The values of all results; `run` evaluates subgraphs."""
        raise NotImplementedError(f"{self.name} has no values")

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        index: int = params["index"]
        return self.kinds(inputs, params)[index]

    def signature(self, node: Node) -> Signature:
        raise AssertionError(f"{node.op} runs whole: its letters are those of its graphs")


def kinds_of(nodes: Sequence[Node]) -> Kinds:
    """The shapes and dtypes of nodes."""
    return [(x.shape, x.dtype) for x in nodes]


def refuse_unfit(what: str, want: Kinds, have: Kinds) -> None:
    """Refuse graphs that do not fit together; stand-ins for sizes may cause that."""
    if want != have:
        raise ShapeError(f"{what}: {have} where {want} is needed.")


@primitive("cond")
class Cond(Control):
    """The results of `then` if a boolean holds, else of `other`; only one of the two runs.

    Inputs are the condition and the inputs of both graphs.
    """

    def kinds(self, inputs: Sequence[Node], params: dict[str, Any]) -> Kinds:
        """The dtypes and shapes of the results, equal in both branches."""
        then, other = params["then"], params["other"]
        refuse_unfit("cond", [((), bool_)], kinds_of(inputs[:1]))
        for graph in (then, other):
            refuse_unfit("cond", kinds_of(inputs[1:]), kinds_of(graph.inputs))
        refuse_unfit("cond", kinds_of(then.outputs), kinds_of(other.outputs))
        return kinds_of(then.outputs)

    def values(
        self, params: dict[str, Any], inputs: Sequence[np.ndarray], run: GraphRunner
    ) -> list[np.ndarray]:
        return run(params["then"] if inputs[0] else params["other"], inputs[1:])


@primitive("while")
class While(Control):
    """The carried values replaced by `body` of them while `test` of them holds.

    The first `carried` inputs are the carried values; both graphs take the other inputs unchanged.
    """

    def kinds(self, inputs: Sequence[Node], params: dict[str, Any]) -> Kinds:
        """The dtypes and shapes of the carried values."""
        test, body, carried = params["test"], params["body"], params["carried"]
        for graph in (test, body):
            refuse_unfit("while", kinds_of(inputs), kinds_of(graph.inputs))
        refuse_unfit("while", [((), bool_)], kinds_of(test.outputs))
        refuse_unfit("while", kinds_of(inputs[:carried]), kinds_of(body.outputs))
        return kinds_of(body.outputs)

    def values(
        self, params: dict[str, Any], inputs: Sequence[np.ndarray], run: GraphRunner
    ) -> list[np.ndarray]:
        """The carried values after the loop, by the interpreter."""
        state, rest = list(inputs[: params["carried"]]), inputs[params["carried"] :]
        while run(params["test"], [*state, *rest])[0]:
            state = run(params["body"], [*state, *rest])
        return state


@primitive("scan_over")
class ScanOver(Control):
    """A loop of `body` over slices; results are the last carried values, and stacked slices.

    Inputs: `carried` values, then `sliced` tensors whose first axis has `length` slices, then
    values that all iterations share. The body gives the carried values, then a slice of each
    stacked result.
    """

    def kinds(self, inputs: Sequence[Node], params: dict[str, Any]) -> Kinds:
        """The dtypes and shapes of carried values and stacked results."""
        body, carried, end = params["body"], params["carried"], params["carried"] + params["sliced"]
        for x in inputs[carried:end]:
            refuse_unfit("scan", [((params["length"],), x.dtype)], [(x.shape[:1], x.dtype)])
        slices = [(x.shape[1:], x.dtype) for x in inputs[carried:end]]
        taken = [*kinds_of(inputs[:carried]), *slices, *kinds_of(inputs[end:])]
        refuse_unfit("scan", taken, kinds_of(body.inputs))
        refuse_unfit("scan", kinds_of(inputs[:carried]), kinds_of(body.outputs[:carried]))
        rows = kinds_of(body.outputs[carried:])
        return [*taken[:carried], *(((params["length"], *s), dtype) for s, dtype in rows)]

    def values(
        self, params: dict[str, Any], inputs: Sequence[np.ndarray], run: GraphRunner
    ) -> list[np.ndarray]:
        """The carried values and stacked results, by the interpreter."""
        body, carried = params["body"], params["carried"]
        end = carried + params["sliced"]
        state, rows = (
            list(inputs[:carried]),
            [np.zeros((params["length"], *x.shape), x.dtype.numpy) for x in body.outputs[carried:]],
        )
        iterations = range(params["length"])
        for k in reversed(iterations) if params["reverse"] else iterations:
            made = run(body, [*state, *(x[k] for x in inputs[carried:end]), *inputs[end:]])
            state = made[:carried]
            for row, part in zip(rows, made[carried:], strict=True):
                row[k] = part
        return [*state, *rows]


@primitive("fold_over")
class FoldOver(Control):
    """A loop of `body` over two slices; its first results are folded, the others are stacked.

    Inputs: `sliced` tensors of two slices, then values that both iterations share. `folds` names
    the scalar function that combines the older and the newer value of each folded result.
    """

    def kinds(self, inputs: Sequence[Node], params: dict[str, Any]) -> Kinds:
        """The dtypes and shapes of folded and stacked results."""
        body, end, folds = params["body"], params["sliced"], params["folds"]
        assert (params["length"], params["carried"]) == (2, 0), "fold_over: two slices, no state"
        for x in inputs[:end]:
            refuse_unfit("fold_over", [((2,), x.dtype)], [(x.shape[:1], x.dtype)])
        slices = [(x.shape[1:], x.dtype) for x in inputs[:end]]
        refuse_unfit("fold_over", [*slices, *kinds_of(inputs[end:])], kinds_of(body.inputs))
        made = kinds_of(body.outputs)
        rows = [((2, *shape), dtype) for shape, dtype in made[len(folds) :]]
        return [*made[: len(folds)], *rows]

    def values(
        self, params: dict[str, Any], inputs: Sequence[np.ndarray], run: GraphRunner
    ) -> list[np.ndarray]:
        """The folded and stacked results, by the interpreter."""
        body, end, folds = params["body"], params["sliced"], params["folds"]
        older, newer = (run(body, [*(x[k] for x in inputs[:end]), *inputs[end:]]) for k in (0, 1))
        both = zip(older, newer, strict=True)
        folded = [SCALARS[f].value(*pair) for f, pair in zip(folds, both, strict=False)]
        return [*folded, *(np.stack(pair) for pair in both)]


CONTROL = frozenset({"cond", "while", "scan_over", "fold_over"})


def control(op: str) -> Control:
    """The control primitive of this name."""
    found = PRIMITIVES[op]
    assert isinstance(found, Control), f"{op} is no control primitive"
    return found


def call(op: str, inputs: Sequence[Node], **params: object) -> list[Node]:
    """Create all results of a control primitive."""
    inputs = tuple(inputs)
    count = len(control(op).kinds(inputs, params))
    return [inputs[0].arena.node(op, inputs, **params, index=k) for k in range(count)]


def call_of(node: Node) -> tuple[Any, ...]:
    """The key that all results of one call share."""
    p = node.params
    return (node.op, node.inputs, *[p[name] for name in sorted(p) if name != "index"])


def control_values(node: Node, inputs: Sequence[np.ndarray], run: GraphRunner) -> list[np.ndarray]:
    """The values of all results of a node's call; `run` evaluates graphs."""
    return control(node.op).values(node.params, inputs, run)


def graphs_of(params: dict[str, Any]) -> dict[str, Graph]:
    """The graphs among a call's parameters."""
    return {name: value for name, value in params.items() if isinstance(value, Graph)}


def with_graphs(params: dict[str, Any], change: Callable[[Graph], Graph]) -> dict[str, Any]:
    """A call's parameters with `change` applied to each graph."""
    return {**params, **{name: change(graph) for name, graph in graphs_of(params).items()}}


def executed(graph: Graph, times: int = 1) -> Iterator[tuple[Node, int]]:
    """The nodes of a graph and of the graphs inside it, with the number of times each is computed.

    Both branches of a conditional count, and one iteration of a loop of unknown length.
    """
    seen: set[tuple[Any, ...]] = set()
    for node in graph:
        yield node, times
        if node.op in CONTROL and call_of(node) not in seen:
            seen.add(call_of(node))
            for body in graphs_of(node.params).values():
                yield from executed(body, times * node.params.get("length", 1))


class ChangedGraphs:
    """A function of graphs applied once per graph, since results of a call share graphs."""

    def __init__(self, change: Callable[[Graph], Graph]) -> None:
        self.change = change
        self.made: dict[int, tuple[Graph, Graph]] = {}
        """Identity of a graph -> (the graph, kept alive so that the identity stays its own; its
        result)."""

    def __call__(self, graph: Graph) -> Graph:
        if id(graph) not in self.made:
            self.made[id(graph)] = graph, self.change(graph)
        return self.made[id(graph)][1]
