"""gn.autograd.Function: an operation whose gradient a user wrote, by PyTorch's rules.

forward runs on tensors without gradients; its results become regions that pass its values on, and
whose gradient is the user's backward, called once per backward pass with all results' gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from itertools import count
from typing import Any

from gnomon.dtypes import DType
from gnomon.errors import GradientError
from gnomon.ir.memo import memo
from gnomon.ir.node import Arena, Graph, Node, Shape
from gnomon.ir.operators import constant
from gnomon.ir.provenance import scope
from gnomon.ops.arguments import sum_like
from gnomon.ops.op_calls import OpCall
from gnomon.ops.primitives import expand
from gnomon.ops.registry import GradientRule
from gnomon.tensor.pytree import dense_parts
from gnomon.tensor.state import grads, is_capturing, saving, state, with_grads
from gnomon.tensor.tensor import Tensor, node_of, raw, wrap
from gnomon.tensor.writing import write

__all__ = ["Function", "InplaceFunction", "once_differentiable"]


class Context:
    """The context that forward leaves for backward: saved tensors, and attributes of any name."""

    def __init__(self, needs_input_grad: tuple[bool, ...]) -> None:
        self.needs_input_grad = needs_input_grad
        self.saved_tensors: tuple[Any, ...] = ()
        self.materializes, self.silent, self.dirty = True, frozenset(), frozenset()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Save arguments, results, or other tensors for backward."""
        self.saved_tensors = tensors

    def mark_non_differentiable(self, *results: Tensor) -> None:
        """Mark results through which no gradient passes."""
        self.silent = frozenset(map(id, results))

    def mark_dirty(self, *args: Tensor) -> None:
        """Mark arguments that forward writes to; forward has to return them."""
        self.dirty = frozenset(map(id, args))

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether backward gets zeros, rather than None, for results that have no gradient."""
        self.materializes = value


class Function:
    """An operation of a user's own: subclass it, define forward and backward, call apply.

    >>> from gnomon.tensor.creation import tensor
    >>> class Square(Function):
    ...     @staticmethod
    ...     def forward(context, x):
    ...         context.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(context, gradient):
    ...         (x,) = context.saved_tensors
    ...         return gradient * 2 * x
    >>> x = tensor(3.0, requires_grad=True)
    >>> Square.apply(x).backward()
    >>> x.grad
    Tensor(6.)
    """

    calls_hooks = False
    """Whether backward calls what a user hooked, and is to do so in every pass."""

    @staticmethod
    def forward(*args: Any, **named: Any) -> Any:
        """Compute the results, from (context, *arguments), or the arguments with setup_context."""
        raise NotImplementedError("Function: define forward as a static method.")

    @staticmethod
    def setup_context(context: Any, inputs: tuple, output: Any) -> None:
        """Save what backward needs, if forward takes no context."""
        raise NotImplementedError("Function: define setup_context as a static method.")

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        """Compute a gradient, or None, for every argument of forward, from those of the results."""
        raise NotImplementedError("Function: define backward as a static method.")

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """The results of forward on these arguments."""
        wanted = tuple(isinstance(x, Tensor) and x.requires_grad and grads.get() for x in args)
        context = Context(wanted)
        nodes = [node_of(x) if is_input(x) else x for x in args] if any(wanted) else []
        if cls.setup_context is Function.setup_context:
            made = with_grads(False, cls.forward, context, *args)
        else:
            made = with_grads(False, cls.forward, *args)
            with_grads(False, cls.setup_context, context, args, made)
        if not any(wanted):
            return made
        if context.dirty:
            args = as_they_came(context, args, nodes, made)
        return connected(cls, context, args, made)


def is_input(value: Any) -> bool:
    """Whether an argument is a tensor, but for a sparse or complex one that needs no gradient."""
    return isinstance(value, Tensor) and (issubclass(type(value), Tensor) or value.requires_grad)


def as_they_came(context: Context, args: tuple, nodes: Sequence[Node], made: Any) -> tuple:
    """Arguments with the values and histories from before forward wrote to them."""
    given_back = set(map(id, made if isinstance(made, tuple) else (made,)))
    if not context.dirty <= given_back:
        raise GradientError("Function: what forward marks as dirty must be among its results.")
    needs = context.needs_input_grad
    return tuple(
        wrap(node, need) if id(x) in context.dirty else x
        for x, node, need in zip(args, nodes, needs, strict=True)
    )


class Once(Function):
    """The identity of gradients that have none themselves."""

    @staticmethod
    def forward(*args: Any, **_: Any) -> Any:
        """The gradients."""
        return args[1:]

    @staticmethod
    def backward(context: Any, *gradients: Any) -> Any:
        """Refuse to differentiate."""
        raise GradientError(
            "backward: trying to differentiate twice a function that was marked with "
            "@once_differentiable. Leave the mark out where backward consists of tensor operations."
        )


def once_differentiable(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a Function's backward whose gradients have no gradients: a second pass is refused.

    >>> once_differentiable(lambda context, gradient: 2 * gradient)(None, 3.0)
    6.0
    """

    @wraps(backward)
    def call(context: Any, *gradients: Any) -> Any:
        found = with_grads(False, backward, context, *gradients)
        if not grads.get() or not any(isinstance(x, Tensor) and x.requires_grad for x in gradients):
            return found
        tied = isinstance(found, tuple)
        made = Once.apply(*[with_history(x) for x in (found if tied else (found,))])
        return made if tied else made[0]

    return call


