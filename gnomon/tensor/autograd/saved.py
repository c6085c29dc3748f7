"""Saved tensors: what gradients read of a forward pass, packed and unpacked by a user's functions.

Gradients are derived from graphs here, and operations save nothing by themselves. While functions
are set, the gradient of each call is derived when the call is made: what it reads is packed at
once, and the call's result passes through a region whose gradient reads what is unpacked.
Who sets them is graph.py's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from gnomon.errors import DtypeError, GradientError
from gnomon.ir.memo import Recent, memo
from gnomon.ir.node import Arena, Graph, Node, copy_into, leaf_kind
from gnomon.ops.histories import rewritten
from gnomon.ops.op_calls import OpCall
from gnomon.ops.registry import GradientRule, Traced
from gnomon.passes.grad import pull_back
from gnomon.tensor.autograd.function import PLAIN, building, passed_on, zeros
from gnomon.tensor.autograd.versions import reading
from gnomon.tensor.borrowing import numbered
from gnomon.tensor.pytree import with_leaves
from gnomon.tensor.state import ModeBlock, grads, is_capturing, saving, state
from gnomon.tensor.tensor import Tensor, detached, node_of, wrap

__all__ = ["Pack", "Unpacking", "leads_to_leaves"]


class Pack(NamedTuple):
    """A user's pair of hooks: one packs a tensor, the other restores it."""

    pack: Callable[[Tensor], Any]
    unpack: Callable[[Any], Tensor]

    def result(self, made: Any, found: Sequence[Tensor]) -> Any:
        """A result whose gradient reads values that are packed now; found: the operands."""
        return pack_saved(self, made, found) if not is_capturing() else made

    def hold(self, nodes: Sequence[Node], places: Iterable[int]) -> PackedValues:
        """The saved values of one call, packed by the user's hook."""
        return PackedValues(self.unpack, {k: packed(self.pack, nodes[k]) for k in places})


class Derived(NamedTuple):
    """The gradient of a call, from the result's gradient, the result, and the operands."""

    traced: Traced
    read: tuple[int, ...]
    """The places of what it reads: 0 is the result, the operands follow."""
    given: tuple[int, ...]
    """The operands that have a gradient."""


_derived: Recent[tuple, tuple[Derived | None]] = memo(Recent())


def pack_saved(hooks: Pack, result: Any, found: Sequence[Tensor]) -> Any:
    """A nested result whose gradients read values that a user's hooks packed."""

    def of(x: Any) -> Any:
        saves = isinstance(x, Node) and x.dtype.kind == "float" and x.inputs
        return with_saved(hooks, x, dict.fromkeys(map(node_of, found))) if saves else x

    return with_leaves(result, of)


def with_saved(hooks: Pack, root: Node, given: Mapping[Node, None]) -> Node:
    """The result of a call, through a region that holds the packed values."""
    order = numbered([root], lambda x: x in given or x.op == "input" or x.watch)
    operands = [x for x in order if x in given or x.op == "input" or x.watch]
    if root in operands:
        return root
    wanted = [k for k, x in enumerate(operands) if leads_to_leaves(x)]
    key = (structure(order, operands), *wanted)
    (derived,) = _derived.found(key, lambda: (derive(root, operands, wanted),))
    if derived is None or not derived.read:
        return root
    inputs = (detached(root), *operands)
    rule = Unpacking(derived, hooks.hold(inputs, derived.read), root.called)
    kinds = tuple((x.shape, x.dtype) for x in inputs)
    params = {"name": "saved", "body": passed_on(kinds, 1), "call": PLAIN, "index": 0}
    return root.arena.node("region", inputs, **params, serial=rule)


def structure(order: Mapping[Node, int], operands: Sequence[Node]) -> tuple[int, ...]:
    """A key of a call's nodes: their kinds and positions, down to the operands."""
    ends, key = set(operands), []
    for node in order:
        if node in ends:
            key += [leaf_kind(node.shape, node.dtype)[0], -1]
        else:
            key += [node.kind, len(node.inputs), *(order[x] for x in node.inputs)]
    return tuple(key)


def leads_to_leaves(node: Node) -> bool:
    """Whether gradients of a node reach a leaf."""
    stack, seen = [node], set()
    while stack:
        x = stack.pop()
        if x.watch:
            return True
        if x not in seen and x.op != "detach" and x.dtype.kind == "float":
            seen.add(x)
            stack.extend(x.inputs)
    return False


