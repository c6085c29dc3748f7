"""Control flow on tensors: cond, while_loop and scan.

Outside a capture values are at hand: cond and while_loop run Python's own branches and loops.
Inside gn.compile they are steps of the program: only the branch that is taken runs, and a loop
stops by itself. scan makes an iteration a graph once, in plain runs too, however many slices come.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.capture.inputs import storage_tensor
from gnomon.capture.subgraph import (
    Inner,
    Trace,
    advance_draws,
    close,
    drawn_outside,
    flatten_into,
    trace,
)
from gnomon.dtypes import bool_
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ops.control_primitives import call
from gnomon.tensor.creation import tensor
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.pytree import TreeSpec, unflatten, with_leaves
from gnomon.tensor.state import Storage, grads, is_capturing, program_size, state
from gnomon.tensor.tensor import Tensor, node_of, raw, wrap

__all__ = ["cond", "scan", "while_loop"]


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: Sequence[Any] = ()) -> Any:
    """Compute true_fn(*operands) where pred holds, else false_fn(*operands); only one of them runs.

    Inside gn.compile Python runs both functions once, to record them.

    >>> from gnomon.tensor.creation import tensor
    >>> cond(tensor(True), lambda x: x + 1, lambda x: x - 1, [tensor(5)])
    Tensor(6)
    """
    if not isinstance(pred, Tensor) or not is_capturing():
        return (true_fn if bool(pred) else false_fn)(*operands)
    test = truth(pred, "cond: pred")
    yes, no = (
        trace(Inner("cond", False), function, (), lambda _: operands)
        for function in (true_fn, false_fn)
    )
    check_branches(yes, no)
    storages = list({**yes.written, **no.written})
    outputs = [[*t.results, *map(t.inner.claim, storages)] for t in (yes, no)]
    graphs, read = close((yes, no), outputs, lambda _: [])
    inputs = (node_of(test), *map(node_of, read))
    made = call("cond", inputs, then=graphs[0], other=graphs[1])
    tracked = {s: yes.written.get(s, s.tracked) or no.written.get(s, s.tracked) for s in storages}
    count = len(yes.results)
    write_back(tracked, made[count:])
    return unflatten(yes.tree, results(made[:count], read))


def truth(pred: Tensor, what: str) -> Tensor:
    """A condition as a boolean tensor of rank 0; an error that names `what` for any other."""
    if pred.numel() != 1:
        raise ShapeError(f"{what} must have one element: got {tuple(pred.shape)}. Use where.")
    return pred.reshape(()).to(bool_)


def check_branches(yes: Trace, no: Trace) -> None:
    """Refuse branches whose results differ in structure, dtype or shape."""
    kinds = [[(t.shape, t.dtype) for t in side.results] for side in (yes, no)]
    if yes.tree != no.tree or kinds[0] != kinds[1]:
        raise ArgumentError(
            "cond: both branches must give the same structure, shapes and dtypes: true_fn gives "
            f"{types_of(yes.results)}, false_fn {types_of(no.results)}."
        )
    draws = yes.inner.draws, no.inner.draws
    if draws[0] != draws[1]:
        counts = [sum(found.values()) for found in draws]
        yes.inner.refuse(
            f"branches draw {counts[0]} and {counts[1]} times from generators, so that what is "
            "drawn next would depend on the branch. Draw before, and pass what was drawn"
        )
    for generator, count in draws[0].items():
        advance_draws(state.recorder, generator, count)


def types_of(nodes: Sequence[Node]) -> str:
    """Dtypes and shapes as text."""
    kinds = [f"{x.dtype.name}[{', '.join(map(str, x.shape))}]" for x in nodes]
    return f"({', '.join(kinds)})"


def results(made: Sequence[Node], read: Sequence[Tensor]) -> list[Tensor]:
    """The results of a call as tensors."""
    tracked = grads.get() and any(t.requires_grad for t in read)
    return [wrap(x, tracked and x.dtype.is_floating_point) for x in made]


def write_back(tracked: dict[Storage, bool], nodes: Sequence[Node]) -> None:
    """Store in storages the values that branches or iterations wrote to them."""
    for (storage, flag), node in zip(tracked.items(), nodes, strict=True):
        storage.tracked, storage.released = flag, False
        storage.set(node)


# loops


def while_loop(
    cond_fn: Callable,
    body_fn: Callable,
    carried_inputs: Sequence[Any],
    *,
    max_iterations: int | None = None,
) -> tuple:
    """Replace the carried values by body_fn(*carried) while cond_fn(*carried) holds.

    Gradients inside gn.compile need a bound on the number of iterations: max_iterations.

    >>> from gnomon.tensor.creation import tensor
    >>> while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x * 2), (tensor(3), tensor(1)))
    (Tensor(0), Tensor(8))
    """
    carried = tuple(carried_inputs)
    if not is_capturing():
        iterations = 0
        while (max_iterations is None or iterations < max_iterations) and bool(cond_fn(*carried)):
            carried, iterations = tuple(body_fn(*carried)), iterations + 1
        return carried
    if max_iterations is None:
        return repeat(cond_fn, body_fn, numbers_as_tensors(carried))
    return bounded_loop(cond_fn, body_fn, numbers_as_tensors(carried), max_iterations)


def numbers_as_tensors(value: Any) -> Any:
    """A nested value with Python's numbers turned into tensors."""
    return with_leaves(value, lambda x: tensor(x) if isinstance(x, (bool, int, float)) else x)


