"""Add a batch axis in front of all values that depend on given ones, for gn.vmap.

Each primitive declares how its axes follow its inputs' axes, so a rule only adds one new letter for
the batch axis, which passes through. Sums keep their order: each sample has the bits that it would
have alone. A region stays a region; its gradient is its own gradient with the same axis in front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.ir.memo import memo
from gnomon.ir.node import Arena, Graph, Node, copy_into, topological
from gnomon.ir.provenance import inherit
from gnomon.ops.einsum import LETTERS
from gnomon.ops.external import external_of
from gnomon.ops.joining import stack
from gnomon.ops.primitives import expand, reduce, reshape, split_spec
from gnomon.ops.registry import Traced, rule_of
from gnomon.ops.scalars import where
from gnomon.ops.view_parts import select
from gnomon.ops.view_primitives import permute

Flags = tuple[bool, ...]
"""For each of some nodes, whether it has the batch axis."""


def batch_roots(roots: Sequence[Node], known: Mapping[Node, Node], size: int) -> list[Node]:
    """The roots with a batch axis of this size; `known` maps some nodes to batched ones."""
    made = dict(known)
    for node in topological(roots):
        if node in made or not any(x in made for x in node.inputs):
            continue
        flags = tuple(x in made for x in node.inputs)
        inputs = tuple(made.get(x, x) for x in node.inputs)
        with inherit(node.sites):
            made[node] = rule_for(node)(node, inputs, flags, size)
    return [made[x] if x in made else in_front(x, size) for x in roots]


def in_front(x: Node, size: int) -> Node:
    """Repeat a value along a new first axis, once for each sample."""
    return expand(reshape(x, (1, *x.shape)), (size, *x.shape))


Rule = Callable[[Node, tuple[Node, ...], Flags, int], Node]


def rule_for(node: Node) -> Rule:
    """The batching rule of an operation."""
    if node.op not in RULES or rule_of(node) is not None:
        name = node.params.get("name", node.op)
        raise ArgumentError(f"vmap: {name} takes no axis of samples. Write it for all samples.")
    return RULES[node.op]


def with_params(node: Node, inputs: tuple[Node, ...], **changed: object) -> Node:
    """A node's operation with other inputs and parameters."""
    return inputs[0].arena.node(node.op, inputs, **{**node.params, **changed})


# rules


def of_map(node: Node, inputs: tuple[Node, ...], flags: Flags, size: int) -> Node:
    """The rule of an elementwise node: inputs without the batch axis get axes of size 1."""
    rank = node.rank

    def aligned(x: Node, has: bool) -> Node:
        if has:
            return reshape(x, (size, *(1,) * (rank + 1 - x.rank), *x.shape[1:]))
        return reshape(x, (1, *x.shape)) if x.rank else x

    return with_params(node, tuple(map(aligned, inputs, flags)))


def of_axis(node: Node, inputs: tuple[Node, ...], flags: Flags, size: int) -> Node:
    """The rule of an operation along one axis, whose number grows by 1."""
    return with_params(node, inputs, axis=node.params["axis"] + 1)


def of_shape(node: Node, inputs: tuple[Node, ...], flags: Flags, size: int) -> Node:
    """The rule of an operation with a shape as parameter, which gets the batch size in front."""
    return with_params(node, inputs, shape=(size, *node.params["shape"]))


def of_permute(node: Node, inputs: tuple[Node, ...], flags: Flags, size: int) -> Node:
    """The rule of permute: the batch axis stays in front."""
    return with_params(node, inputs, order=(0, *(k + 1 for k in node.params["order"])))


def of_slice(node: Node, inputs: tuple[Node, ...], flags: Flags, size: int) -> Node:
    """The rule of slice: the batch axis is kept whole."""
    return with_params(node, inputs, bounds=((0, size, 1), *node.params["bounds"]))


def of_pad(node: Node, inputs: tuple[Node, ...], flags: Flags, size: int) -> Node:
    """The rule of pad: nothing is added along the batch axis."""
    words = ("low", "high", "between")
    return with_params(node, inputs, **{word: (0, *node.params[word]) for word in words})


def of_same(node: Node, inputs: tuple[Node, ...], flags: Flags, size: int) -> Node:
    """The rule of operations whose parameters name no axis."""
    return inputs[0].arena.with_inputs(node, inputs)


def of_spec(node: Node, inputs: tuple[Node, ...], flags: Flags, size: int) -> Node:
    """The rule of contract, gather and scatter: the batch axis gets a letter of its own."""
    spec: str = node.params["spec"]
    if node.op == "scatter" and not flags[0]:
        inputs, flags = (in_front(inputs[0], size), inputs[1]), (True, flags[1])
    fresh = next(c for c in LETTERS if c not in spec)
    *parts, out = split_spec(spec)
    named = ",".join(fresh + part if has else part for part, has in zip(parts, flags, strict=True))
    return with_params(node, inputs, spec=f"{named}->{fresh}{out}")


_bodies: dict[tuple[Any, ...], Graph] = memo({})