def with_history(gradient: Any) -> Any:
    """A gradient as a leaf of its own, so that what is made of it can be differentiated."""
    return gradient.detach().requires_grad_() if isinstance(gradient, Tensor) else gradient


class InplaceFunction(Function):
    """A Function whose forward may write to its arguments."""

    def __init__(self, inplace: bool = False) -> None:
        self.inplace = inplace


def connected(kind: type[Function], context: Context, args: tuple, made: Any) -> Any:
    """The results as tensors that gradients pass."""
    results = made if isinstance(made, tuple) else (made,)
    passing = [
        k
        for k, x in enumerate(results)
        if isinstance(x, Tensor) and x.dtype.is_floating_point and id(x) not in context.silent
    ]
    rule = Written(kind, context, args, results, passing)
    inputs = tuple(rule.inputs)
    kinds = tuple((x.shape, x.dtype) for x in inputs)
    shown = list(results)
    # captured graphs are compared, and rules are no part of their keys: calls tell them apart
    call = PLAIN if not is_capturing() else OpCall((next(_numbers),), ())
    for index, k in enumerate(passing):
        name, body = f"{kind.__name__}.apply", passed_on(kinds, len(passing))
        params = {"name": name, "body": body, "call": call, "index": index, "serial": rule}
        shown[k] = wrap(state.arena.node("region", inputs, **params), True)
    del rule.inputs
    if context.dirty:
        shown = [
            write(old, node_of(new), new.requires_grad) if id(old) in context.dirty else new
            for old, new in zip(results, shown, strict=True)
        ]
    return tuple(shown) if isinstance(made, tuple) else shown[0]


PLAIN = OpCall((), ())
_numbers = count()


@memo
@cache
def passed_on(kinds: tuple[tuple[Shape, DType], ...], count: int) -> Graph:
    """A graph whose results are its first inputs."""
    arena = Arena()
    leaves = [arena.input(shape, dtype) for shape, dtype in kinds]
    return Graph(leaves, [arena.node("detach", (x,)) for x in leaves[:count]])


