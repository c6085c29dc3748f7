"""Reverse-mode differentiation of a graph.

One walk from the root to the wanted values asks each primitive for the gradients of the inputs on
the way. A region's gradient is a region too, "name.grad", whose body is derived once per call; it
recomputes forward values, which costs nothing because equal nodes are shared.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from gnomon.forking import held
from gnomon.ir.memo import memo
from gnomon.ir.node import PRIMITIVES, Arena, Graph, Node, copy_into
from gnomon.ir.provenance import in_backward, inherit, scope
from gnomon.lazy import gradient_layouts
from gnomon.ops.control_primitives import CONTROL
from gnomon.ops.joining import cat, padded
from gnomon.ops.layouts import (
    axes_of,
    note_axes,
    own_share,
    rows_of,
    to_local,
)
from gnomon.ops.op_calls import OpCall, fill, repeated
from gnomon.ops.placements import REPLICATED, Partial
from gnomon.ops.registry import Traced, own_gradient, rule_of
from gnomon.passes.batch import Backward, backward_with_axis
from gnomon.passes.calls import add_seed, gradients_of_call, is_whole, results_by_call
from gnomon.passes.gradient_paths import GradientPaths

if TYPE_CHECKING:
    from gnomon.passes.gradient_layouts import GradientLayouts

SHOWS = frozenset({"expand", "permute", "reshape"})
"""Operations whose result shows the elements of their input unchanged."""
Parts = Sequence[Node | None]
"""The gradient of each input, or None."""
CALLED = frozenset({"region", *CONTROL})
"""Operations that may have several results."""
MANY = 4
"""The fewest gradients of slices that are concatenated; fewer are added."""


def pull_back(
    seeds: Mapping[Node, Node],
    wanted: Sequence[Node],
    seen: Callable[..., Any] | None = None,
    values: Sequence[Sequence[Node]] = (),
) -> list[Node | None]:
    """The gradient of the sum of <seed, root> over all roots with respect to each wanted node.

    seen(node, gradient) is called once per node on the way, when its gradient is complete, and
    returns the gradient to continue with. values: the nodes of each leaf that was written to
    between reads; one of them gets the sum of their gradients, the others none.
    """
    paths = GradientPaths(seeds, wanted, values)
    nodes, mesh, plain = paths.nodes, paths.mesh, paths.is_plain
    on_the_way = paths.on_the_way
    called = [x for x in nodes if x.op in CALLED and is_whole(x)]
    calls = results_by_call([x for x in called if plain or not paths.is_passing(x)], CALLED)
    whole = {x for results in calls.values() for x in results}
    total: dict[Node, Node] = {}
    for root, seed in seeds.items():
        add_seed(total, paths.first.get(root, root), seed)
    layouts = gradient_layouts.GradientLayouts(paths) if mesh else None
    slices: dict[Node, list[Node]] = {}
    """Node -> gradients of slices of it, joined into one gradient at the end."""
    for node in reversed(nodes):
        if node in slices:
            g = whole_of(slices.pop(node))
            g = g if layouts is None else layouts.placed(g, None, node)
            total[node] = total[node] + g if node in total else g
        if node not in total and node not in calls:
            continue
        if seen is not None and node in total and node in on_the_way:
            total[node] = seen(node, total[node])
        # every result of a call stands before what reads any of them: at its first one all is known
        passing = not plain and paths.is_passing(node)
        to = paths.predecessors(node) if passing else node.inputs
        asked = calls.get(node, ()) if node in whole else (node,)
        gs = {x: total[x] for x in asked if x in total and x in on_the_way}
        needed = tuple([x in on_the_way for x in to])
        if not gs or True not in needed:
            continue
        before, scope.sites = scope.sites, in_backward(node.sites)
        try:
            inputs = [paths.summed_at(x) for x in to]
            gs = gs if layouts is None or passing else layouts.as_gathered(gs)
            parts = (total[node],) if passing else gradient_of(gs, needed, bool(mesh))
            for k, (x, part) in enumerate(zip(inputs, parts, strict=True)):
                if part is None or not needed[k]:
                    continue
                if layouts is not None:
                    x, part = over_ranks(part, node, x, paths, layouts)
                if part.op == "pad" and is_stretch(part):
                    slices.setdefault(x, []).append(part)
                else:
                    total[x] = total[x] + part if x in total else part
        finally:
            scope.sites = before
    return [total.get(w) for w in wanted]


def over_ranks(
    g: Node, reader: Node, x: Node, paths: GradientPaths, layouts: GradientLayouts
) -> tuple[Node, Node]:
    """The node at which a reader's gradient of x is added up on a mesh, and that gradient.

    If a value is read in several layouts, its readers' gradients are added at the value, in one
    order.
    """
    while True:
        g = g if is_stretch(g) else layouts.placed(g, reader, x)
        x, g = ranks_own(g, x, paths.mesh, paths.wanted)
        if is_stretch(g) or x not in layouts.passed_through:
            return x, g
        (part,) = PRIMITIVES[x.op].gradient(x, g, (True,))
        assert part is not None, "a boundary passes its gradient"
        reader, x, g = x, paths.summed_at(x.inputs[0]), part


def ranks_own(
    g: Node, x: Node, mesh: Mapping[str, int], wanted: AbstractSet[Node]
) -> tuple[Node, Node]:
    """The gradient of a replicated tensor used with sharded ones, in its layout, and its node.

    For rows that ranks passed, it is each rank's own gradient. For other values it is made whole on
    each rank before operands of x are reached, so that no rank continues with another's stretch. A
    view's source takes this gradient, unless that of x itself is wanted: then it is a sum, and x
    may be as large as what it met.
    """
    while axes_of(g).intersection(mesh) and not axes_of(x) and shows(x) and x not in wanted:
        (part,) = PRIMITIVES[x.op].gradient(x, g, (True,))
        assert part is not None, "what shows a value passes its gradient"
        (x,), g = x.inputs, part
    axes = axes_of(g).intersection(mesh)
    if not axes or axes_of(x):
        return x, g
    rows = axes & rows_of(g)
    if rows:
        g = own_share(g, tuple((name, n, Partial()) for name, n in mesh.items() if name in rows))
    if not x.inputs or x.op == "detach":  # nothing of a rank's own is read behind a leaf
        return x, g
    own = axes - rows
    return x, to_local(g, tuple((name, n, REPLICATED) for name, n in mesh.items() if name in own))


def shows(x: Node) -> bool:
    """Whether a node is a view or a copy of its input, so that its gradient is the input's."""
    return bool(x.inputs) and x.op in SHOWS