def repeat(cond_fn: Callable, body_fn: Callable, carried: tuple) -> tuple:
    """Trace a while loop and emit it; returns the carried values after it."""
    values: list[Tensor] = []
    tree = flatten_into(carried, values)
    kinds = [(raw(t).shape, t.dtype) for t in values]

    def test_fn(*carried: Any) -> Tensor:
        return truth(cond_fn(*carried), "while_loop: what cond_fn gives")

    test, body = (
        trace(Inner("while_loop", False), function, kinds, lambda given: unflatten(tree, given))
        for function in (test_fn, lambda *carried: tuple(body_fn(*carried)))
    )
    check_iteration("while_loop", body, body.tree, tree, kinds)
    if test.written:
        test.inner.refuse("cond_fn writes to a tensor. Write in body_fn")
    if test.inner.draws or body.inner.draws:
        body.inner.refuse(
            "random numbers are drawn, and how often is only known when it runs. Use scan"
        )
    storages = list(body.written)
    outputs = [test.results, [*body.results, *map(body.inner.claim, storages)]]
    graphs, read = close((test, body), outputs, lambda t: [*t.given, *map(t.inner.begin, storages)])
    state_now = [*map(node_of, values), *(node_of(storage_tensor(s)) for s in storages)]
    made = call(
        "while",
        (*state_now, *map(node_of, read)),
        test=graphs[0],
        body=graphs[1],
        carried=len(state_now),
    )
    write_back(body.written, made[len(values) :])
    return unflatten(tree, results(made[: len(values)], [*values, *read]))


def check_iteration(name: str, iteration: Trace, made: Any, tree: Any, kinds: Sequence) -> None:
    """Refuse an iteration whose results differ in structure, dtype or shape from its arguments."""
    found = [(x.shape, x.dtype) for x in iteration.results[: len(kinds)]]
    if made != tree or found != list(kinds):
        given = [f"{dtype.name}[{', '.join(map(str, shape))}]" for shape, dtype in kinds]
        raise ArgumentError(
            f"{name}: an iteration must give what it carries in the same structure, shapes and "
            f"dtypes: it takes ({', '.join(given)}) and gives "
            f"{types_of(iteration.results[: len(kinds)])}."
        )


def bounded_loop(cond_fn: Callable, body_fn: Callable, carried: tuple, count: int) -> tuple:
    """A while loop as `count` conditional iterations, so that gradients can pass."""

    def iteration(carry: tuple, _: Any) -> tuple:
        alive, values = carry
        goes_on = cond(
            alive,
            lambda: truth(cond_fn(*values), "while_loop: what cond_fn gives"),
            lambda: alive,
        )
        return (goes_on, cond(goes_on, lambda: tuple(body_fn(*values)), lambda: values)), ()

    (_, values), _ = iterate(iteration, (tensor(True), carried), (), count)
    return values


