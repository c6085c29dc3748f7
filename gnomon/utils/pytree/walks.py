"""Functions on trees: flatten, map, search."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from gnomon.errors import ArgumentError, DtypeError
from gnomon.utils.pytree.nodes import SUPPORTED_NODES
from gnomon.utils.pytree.specs import LEAF, PyTree, TreeSpec, _get_node_type

__all__ = [
    *("arg_tree_leaves", "map_only", "tree_all", "tree_all_only", "tree_any", "tree_any_only"),
    *("tree_flatten", "tree_flatten_with_path", "tree_is_leaf", "tree_iter", "tree_leaves"),
    *("tree_leaves_with_path", "tree_map", "tree_map_", "tree_map_only", "tree_map_only_"),
    *("tree_map_with_path", "tree_structure", "tree_unflatten"),
]

IsLeaf = Callable[[Any], bool] | None


def tree_is_leaf(tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a value is a leaf: not a container, or one for which is_leaf is true."""
    return bool(is_leaf and is_leaf(tree)) or _get_node_type(tree) not in SUPPORTED_NODES


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and its structure.

    >>> tree_flatten([1, {"a": (2, None)}])[0]
    [1, 2, None]
    """
    found: list[Any] = []

    def structure_of(value: PyTree) -> TreeSpec:
        if tree_is_leaf(value, is_leaf):
            found.append(value)
            return LEAF
        kind = _get_node_type(value)
        parts, context = SUPPORTED_NODES[kind].flatten_fn(value)
        return TreeSpec(kind, context, list(map(structure_of, parts)))

    spec = structure_of(tree)
    return found, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """Build a tree from leaves and a structure, given in either order."""
    given: Any = (treespec, leaves) if isinstance(leaves, TreeSpec) else (leaves, treespec)
    leaves, treespec = given
    if not isinstance(treespec, TreeSpec):
        raise DtypeError(f"tree_unflatten: needs a TreeSpec: got {type(treespec).__name__}.")
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """Yield the leaves of a tree."""
    if tree_is_leaf(tree, is_leaf):
        yield tree
    else:
        for part in SUPPORTED_NODES[_get_node_type(tree)].flatten_fn(tree)[0]:
            yield from tree_iter(part, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of a tree."""
    return list(tree_iter(tree, is_leaf))


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of all arguments."""
    return [leaf for each in (*args, *kwargs.values()) for leaf in tree_iter(each)]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The structure of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def keyed_leaves(tree: PyTree, is_leaf: IsLeaf, above: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """Yield each leaf of a tree with its path of keys."""
    if tree_is_leaf(tree, is_leaf):
        yield above, tree
        return
    kind = _get_node_type(tree)
    keyed = SUPPORTED_NODES[kind].flatten_with_keys_fn
    if keyed is None:
        raise ArgumentError(
            f"tree_flatten_with_path: {kind} has no keys. Register it with flatten_with_keys_fn."
        )
    for key, part in keyed(tree)[0]:
        yield from keyed_leaves(part, is_leaf, (*above, key))


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[tuple, Any]]:
    """The leaves of a tree, each with its path of keys.

    >>> from gnomon.utils.pytree import keystr
    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1, 2]})]
    [("['a'][0]", 1), ("['a'][1]", 2)]
    """
    return list(keyed_leaves(tree, is_leaf))


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[tuple, Any]], TreeSpec]:
    """The leaves of a tree, each with its path of keys, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Apply a function to corresponding leaves of trees; return a tree of the results.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    return spec.unflatten(map(func, leaves, *map(spec.flatten_up_to, rests)))


def tree_map_(func: Callable, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> PyTree:
    """Call an in-place function on the leaves of a tree; return the tree."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_with_path(
    func: Callable, tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Apply a function to each leaf's path and the leaf; return a tree of the results."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    paths, values = [path for path, _ in leaves], [leaf for _, leaf in leaves]
    return spec.unflatten(map(func, paths, values, *map(spec.flatten_up_to, rests)))


def map_only(type_or_types_or_pred: Any, /) -> Callable[[Callable], Callable]:
    """Restrict a function to values of some types or of a predicate; others stay unchanged."""
    chosen = predicate_of(type_or_types_or_pred)

    def decorated(func: Callable) -> Callable:
        @functools.wraps(func)
        def call(x: Any) -> Any:
            return func(x) if chosen(x) else x

        return call

    return decorated


def predicate_of(asked: Any) -> Callable[[Any], bool]:
    """A predicate from a type, several types, or a function."""
    if isinstance(asked, (type, tuple, types.UnionType)):
        return lambda x: isinstance(x, asked)
    if callable(asked):
        return lambda x: bool(asked(x))
    raise DtypeError(f"map_only: needs a type, types or a function: got {asked!r}.")


def tree_map_only(
    type_or_types_or_pred: Any, /, func: Callable, tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Apply a function to the leaves of some types; others stay unchanged.

    >>> tree_map_only(int, lambda x: -x, [1, "a", (2.0, 3)])
    [-1, 'a', (2.0, -3)]
    """
    return tree_map(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, /, func: Callable, tree: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """Call an in-place function on the leaves of some types; return the tree."""
    return tree_map_(map_only(type_or_types_or_pred)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate is true of all leaves."""
    return all(map(pred, tree_iter(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether a predicate is true of any leaf."""
    return any(map(pred, tree_iter(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether a predicate is true of all leaves of some types."""
    return all(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def tree_any_only(
    type_or_types: Any, /, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether a predicate is true of any leaf of some types."""
    return any(pred(x) for x in tree_iter(tree, is_leaf) if isinstance(x, type_or_types))


def _broadcast_to_and_flatten(
    tree: PyTree, treespec: TreeSpec, is_leaf: IsLeaf = None
) -> list[Any] | None:
    """The tree's leaves, repeated to fill a structure; None if they do not fit it."""
    full, found = treespec.unflatten([0] * treespec.num_leaves), []

    def repeat(leaf: Any, below: PyTree) -> None:
        found.extend([leaf] * tree_structure(below, is_leaf).num_leaves)

    try:
        tree_map(repeat, tree, full, is_leaf=is_leaf)
    except ArgumentError:
        return None
    return found
