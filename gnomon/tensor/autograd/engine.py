"""Backward passes with PyTorch's rules: leaves gather, results pass on, hooks look, modes switch.

Gradients themselves are derived from the graph by gnomon/passes/grad.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from gnomon.errors import GradientError
from gnomon.ir import provenance
from gnomon.ir.node import Node, topological
from gnomon.lazy import accumulation, autograd_graph, layouts, modes, release
from gnomon.ops.registry import rule_of
from gnomon.passes.gradient_paths import depends_on
from gnomon.settings import holding
from gnomon.tensor.autograd import versions
from gnomon.tensor.autograd.backward import (
    SECOND_PASS,
    GradientRequest,
    awaited_nodes,
    derived,
    gradients_by_plan,
    leaf_values,
    seed_of,
    whole_seed,
)
from gnomon.tensor.autograd.function import Function
from gnomon.tensor.autograd.hooks import (
    BackwardPass,
    gather_all,
    observe,
    recorded,
    retain_grad,
    under_way,
)
from gnomon.tensor.borrowing import history_of, is_lent
from gnomon.tensor.state import (
    ModeBlock,
    grads,
    inference,
    is_capturing,
    state,
)
from gnomon.tensor.tensor import (
    Paired,
    Tensor,
    alias,
    detached,
    method,
    node_of,
    pairs_of,
    raw,
    source,
)
from gnomon.tensor.watchers import GradientWatcher, is_watched

__all__ = [
    "Function",
    "backward",
    "enable_grad",
    "inference_mode",
    "is_grad_enabled",
    "no_grad",
    "set_grad_enabled",
]


class set_grad_enabled:
    """Switch the recording of gradients, at once or as a context manager."""

    def __init__(self, mode: bool) -> None:
        self.before, self.mode = grads.get(), bool(mode)
        grads.set(self.mode)

    def __enter__(self) -> None:
        grads.set(self.mode)

    def __exit__(self, *_: object) -> None:
        grads.set(self.before)


class Mode(ModeBlock):
    """Base of modes for the length of a `with` or of a decorated function.

    A mode holds in one thread and in one task: another that runs while this one waits has its own.
    """

    grad = False
    inference = False

    def __init__(self, mode: bool | Callable = True) -> None:
        self.on = mode is not False

    def __new__(cls, mode: bool | Callable = True) -> Any:
        if callable(mode):
            return cls()(mode)
        return super().__new__(cls)

    def __enter__(self) -> None:
        values = (self.grad, self.inference) if self.on else (grads.get(), inference.get())
        self.enter(dict(zip((grads, inference), values, strict=True)))

    def __call__(self, function: Callable) -> Callable:
        return modes.inside(type(self), function)


class no_grad(Mode):
    """Record no gradients inside a `with` or a decorated function."""


class enable_grad(Mode):
    """Record gradients again, inside a no_grad."""

    grad = True


class inference_mode(Mode):
    """Record nothing for gradients, like no_grad."""

    inference = True


def is_grad_enabled() -> bool:
    """Whether gradients are recorded now."""
    return grads.get()


def is_inference_mode_enabled() -> bool:
    """Whether an inference_mode is open."""
    return inference.get()


# the pass


def seeds_of(
    roots: Sequence[Tensor], given: Sequence[Tensor | None], create_graph: bool
) -> dict[Node, Node | None]:
    """The roots' nodes and the gradients that the pass starts from; None is 1, for a scalar."""
    seeds: dict[Node, Node | None] = {}
    for root, gradient in zip(roots, given, strict=True):
        if not root.requires_grad:
            raise GradientError(
                "backward: element 0 of tensors does not require grad and does not have a grad_fn. "
                "Set requires_grad_() on a leaf before computing with it."
            )
        if root._storage.released and not root._requires:
            raise GradientError(SECOND_PASS)
        node = recorded(root)
        start = None if gradient is None else seed_from(root, gradient, create_graph)
        if start is None:
            seed_of(node)
        if node in seeds:
            start = whole_seed(node, seeds[node]) + whole_seed(node, start)
        seeds[node] = start
    return seeds


def seed_from(root: Tensor, gradient: Tensor, create_graph: bool) -> Node:
    """The gradient that the user passes for a root."""
    if tuple(gradient.shape) != tuple(root.shape):
        raise GradientError(
            f"backward: the gradient's shape {tuple(gradient.shape)} is not the root's "
            f"{tuple(root.shape)}."
        )
    gradient = gradient.to(root.dtype)
    whole = create_graph or is_lent(source(gradient._storage))
    return node_of(gradient) if whole else raw(gradient)


