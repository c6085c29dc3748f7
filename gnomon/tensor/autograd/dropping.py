"""Histories that are dropped once a value is known: no backward pass will go over them.

A storage keeps the history of its value as long as a tensor may ask for it. Detached tensors share
the storage, and may outlive all others: the state of a recurrent network from step to step, or a
replay buffer. They never ask, and the history would hold the weights of their step.
"""

from __future__ import annotations

from sys import getrefcount

from gnomon.ir.node import Node
from gnomon.ir.provenance import Site
from gnomon.lazy import here
from gnomon.tensor.borrowing import borrows
from gnomon.tensor.state import Storage, leaf_of_value, state
from gnomon.tensor.watchers import RELEASED

__all__ = ["drop_history", "drop_unreachable", "settle", "unreachable"]

LISTED = 2
"""References to a storage that a list holds, beside its tensors: the list, the count itself."""
ALONE = 3
"""References to the node of such a storage: its storage, a list, the count itself."""


def settle(held: dict[Node, list[Storage]]) -> None:
    """Drop the history of storages with values, unless a backward pass may ask for it."""
    alone = not here.links()
    for node, storages in held.items():
        if node.value is None:
            continue
        for storage in storages:
            if storage.node is not node:
                continue
            if not storage.tracked or storage.released:
                drop_history(storage, alone)
            else:
                state.histories.add(storage)


def drop_history(storage: Storage, alone: bool = False) -> None:
    """Replace a storage's node by a leaf, after the last backward pass over it.

    alone: there are no ranks, which have to know constants.
    """
    node = storage.node
    storage.node = leaf_of_value(node, alone or storage.kept)
    if storage.tracked:
        state.histories.discard(storage)
        storage.node.sites, storage.node.watch = named_sites(node), RELEASED


def named_sites(node: Node) -> tuple[Site, ...]:
    """The source locations of a node with its operation's name, which a leaf in its place lacks."""
    first = node.sites[:1] or (Site("<gnomon>", 0, ""),)
    return (first[0]._replace(op=node.called), *node.sites[1:])


def drop_unreachable() -> None:
    """Drop histories that only detached tensors still refer to, and those behind detached values.

    A history that another node reads stays referenced there. Histories are inspected again once
    there are twice as many.
    """
    state.detached = [x for x in state.detached if is_pending(x())]
    count = len(state.histories)
    if count < state.histories_at:
        state.histories_at = max(min(state.histories_at, 2 * count), 1)
        return
    storages = unreachable([x for x in state.histories if x.node.value is not None])
    for storage in storages:
        for view in storage.cut or ():
            view.source = view.node = None  # they hold the node
    nodes = [x.node for x in storages]
    for storage, count in zip(storages, list(map(getrefcount, nodes)), strict=True):
        if count <= ALONE:
            drop_history(storage)
    state.histories_at = max(2 * len(state.histories), 1)


def unreachable(storages: list[Storage]) -> list[Storage]:
    """The storages among these that only detached tensors refer to."""
    counts = list(map(getrefcount, storages))
    return [
        x
        for x, count in zip(storages, counts, strict=True)
        if x.cut is not None and count - LISTED == len(x.cut)
    ]


def is_pending(node: Node | None) -> bool:
    """Whether a detached node has no value yet; once it has one, a leaf replaces its history."""
    if node is None or not node.inputs[0].inputs:
        return False
    (x,) = node.inputs
    if not borrows(node):
        return True
    node.arena.part_with(node)
    made = leaf_of_value(x)
    made.serial = x.serial
    node.inputs = (made,)
    return False