def scan(
    combine_fn: Callable,
    init: Any,
    xs: Any = None,
    dim: int = 0,
    reverse: bool = False,
    length: int | None = None,
) -> tuple:
    """Carry a value along an axis: (carry, y) = combine_fn(carry, x) for each part x of xs.

    Gives the last carry and the ys side by side along the axis; without xs, of `length` iterations.

    >>> from gnomon.tensor.creation import tensor
    >>> scan(lambda total, x: (total + x, total + x), tensor(0), tensor([1, 2, 3]))
    (Tensor(6), Tensor([1, 3, 6]))
    """
    parts: list[Tensor] = []
    tree = flatten_into(xs, parts)
    counts = {raw(t).shape[dim] for t in parts} | ({program_size(length)} - {None})
    if len(counts) != 1:
        raise ShapeError(
            f"scan: the number of iterations must be one: sizes along axis {dim} and length are "
            f"{sorted(counts)}."
        )
    (count,) = counts
    first = unflatten(tree, [with_axis_moved(t, dim, 0) for t in parts])
    carry, ys = iterate(combine_fn, numbers_as_tensors(init), first, count, reverse)
    rows: list[Tensor] = []
    tree = flatten_into(ys, rows)
    return carry, unflatten(tree, [with_axis_moved(t, 0, dim) for t in rows])


def with_axis_moved(x: Tensor, source: int, place: int) -> Tensor:
    """A tensor with one axis moved to another place."""
    return x if source == place else FUNCTIONS["movedim"](x, source, place)


def iterate(
    function: Callable, carry: Any, xs: Any, count: int, reverse: bool = False
) -> tuple[Any, Any]:
    """Trace and emit a loop whose iterations take a slice of xs and give a slice of ys."""
    values: list[Tensor] = []
    parts: list[Tensor] = []
    tree, tree_of_parts = flatten_into(carry, values), flatten_into(xs, parts)
    kinds = [(raw(t).shape, t.dtype) for t in values]
    slices = [(raw(t).shape[1:], t.dtype) for t in parts]
    held = len(values)

    def arguments(given: Sequence[Tensor]) -> tuple:
        return unflatten(tree, given[:held]), unflatten(tree_of_parts, given[held:])

    iteration = trace(Inner("scan", True), function, [*kinds, *slices], arguments)
    if (
        not isinstance(iteration.tree, TreeSpec)
        or len(iteration.tree.parts) != 2
        or iteration.tree.names
    ):
        raise ArgumentError(
            "scan: an iteration must give two things: what it carries, and a part of ys."
        )
    check_iteration("scan", iteration, iteration.tree.parts[0], tree, kinds)
    made = emit_loop(iteration, values, parts, count, reverse)
    return unflatten(tree, made[:held]), unflatten(iteration.tree.parts[1], made)


def emit_loop(
    iteration: Trace, values: Sequence[Tensor], parts: Sequence[Tensor], count: int, reverse: bool
) -> list[Tensor]:
    """Emit the loop of an iteration: the last carried values, and the stacked results."""
    inner, held, storages = iteration.inner, len(values), list(iteration.written)
    draws = [(inner.counters[g] + inner.draws[g]) for g in inner.counters]
    outputs = [
        *iteration.results[:held],
        *draws,
        *map(inner.claim, storages),
        *iteration.results[held:],
    ]
    begins = [*inner.counters.values(), *map(inner.begin, storages)]
    (body,), read = close(
        [iteration], [outputs], lambda t: [*t.given[:held], *begins, *t.given[held:]]
    )
    first = [*values, *(next_draw(g) for g in inner.counters), *map(storage_tensor, storages)]
    inputs = [node_of(t) for t in (*first, *parts, *read)]
    made = call(
        "scan_over",
        inputs,
        body=body,
        carried=len(first),
        sliced=len(parts),
        length=count,
        reverse=reverse,
    )
    for generator in inner.counters:
        advance_draws(state.recorder, generator, count * inner.draws[generator])
    write_back(iteration.written, made[len(first) - len(storages) : len(first)])
    return results([*made[:held], *made[len(first) :]], [*values, *parts, *read])


def next_draw(generator: Any) -> Tensor:
    """The number of a generator's next draw, as a tensor."""
    _, number, drawn = drawn_outside(state.recorder, generator)
    return number + drawn