def is_stretch(g: Node) -> bool:
    """Whether a gradient is zero but for a contiguous part of one axis: a pad with zeros."""
    p = g.params
    if g.op != "pad" or p["value"] != 0 or any(p["between"]):
        return False
    return sum(map(bool, map(add, p["low"], p["high"]))) == 1


def whole_of(stretches: Sequence[Node]) -> Node:
    """The sum of gradients of parts of a tensor; parts that do not overlap are concatenated."""
    around = [tuple(map(add, x.params["low"], x.params["high"])) for x in stretches]
    axis = next(k for k, n in enumerate(around[0]) if n)
    row = sorted(stretches, key=lambda x: x.params["low"][axis])
    starts = [x.params["low"][axis] for x in row]
    ends = [0, *(low + x.inputs[0].shape[axis] for low, x in zip(starts, row, strict=True))]
    gaps = [low - end for low, end in zip([*starts, row[0].shape[axis]], ends, strict=True)]
    if len(row) < MANY or min(gaps) < 0 or not all(n[axis] for n in around):
        return reduce(add, stretches)
    ways = zip(row, gaps, (*(0 for _ in row[1:]), gaps[-1]), strict=False)
    with inherit(row[-1].sites):
        return cat([padded(x.inputs[0], axis, low, high, 0.0) for x, low, high in ways], axis)


def gradient_of(gs: Mapping[Node, Node], needed: tuple[bool, ...], sharded: bool = False) -> Parts:
    """The gradients of the needed inputs of one node, or of one call with several results.

    sharded: whether some values are distributed over a mesh.
    """
    node, g = next(iter(gs.items()))
    if node.op in CONTROL:
        return gradients_of_call(gs, needed, pull_back)
    if node.op != "region":
        return by_rule(node, g, needed)
    rule = rule_of(node)
    if rule is not None:
        return rule.gradients(gs, needed)
    traced, wanted = backward_of(tuple(gs), needed, node.inputs if sharded else ())
    parts = iter(traced.emit((*node.inputs, *gs.values())) if wanted else ())
    return tuple(next(parts) if k in wanted else None for k in range(len(node.inputs)))


