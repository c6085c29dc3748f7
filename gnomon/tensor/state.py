"""What each thread keeps while it builds tensors: its arena, its modes, what is still pending.

No graph is walked here: see evaluate.py. Nothing is shared between threads but buffers.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet, ref

from gnomon.dtypes import DType
from gnomon.ir.node import Arena, Node, Shape, Sites, copy_into

if TYPE_CHECKING:
    from gnomon.runtime.buffer import Buffer

KEPT_REFERENCES = 4096
"""So many dead references may gather before the list of pending storages is swept."""
LOOK = 64
"""Between so many new nodes the length of what is pending is looked at."""


class State(threading.local):
    """One thread's; a capture (gnomon/jit.py) puts others in place for a while."""

    def __init__(self) -> None:
        self.arena = Arena()
        self.images: WeakKeyDictionary[Node, Node] = WeakKeyDictionary()
        self.grad = True
        self.looks_ahead = False
        self.unknown: list[Node] = []
        self.inference = False
        self.autocast: DType | None = None
        self.capture: Any = None
        self.pending: list[ref[Storage]] = []
        self.overwritten: WeakSet[Node] = WeakSet()
        self.sweep_at = KEPT_REFERENCES
        self.look_at = self.evaluated_at = 0


state = State()


class Storage:
    """A place that holds a value: the current node. Every alias of a tensor has the same one."""

    __slots__ = ("__weakref__", "node", "released", "tracked", "version")

    node: Node
    tracked: bool
    version: int
    released: bool

    def set(self, node: Node) -> None:
        """Replace the value; every alias sees it."""
        if state.capture is not None and self.node.arena is not state.arena:
            state.capture.assign(self, node)
            return
        self.node = node
        self.version += 1
        if node.value is None or state.capture is not None:
            note(self)


def storage_of(node: Node, tracked: bool) -> Storage:
    """A new storage; every result has one, and a class with a constructor takes twice as long."""
    made = Storage.__new__(Storage)
    made.node, made.tracked, made.version, made.released = node, tracked, 0, False
    if node.value is None:
        note(made)
    return made


def note(storage: Storage) -> None:
    """Remember that a storage waits for its value."""
    pending = state.pending
    pending.append(ref(storage))
    if len(pending) > state.sweep_at:
        waiting()
        state.sweep_at = 2 * len(state.pending) + KEPT_REFERENCES


def waiting() -> dict[Node, list[Storage]]:
    """The pending nodes that somebody still holds, and by which storages."""
    found: dict[Node, list[Storage]] = {}
    kept: dict[int, ref[Storage]] = {}
    for reference in state.pending:
        storage = reference()
        if storage is not None and storage.node.value is None and id(storage) not in kept:
            kept[id(storage)] = reference
            found.setdefault(storage.node, []).append(storage)
    state.pending = list(kept.values())
    return found


def leaf(shape: Shape, dtype: DType, buffer: Buffer, sites: Sites | None = None) -> Node:
    """A leaf of this thread's arena that holds a value."""
    return state.arena.leaf(shape, dtype, buffer, sites)


def leaf_like(known: Node, buffer: Buffer) -> Node:
    """A leaf of this thread's arena like one without a value, whose parts are at hand."""
    arena, node = state.arena, Node.__new__(Node)
    node.arena, node.serial, node.value, node.watch = arena, next(arena._serial), buffer, None
    node.op, node.inputs, node.kind, node.params = "input", (), known.kind, known.params
    node.shape, node.dtype, node.sites = known.shape, known.dtype, known.sites
    return node


def at_home(node: Node) -> Node:
    """A node of another thread, rebuilt in this thread's arena with its history and values."""
    if node.arena is state.arena:
        return node
    if node not in state.images:
        copy_into(state.arena, [node], Images(state.images))
    return state.images[node]


class Images(dict):
    """Where copy_into notes its images: values travel along, and leaves keep their buffers."""

    def __init__(self, images: WeakKeyDictionary[Node, Node]) -> None:
        self.images = images

    def __contains__(self, node: object) -> bool:
        if node not in self.images and node.value is not None and not node.inputs:
            self[node] = leaf(node.shape, node.dtype, node.value, node.sites)
        return node in self.images

    def __getitem__(self, node: Node) -> Node:
        return self.images[node]

    def __setitem__(self, node: Node, image: Node) -> None:
        image.value = node.value
        image.watch = node.watch
        self.images[node] = image
