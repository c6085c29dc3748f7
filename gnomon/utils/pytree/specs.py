"""The structure of a tree: its containers without the leaves."""

from __future__ import annotations

import dataclasses
from collections import deque, namedtuple
from collections.abc import Iterable, Iterator
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.utils.pytree.nodes import DICTS, SUPPORTED_NODES, Context, is_namedtuple_class

__all__ = ["LEAF", "LeafSpec", "PyTree", "PyTreeSpec", "TreeSpec", "treespec_leaf"]

PyTree = Any


def _get_node_type(tree: Any) -> Any:
    """The class under which a value is registered; all named tuples share one."""
    return namedtuple if is_namedtuple_class(type(tree)) else type(tree)


def hashable(context: Any) -> Any:
    """The part of a context that is hashable, as nested tuples."""
    if isinstance(context, (list, tuple)):
        return tuple(map(hashable, context))
    try:
        hash(context)
    except TypeError:
        return None
    return context


@dataclasses.dataclass(frozen=True, eq=False, repr=False, slots=True)
class TreeSpec:
    """The structure of a tree: its root's class and context, and the structures of its children.

    >>> from gnomon.utils.pytree import tree_flatten
    >>> leaves, spec = tree_flatten({"a": 1, "b": (2, 3)})
    >>> leaves, spec.num_leaves, spec.unflatten([4, 5, 6])
    ([1, 2, 3], 3, {'a': 4, 'b': (5, 6)})
    """

    type: Any
    _context: Context = None
    _children: list[TreeSpec] = dataclasses.field(default_factory=list)
    num_nodes: int = dataclasses.field(init=False)
    num_leaves: int = dataclasses.field(init=False)
    num_children: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        parts = self._children
        leaves = sum(x.num_leaves for x in parts) if self.type is not None else 1
        object.__setattr__(self, "num_nodes", 1 + sum(x.num_nodes for x in parts))
        object.__setattr__(self, "num_leaves", leaves)
        object.__setattr__(self, "num_children", len(parts))

    def __repr__(self) -> str:
        return self._shown(0)

    def _shown(self, indent: int) -> str:
        """The structure as indented text."""
        if self.type is None:
            return "*"
        between = ",\n" + " " * (indent + 2)
        parts = between.join(x._shown(indent + 2) for x in self._children)
        return f"TreeSpec({self.type.__name__}, {self._context}, [{parts}])"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        mine, its = ((x.type, x._context, x._children) for x in (self, other))
        return self is other or mine == its

    def __hash__(self) -> int:
        return hash((self.type, hashable(self._context), tuple(self._children)))

    @property
    def context(self) -> Context:
        """The container's data beside its children, such as the keys of a dict."""
        return self._context

    @property
    def children_specs(self) -> list[TreeSpec]:
        """The structures of the children."""
        return self._children

    def children(self) -> list[TreeSpec]:
        """A new list of the structures of the children."""
        return self.children_specs.copy()

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self._children[index]

    def is_leaf(self) -> bool:
        """Whether the structure is a single leaf."""
        return self.type is None

    def flatten_up_to(self, tree: PyTree) -> list[PyTree]:
        """The subtrees of a tree at the positions of this structure's leaves.

        Errors: ArgumentError if the tree has other containers.
        """
        if self.is_leaf():
            return [tree]
        parts = zip(self._children, parts_within(self, tree), strict=True)
        return [x for spec, part in parts for x in spec.flatten_up_to(part)]

    def unflatten(self, leaves: Iterable[Any]) -> PyTree:
        """Build the tree of this structure from its leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ArgumentError(
                f"unflatten: the structure has {self.num_leaves} leaves: got {len(leaves)}. Give "
                f"one for each of {self}."
            )
        return self._made(iter(leaves))

    def _made(self, leaves: Iterator[Any]) -> PyTree:
        """Build the tree, taking leaves from an iterator."""
        if self.type is None:
            return next(leaves)
        parts = [x._made(leaves) for x in self._children]
        return SUPPORTED_NODES[self.type].unflatten_fn(parts, self._context)


PyTreeSpec = TreeSpec


class LeafSpec(TreeSpec):
    """The structure of a single leaf."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(None)


LEAF = LeafSpec()


def treespec_leaf() -> LeafSpec:
    """The structure of a single leaf."""
    return LEAF


def parts_within(spec: TreeSpec, tree: PyTree) -> list[PyTree]:
    """The children of a value, whose container must match a structure's root."""
    kind = _get_node_type(tree)
    if spec.type in DICTS and kind in DICTS:
        # the keys, which stand last in the context, whatever the dicts' kinds and order are
        keys = SUPPORTED_NODES[spec.type].unflatten_fn([0] * spec.num_children, spec.context)
        if {*keys} != {*tree}:
            raise ArgumentError(
                f"flatten_up_to: the keys are {list(keys)}: got {list(tree)}. Give the same keys."
            )
        return [tree[key] for key in keys]
    if kind != spec.type:
        raise ArgumentError(f"flatten_up_to: needs {spec.type!r}: got {kind!r}. Give the former.")
    parts, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    if len(parts) != spec.num_children or (kind is not deque and context != spec.context):
        raise ArgumentError(
            f"flatten_up_to: needs {spec.num_children} parts with the context {spec.context!r}: "
            f"got {len(parts)} with {context!r}. Give trees of one structure."
        )
    return parts