def derive(root: Node, operands: Sequence[Node], wanted: Sequence[int]) -> Derived | None:
    """The gradient of a call, closed as a region; None if no gradient passes."""
    arena = Arena()
    images = {x: arena.input(x.shape, x.dtype) for x in operands}
    starts = list(images.values())
    (copy,) = copy_into(arena, [root], dict(images))
    seed = arena.input(root.shape, root.dtype)
    parts = pull_back({copy: seed}, [starts[k] for k in wanted])
    outputs = [x for x in parts if x is not None]
    if not outputs:
        return None
    places = {x: k for k, x in enumerate((copy, *starts))}
    inner = Arena()
    stand = {x: inner.input(x.shape, x.dtype) for x in (seed, copy, *starts)}
    leaves = list(stand.values())
    body = Graph(leaves, copy_into(inner, outputs, stand))
    found = {k for k in places.values() if leaves[k + 1] in reading(body.outputs)}
    given = (k for k, x in zip(wanted, parts, strict=True) if x is not None)
    traced = Traced("saved.grad", body, OpCall((), ()), True)
    return Derived(traced, tuple(sorted(found)), tuple(given))


# what is packed


class plainly(ModeBlock):
    """A context that records no gradients, and saves nothing."""

    def __enter__(self) -> None:
        self.enter({grads: False, saving: None})


def packed(pack: Callable[[Tensor], Any], node: Node) -> Any:
    """A value packed by a user's hook, which gets leaves as themselves."""
    leaf = next((x for x in (ref() for ref in node.watch or ()) if x is not None), None)
    whole = leaf is not None and leaf._requires
    tensor = leaf if whole else wrap(node, node.dtype.kind == "float" and leads_to_leaves(node))
    version = tensor._storage.version
    with plainly():
        made = pack(tensor)
    if tensor._storage.version != version:
        raise GradientError(
            "saved_tensors_hooks: a saved tensor pack hook is modifying its input in place. "
            "Tensors provided as input to pack hook can not be modified: change a clone()."
        )
    return made


def unpacked(made: Any, unpack: Callable[[Any], Tensor], like: Node) -> Tensor:
    """The tensor that a user's hook restores, checked against the packed shape and dtype."""
    with plainly():
        tensor = unpack(made)
    if not isinstance(tensor, Tensor):
        raise DtypeError(
            "saved_tensors_hooks: output of saved tensor unpack_hook expected to be a Tensor but "
            f"got result of type {type(tensor).__name__}. Return a tensor."
        )
    if tuple(tensor.shape) != like.shape or tensor.dtype is not like.dtype:
        raise GradientError(
            f"saved_tensors_hooks: unpack_hook gives {tensor.dtype.name}{list(tensor.shape)} for "
            f"a tensor that was {like.dtype.name}{list(like.shape)}. Return one of that kind."
        )
    return tensor


class PackedValues:
    """The values of one call, packed by a user's hooks when it was made."""

    def __init__(self, unpack: Callable[[Any], Tensor], made: Mapping[int, Any]) -> None:
        self.unpack, self.made = unpack, made

    def value(self, place: int, node: Node) -> Node:
        """The restored value, with the history of the original node."""
        new = detached(node_of(unpacked(self.made[place], self.unpack, node)))
        return rewritten(node, new) if new.dtype.kind == "float" else new


class Unpacking(GradientRule):
    """The gradient of a call that reads packed values."""

    def __init__(self, derived: Derived, packing: PackedValues, called: str) -> None:
        self.derived, self.packing, self.called = derived, packing, called

    def gradients(self, gs: Mapping[Node, Node], needed: Sequence[bool]) -> list[Node | None]:
        """The operands' gradients, on the nodes of the current graph."""
        ((node, g),) = gs.items()
        if state.looks_ahead and node.arena is state.arena:
            return [zeros(x) if need else None for x, need in zip(node.inputs, needed, strict=True)]
        with building(node.arena, (*node.inputs, g)):
            values = [node, *node.inputs[1:]]
            for k in self.derived.read:
                values[k] = self.packing.value(k, values[k])
            parts = self.derived.traced.emit((g, *values))
        found: list[Node | None] = [None] * len(node.inputs)
        for k, part in zip(self.derived.given, parts, strict=True):
            if needed[k + 1]:
                found[k + 1] = part
        return found