PLAIN = frozenset({"map", "reduce", "contract", "gather", "scatter", "slice", "pad"} | SHOWS)
"""Primitives whose rules read shapes, dtypes and parameters alone, casts of g excepted."""


def by_rule(node: Node, g: Node, needed: tuple[bool, ...]) -> Parts:
    """The gradients of a primitive's inputs; its rule runs once for nodes of one kind."""
    rule = PRIMITIVES[node.op].gradient
    if node.op not in PLAIN or g.params.get("f") == "cast":
        return rule(node, g, needed)

    given = (*node.inputs, g, node)
    return repeated((node.kind, needed), given, lambda *x: rule(x[-1], x[-2], needed), node)


_backward: dict[tuple[Any, ...], Backward] = memo({})
_lock = held(threading.RLock())


def backward_of(
    results: tuple[Node, ...], needed: tuple[bool, ...], operands: Sequence[Node] = ()
) -> Backward:
    """The gradient of a region by some of its results, derived once per call.

    operands: those of the region, if some are distributed over a mesh.
    """
    # the kind holds body, call and index, but not the lines of the body
    along = tuple((axes_of(x), rows_of(x)) for x in operands)
    key = (*(x.kind for x in results), needed, results[0].params["body"].asked, along)
    found = _backward.get(key)
    if found is None:
        places = tuple(x.params["index"] for x in results)
        with _lock, inherit(()):
            found = _backward[key] = derive(results[0].params, needed, places, operands)
    return found


def derive(
    params: dict[str, Any],
    needed: tuple[bool, ...],
    places: Sequence[int] = (),
    operands: Sequence[Node] = (),
) -> Backward:
    """Differentiate a body by some results, by its operation's own rule where it has one.

    operands: values with the same layouts over a mesh as those of the body.
    """
    if "of" in params:
        return backward_with_axis(params, needed, derive)
    arena, body, places = Arena(), params["body"], places or (params["index"],)
    leaves = [arena.input(x.shape, x.dtype) for x in body.inputs]
    for leaf, x in zip(leaves, operands, strict=False):
        note_axes(leaf, x)
    outputs = [body.outputs[k] for k in places]
    incoming = [arena.input(x.shape, x.dtype) for x in outputs]
    own = own_gradient(params["name"])
    if own is not None:
        parts = list(own_gradients(own, params, leaves, incoming[0]))
    else:
        images = copy_into(arena, outputs, dict(zip(body.inputs, leaves, strict=True)))
        seeds: dict[Node, Node] = {}
        for image, g in zip(images, incoming, strict=True):
            add_seed(seeds, image, g)
        asked = [leaf for leaf, need in zip(leaves, needed, strict=True) if need]
        found = iter(pull_back(seeds, asked))
        parts = [next(found) if need else None for need in needed]
    wanted = {k: part for k, part in enumerate(parts) if part is not None and needed[k]}
    made = Graph([*leaves, *incoming], [*wanted.values()])
    return Traced(f"{params['name']}.grad", made, params["call"], True), tuple(wanted)


def own_gradients(
    rule: Callable[..., Any], params: dict[str, Any], leaves: list[Node], g: Node
) -> Sequence[Node | None]:
    """The gradients by an operation's own rule; results are rebuilt for it to read."""
    call: OpCall = params["call"]
    # the region itself, not its body: once inlined it is the forward's own node
    results = Traced(params["name"], params["body"], call, True).emit(leaves)
    incoming = tuple(g if k == params["index"] else None for k in range(len(results)))
    single = len(results) == 1
    args, kwargs = fill(call.args, leaves), {k: fill(v, leaves) for k, v in call.kwargs}
    parts: Any = rule(
        g if single else incoming, results[0] if single else tuple(results), *args, **kwargs
    )
    if parts is None or isinstance(parts, Node):
        return (parts,)
    # a rule of two operands gives a part for each, be it a number
    pairs = zip(parts, args, strict=False)
    return parts if len(parts) <= len(leaves) else [x for x, y in pairs if isinstance(y, Node)]