class Written(GradientRule):
    """The gradient of one call of a Function.

    The regions' inputs are the values of the results, the tensors among the arguments, then what
    was saved besides.
    """

    def __init__(
        self,
        kind: type[Function],
        context: Context,
        args: tuple,
        results: tuple,
        passing: list[int],
    ) -> None:
        self.kind, self.context, self.passing = kind, context, passing
        self.calls_hooks = kind.calls_hooks
        self.count, made = len(results), [results[k] for k in passing]
        self.arguments = [k for k, x in enumerate(args) if is_input(x)]
        self.total = len(args)
        given = [args[k] for k in self.arguments]
        known = {id(x): len(made) + k for k, x in enumerate(given)}
        known.update((id(x), k) for k, x in enumerate(made) if id(x) not in known)
        self.inputs = [*map(raw, made), *map(node_of, given)]
        self.saved: list[tuple[Callable, list[int | None]]] = []
        """Per saved value, the places of its parts and the function that joins them."""
        self.leaves: dict[int, tuple[Tensor, int]] = {}
        """Leaves that were saved, and how often they had been written to; by their places."""
        for saved in context.saved_tensors:
            parts, join = dense_parts(saved)
            self.saved.append((join, [self._place(x, known) for x in parts]))
        given = {k for _, places in self.saved for k in places if k is not None}
        hooks = saving.get()
        self.packing = None if hooks is None else hooks.hold(self.inputs, given)

    def _place(self, x: Tensor | None, known: dict[int, int]) -> int | None:
        """The place of a saved tensor among the inputs."""
        if x is None:
            return None
        if id(x) not in known:
            known[id(x)] = len(self.inputs)
            self.inputs.append(raw(x))
        if x._requires:
            self.leaves[known[id(x)]] = (x, x._storage.version)
        return known[id(x)]

    def gradients(self, gs: Mapping[Node, Node], needed: Sequence[bool]) -> list[Node | None]:
        """The gradients of the user's backward, on the nodes of the current graph."""
        node = next(iter(gs))
        if state.looks_ahead and node.arena is state.arena:
            # no pass, a look at what one will read: what was saved is held anyway
            return [zeros(x) if need else None for x, need in zip(node.inputs, needed, strict=True)]
        with building(node.arena, (*node.inputs, *gs.values())):
            found = self._backward(node, gs)
            parts: list[Node | None] = [None] * len(node.inputs)
            for place, argument in enumerate(self.arguments, len(self.passing)):
                part = found[argument]
                if part is not None and needed[place]:
                    parts[place] = fitting(self.kind, argument, node_of(part), node.inputs[place])
        return parts

    def _backward(self, node: Node, gs: Mapping[Node, Node]) -> tuple:
        """The gradients of the user's backward, one per argument."""
        self.context.saved_tensors = tuple(
            join([self._saved(node, place) for place in places]) for join, places in self.saved
        )
        found = self.kind.backward(self.context, *self._incoming(node, gs))
        self.context.saved_tensors = ()
        found = found if isinstance(found, tuple) else (found,)
        if len(found) < self.total or any(x is not None for x in found[self.total :]):
            raise GradientError(
                f"{self.kind.__name__}.backward: returned an incorrect number of gradients "
                f"(expected {self.total}, got {len(found)})."
            )
        return found

    def _saved(self, node: Node, place: int | None) -> Tensor | None:
        """A saved tensor: leaves and results as themselves, with their histories."""
        if place is None:
            return None
        leaf, version = self.leaves.get(place, (None, 0))
        is_here = leaf is not None and leaf._storage.node.arena is node.arena
        if is_here and leaf._storage.version == version and self.packing is None:
            return leaf
        own = place == node.params["index"] and place < len(self.passing)
        kept = node if own else node.inputs[place]
        if self.packing is not None:
            kept = self.packing.value(place, kept)
        return wrap(kept, kept.dtype.is_floating_point)

    def _incoming(self, node: Node, gs: Mapping[Node, Node]) -> list[Tensor | None]:
        """The incoming gradients of all results."""
        by_index = {x.params["index"]: g for x, g in gs.items()}
        incoming: list[Tensor | None] = [None] * self.count
        for index, k in enumerate(self.passing):
            g = by_index.get(index)
            if g is None and self.context.materializes:
                g = zeros(node.inputs[index])
            incoming[k] = None if g is None else wrap(g, True)
        return incoming


class building:
    """A context with tensors of an arena, and gradients recorded for the user's lines.

    given: nodes that only this arena knows, since they stand for values to come.
    """

    def __init__(self, arena: Arena, given: Sequence[Node]) -> None:
        self.arena, self.given = arena, given

    def __enter__(self) -> None:
        self.before = state.arena, state.unknown, scope.sites, grads.get()
        try:
            if self.arena is not state.arena:
                state.unknown = [*state.unknown, *self.given]
            state.arena, scope.sites = self.arena, None
            grads.set(True)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        state.arena, state.unknown, scope.sites, recorded = self.before
        grads.set(recorded)


def zeros(like: Node) -> Node:
    """Zeros in a node's shape."""
    return expand(constant(like.arena, 0.0, like.dtype), like.shape)


def fitting(kind: type[Function], number: int, part: Node, like: Node) -> Node:
    """A gradient, checked against its argument's shape."""
    try:
        fits = expand(like, part.shape) is not None
    except ValueError:
        fits = False
    if not fits:
        raise GradientError(
            f"{kind.__name__}.backward: returned an invalid gradient at index {number} - got "
            f"{list(part.shape)} but expected shape compatible with {list(like.shape)}."
        )
    return sum_like(part, like)
