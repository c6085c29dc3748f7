"""Transfers: movements of whole buffers between ranks, to which all collectives are lowered.

A transfer moves bytes, so each backend has to provide only these. One of them folds arriving bytes
by a function of this library, so that no rank stores what every other one sent; other folds are
ordinary nodes (gnomon/passes/lower_collectives.py). The data from or for each rank are equal
stretches of the elements in row-major order, in rank order. `of` names the collective that a
transfer belongs to, for messages, and for ranks to verify that they run the same one.
"""

from __future__ import annotations

from math import prod
from typing import Any

from gnomon.dtypes import DType
from gnomon.ir.node import Node, Shape, Signature, primitive
from gnomon.ops.collectives import After, Collective, latest
from gnomon.ops.layouts import Unit

__all__ = ["Messages", "exchange_ranks", "fold_ranks", "gather_ranks", "send_ranks", "shift_ranks"]

Messages = tuple[tuple[int, int, int, int, int], ...]
"""Messages, each (rank of the group, 1 if sent or 0 if received, first element and number of
elements within the sent or received ones, tag); see gnomon/runtime/comm/base.py."""


class Shaped(Collective):
    """Base of transfers whose result may have any shape with the same number of elements."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        return params["shape"], inputs[0].dtype


@primitive("gather_ranks")
class GatherRanks(Shaped):
    """Every rank's x, one after another."""


@primitive("exchange_ranks")
class ExchangeRanks(Shaped):
    """Send part k of x to rank k; part k of the result comes from rank k."""


@primitive("fold_ranks")
class FoldRanks(Collective):
    """Send part k of x, along its first axis, to rank k; the result folds received parts."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        return inputs[0].shape[1:], inputs[0].dtype

    def signature(self, node: Node) -> Signature:
        return Signature([[None] * x.rank for x in node.inputs], [None] * node.rank)


@primitive("shift_ranks")
class ShiftRanks(Collective):
    """The x of the rank `shift` places before, around the ring."""


@primitive("send_ranks")
class SendRanks(Collective):
    """Messages to and from ranks; the result is the received elements, or one element if none."""

    def infer(self, inputs: tuple[Node, ...], params: dict[str, Any]) -> tuple[Shape, DType]:
        return (max(1, received(params["messages"])),), inputs[0].dtype

    def signature(self, node: Node) -> Signature:
        return Signature([[None] * x.rank for x in node.inputs], [None])

    def back(self, node: Node, g: Node) -> Node | None:
        p = node.params
        turned = [(peer, 1 - sent, *rest) for peer, sent, *rest in p["messages"]]
        return send_ranks(g, tuple(turned), p["mesh"], p["ranks"], latest(g.arena, p["mesh"]))


def received(messages: Messages) -> int:
    """The number of elements that messages bring."""
    return sum(size for _, sent, _, size, _ in messages if not sent)


def gather_ranks(
    x: Node,
    mesh: str,
    ranks: int,
    shape: Shape | None = None,
    of: str = "",
    after: After = (),
    **unit: Unit | str,
) -> Node:
    """Every rank's x, one after another: (ranks, *x.shape), or another shape of as many elements.

    unit: the unit whose parameters these are, and the pass that reads them; the next
    but one begins when nobody reads the one before.
    """
    shape = shape or (ranks, *x.shape)
    assert prod(shape) == ranks * x.size, f"gather_ranks: {ranks} x {x.shape} are not {shape}"
    params = {"mesh": mesh, "ranks": ranks, "shape": shape, "of": of}
    return x.arena.node("gather_ranks", (x, *after), **params, **unit)


def exchange_ranks(
    x: Node,
    mesh: str,
    ranks: int,
    shape: Shape | None = None,
    of: str = "",
    after: After = (),
    **unit: Unit,
) -> Node:
    """Send part k of x to rank k; part k of the result, of any shape, comes from rank k.

    unit: the unit whose gradients these are; it says how many may be under way.
    """
    shape = shape or x.shape
    assert prod(shape) == x.size, f"exchange_ranks: {x.shape} is not {shape}"
    params = {"mesh": mesh, "ranks": ranks, "shape": shape, "of": of}
    return x.arena.node("exchange_ranks", (x, *after), **params, **unit)


def fold_ranks(
    x: Node,
    fold: tuple[str, int],
    mesh: str,
    of: str = "",
    after: After = (),
    **unit: Unit,
) -> Node:
    """The fold, on each rank, of its part of every rank's x: (ranks, ...) becomes (...).

    fold: the monoid, and the number of leaves. unit: the unit whose gradients these are; it says
    how many may be under way.
    """
    monoid, leaves = fold
    params = {"mesh": mesh, "ranks": x.shape[0], "monoid": monoid, "leaves": leaves, "of": of}
    return x.arena.node("fold_ranks", (x, *after), **params, **unit)


def send_ranks(x: Node, messages: Messages, mesh: str, ranks: int, after: After = ()) -> Node:
    """The elements that messages bring; messages that are sent are parts of flattened x."""
    first_received = tuple(sorted(messages, key=lambda each: each[1]))
    params = {"messages": first_received, "mesh": mesh, "ranks": ranks, "of": "messages"}
    return x.arena.node("send_ranks", (x, *after), **params)


def shift_ranks(
    x: Node, shift: int, mesh: str, ranks: int, of: str = "", after: After = ()
) -> Node:
    """The x of the rank `shift` places before, around the ring."""
    params = {"shift": shift % ranks, "mesh": mesh, "ranks": ranks, "of": of}
    return x.arena.node("shift_ranks", (x, *after), **params)