def of_region(node: Node, inputs: tuple[Node, ...], flags: Flags, size: int) -> Node:
    """The rule of a region: its body gets the batch axis.

    The new region remembers its unbatched form, from which its gradient is derived.
    """
    params = {name: value for name, value in node.params.items() if name != "index"}
    key = (params["body"], flags, size)
    if key not in _bodies:
        with inherit(()):
            _bodies[key] = with_axis(params["body"], flags, size)
    made = {
        "name": f"{params['name']}.vmap",
        "body": _bodies[key],
        "call": params["call"],
        "of": tuple(sorted(params.items())),
        "flags": (*flags, size),
    }
    return inputs[0].arena.node("region", inputs, **made, index=node.params["index"])


def with_axis(body: Graph, flags: Iterable[bool], size: int) -> Graph:
    """A graph whose flagged inputs, and all outputs, have the batch axis in front."""
    arena = Arena()
    whole: dict[Node, Node] = {}
    known: dict[Node, Node] = {}
    leaves: list[Node] = []
    for leaf, has in zip(body.inputs, flags, strict=True):
        leaves.append(arena.input((size, *leaf.shape) if has else leaf.shape, leaf.dtype))
        (known if has else whole)[leaf] = leaves[-1]
    # what does not depend on samples moves to the new arena as it is
    for node in body:
        if node in known or node in whole:
            continue
        with inherit(node.sites):
            if any(x in known for x in node.inputs):
                flagged = tuple(x in known for x in node.inputs)
                given = tuple(known.get(x) or whole[x] for x in node.inputs)
                known[node] = rule_for(node)(node, given, flagged, size)
            else:
                whole[node] = arena.with_inputs(node, tuple(whole[x] for x in node.inputs))
    outputs = [known[x] if x in known else in_front(whole[x], size) for x in body.outputs]
    return Graph(leaves, outputs)


def of_scan(node: Node, inputs: tuple[Node, ...], flags: Flags, size: int) -> Node:
    """The rule of a loop: its iterations get the batch axis, behind the axis of slices."""
    p, count = node.params, node.params["carried"]
    end = count + p["sliced"]
    state = [x if has else in_front(x, size) for x, has in zip(inputs, flags[:count], strict=False)]
    pairs = zip(inputs[count:end], flags[count:end], strict=True)
    slices = [swap_leading(x) if has else x for x, has in pairs]
    body = with_axis(p["body"], (*(True for _ in state), *flags[count:]), size)
    made = with_params(node, (*state, *slices, *inputs[end:]), body=body)
    return made if p["index"] < count else swap_leading(made)


def swap_leading(x: Node) -> Node:
    """x with its first two axes exchanged."""
    return permute(x, (1, 0, *range(2, x.rank)))


def of_choice(node: Node, inputs: tuple[Node, ...], flags: Flags, size: int) -> Node:
    """The rule of a choice; where the condition has the batch axis, both branches are computed."""
    pred, *operands = inputs
    then, other = (with_axis(node.params[name], flags[1:], size) for name in ("then", "other"))
    if not flags[0]:
        return with_params(node, inputs, then=then, other=other)
    place: int = node.params["index"]
    (left,), (right,) = (
        copy_into(pred.arena, [g.outputs[place]], dict(zip(g.inputs, operands, strict=True)))
        for g in (then, other)
    )
    return where(reshape(pred, (size, *(1 for _ in node.shape))), left, right)


def of_external(node: Node, inputs: tuple[Node, ...], flags: Flags, size: int) -> Node:
    """The rule of external operations: the one that the user registered, else a call per sample."""
    rule = external_of(node.params["key"]).batched
    if rule is not None:
        return rule(node, inputs, flags, size)

    def sample(k: int) -> Node:
        pairs = zip(inputs, flags, strict=True)
        return with_params(node, tuple(select(x, 0, k) if has else x for x, has in pairs))

    return stack([sample(k) for k in range(size)])


RULES: dict[str, Rule] = {
    **dict.fromkeys(("reduce", "scan", "sort", "window"), of_axis),
    **dict.fromkeys(("reshape", "expand"), of_shape),
    **dict.fromkeys(("detach", "barrier"), of_same),
    **dict.fromkeys(("contract", "gather", "scatter"), of_spec),
    **{"cond": of_choice, "scan_over": of_scan, "external": of_external},
    **{"map": of_map, "permute": of_permute, "slice": of_slice, "pad": of_pad, "region": of_region},
}
"""Operation -> its batching rule; others take no batch axis."""


# gradients

Backward = tuple[Traced, tuple[int, ...]]
"""The graph from inputs and a result's gradient to inputs' gradients, and these inputs' numbers."""


def backward_with_axis(
    params: Mapping[str, Any], needed: Flags, derive: Callable[[dict[str, Any], Flags], Backward]
) -> Backward:
    """The gradient of a batched region: that of the plain region, with the batch axis.

    An input that all samples share gets the sum of the samples' gradients.
    """
    *flags, size = params["flags"]
    made, wanted = derive({**dict(params["of"]), "index": params["index"]}, needed)
    body = with_axis(made.body, (*flags, True), size)
    outputs = [
        g if flags[k] else reduce("add", g, (0,)) for k, g in zip(wanted, body.outputs, strict=True)
    ]
    graph = Graph(body.inputs, outputs)
    return Traced(f"{params['name']}.grad", graph, params["call"], True), wanted