def pulled(
    seeds: dict[Node, Node | None],
    waiting: dict[Node, list[Tensor]],
    order: dict[Node, int],
    create_graph: bool,
    chosen: set[int] | None,
) -> list[Node | None]:
    """The gradients of the waiting nodes: by a plan if nothing watches, else node by node."""
    wanted = [x for x in waiting if chosen is None or is_asked(x, chosen)]
    if state.overwritten:
        versions.check(seeds, order, wanted)
    seen = partial(observe, tracked=create_graph) if any(map(is_watched, waiting)) else None
    ruled = any([rule_of(node) is not None for node in order if node.op == "region"])
    if create_graph or seen is not None or ruled or is_capturing():
        found = derived(seeds, wanted, leaf_values(waiting), seen)
        by_node = dict(zip(wanted, found, strict=True))
        return [by_node.get(x) for x in waiting]
    return gradients_by_plan(GradientRequest(seeds, order, list(waiting), leaf_values(waiting)))


def is_asked(node: Node, chosen: set[int]) -> bool:
    """Whether a node is the present value of a tensor that is to have a gradient."""
    latest = [x for x in node.watch or () if type(x) is not GradientWatcher or x.is_latest]
    return any(id(reference()) in chosen for reference in latest)


def run_backward(
    roots: Sequence[Tensor],
    given: Sequence[Tensor | None],
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    """Gather gradients in the leaves behind the roots."""
    before, provenance.scope.phase = provenance.scope.phase, "backward"
    try:
        roots, given, inputs = map(pairs_of, (ends_of(roots), given, ends_of(inputs)))
        chosen = None if inputs is None else chosen_of(inputs)
        seeds = seeds_of(roots, given, create_graph)
        order = history_of(seeds)
        waiting = awaited_nodes(order)
        retains = create_graph if retain_graph is None else retain_graph
        adds_up = not retains and accumulation.adds_up(order, waiting.values())
        if adds_up:
            accumulation.compute_last_pass(order)
            order = history_of(seeds)
            waiting = awaited_nodes(order)
        state.recorder.go_back([] if retains else seeds, waiting)
        if is_capturing() and not seen_inside(waiting, chosen):
            state.recorder.keep_inside(seeds)
        wanted = [x for x in waiting if chosen is None or is_asked(x, chosen)]
        with layouts.meeting(), holding(under_way, BackwardPass(seeds, wanted)):
            gradients = pulled(seeds, waiting, order, create_graph, chosen)
            gathered = gather_all(waiting, gradients, chosen, create_graph)
        if adds_up:
            accumulation.compute_pass(order)
        for end in dict.fromkeys([x._rare.ends for x in gathered if x._rare is not None]):
            if end is not None:
                end()
    finally:
        provenance.scope.phase = before
    if not retains:
        path = order if chosen is None else depends_on(topological(seeds), wanted)
        release.release(roots, seeds, path)
        accumulation.end_pass()


def chosen_of(inputs: Sequence[Tensor]) -> set[int]:
    """The tensors that a pass is to give gradients, by id; results retain theirs from now on."""
    if not inputs:
        raise GradientError("backward: `inputs` cannot be empty. Leave it out for all leaves.")
    for tensor in inputs:
        retain_grad(tensor)
    return set(map(id, inputs))


def ends_of(given: Any) -> Any:
    """The tensors at which a pass begins or ends, from one or several tensors or edges."""
    if given is None:
        return None
    if isinstance(given, (Tensor, Paired)):
        return [given]
    if hasattr(given, "ownership_token"):
        return [autograd_graph.end_of(given)]
    return [autograd_graph.end_of(x) if isinstance(x, tuple) else x for x in given]


def seen_inside(waiting: dict[Node, list[Tensor]], chosen: set[int] | None) -> bool:
    """Whether all chosen tensors are among the waiting ones; False if none were chosen."""
    return chosen is not None and chosen <= {id(t) for found in waiting.values() for t in found}


def backward_of(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    """Gather the gradients of this tensor in the leaves that it depends on."""
    run_backward([self], [gradient], retain_graph, create_graph, inputs)


Tensor.backward = backward_of


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | None = None,
) -> None:
    """Gather the gradients of several tensors at once."""
    roots = ends_of(tensors)
    given = [grad_tensors] if isinstance(grad_tensors, Tensor) else grad_tensors
    run_backward(roots, given or [None] * len(roots), retain_graph, create_graph, inputs)


# what tensors say about gradients


@method
def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Set whether backward passes compute a gradient for this leaf."""
    self.requires_grad = requires_grad
    return self


@method
def detach(input: Tensor) -> Tensor:
    """A tensor of the same storage through which no gradients flow."""
    return alias(input, (), detached=True)


@method
def detach_(input: Tensor) -> Tensor:
    """Cut this tensor off from its history, in place."""
    if input._requires:
        input.requires_grad = False
    elif input.requires_grad:
        state.recorder.keep_flag(input)
        input._storage.node = detached(input._storage.node)
        input._storage.tracked = False
    return input


def grad_fn(self: Tensor) -> Any:
    """The graph node of the tensor's operation; None for a leaf."""
    return None if self.is_leaf else autograd_graph.shown_of(self)


Tensor.grad_fn = property(grad_fn)
