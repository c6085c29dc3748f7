"""Walks through trees: leaves in order, functions of them, and what they leave as it is."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.utils import pytree

pytestmark = pytest.mark.unit

TREE = {"a": [1, (2, "three")], "b": None}


def test_leaves_stand_in_the_order_of_the_containers():
    assert pytree.tree_leaves(TREE) == [1, 2, "three", None]
    assert list(pytree.tree_iter(TREE, is_leaf=lambda x: isinstance(x, tuple)))[1] == (2, "three")
    assert pytree.arg_tree_leaves([1], 2, third={"x": 3}) == [1, 2, 3]
    assert pytree.tree_is_leaf(None)


def test_leaves_and_structure_come_back_in_either_order():
    leaves, spec = pytree.tree_flatten(TREE)

    assert pytree.tree_unflatten(leaves, spec) == pytree.tree_unflatten(spec, leaves) == TREE
    with pytest.raises(TypeError, match="needs a TreeSpec"):
        pytree.tree_unflatten([1], [2])


def test_paths_lead_to_leaves():
    found, spec = pytree.tree_flatten_with_path(TREE)

    assert [pytree.keystr(path) for path, _ in found][:3] == [
        "['a'][0]",
        "['a'][1][0]",
        "['a'][1][1]",
    ]
    assert all(pytree.key_get(TREE, path) is leaf for path, leaf in found)
    assert spec == pytree.tree_structure(TREE)


def test_functions_of_leaves_of_one_tree_and_of_more():
    named = pytree.tree_map_with_path(lambda path, x, y: f"{pytree.keystr(path)}{x}{y}", [1], [[2]])

    assert pytree.tree_map(lambda x, y: (x, y), [1, [2]], [3, [{}]]) == [(1, 3), [(2, {})]]
    assert named == ["[0]1[2]"]


def test_functions_of_some_leaves():
    assert pytree.tree_map_only(int, str, TREE) == {"a": ["1", ("2", "three")], "b": None}
    assert pytree.tree_map_only((int, str), len, ["ab"]) == [2]
    assert pytree.tree_map_only(int | str, repr, [1, "a", 2.0]) == ["1", "'a'", 2.0]
    assert pytree.tree_map_only(lambda x: x == 1, str, [1, 2]) == ["1", 2]
    with pytest.raises(TypeError, match="map_only"):
        pytree.map_only(3)


def test_functions_that_write():
    tensors = [gn.zeros(2), {"x": gn.ones(3)}]

    assert pytree.tree_map_(lambda t: t.add_(1), tensors) is tensors
    assert pytree.tree_map_only_(gn.Tensor, lambda t: t.mul_(2), tensors) is tensors
    assert [t.tolist() for t in pytree.tree_leaves(tensors)] == [[2, 2], [4, 4, 4]]


def test_questions_about_all_and_any():
    assert pytree.tree_all(bool, [1, [2]])
    assert not pytree.tree_all(bool, [1, [0]])
    assert pytree.tree_any(bool, [0, [2]])
    assert pytree.tree_all_only(int, bool, [1, ""])
    assert not pytree.tree_any_only(int, bool, [0, "a"])


def test_a_prefix_is_repeated():
    spec = pytree.tree_structure([1, (2, 3)])

    assert pytree._broadcast_to_and_flatten(0, spec) == [0, 0, 0]
    assert pytree._broadcast_to_and_flatten([0, 1], spec) == [0, 1, 1]
    assert pytree._broadcast_to_and_flatten([0, 1, 2], spec) is None


def test_compiled_functions_walk_trees():
    @gn.compile
    def doubled(tree):
        return pytree.tree_map(lambda x: 2 * x, tree)

    assert doubled({"a": gn.ones(2)})["a"].tolist() == [2, 2]
