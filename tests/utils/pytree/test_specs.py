"""Structures are values: compared, hashed, shown, and applied to other trees."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict, defaultdict, deque

import pytest

from gnomon.utils import pytree

pytestmark = pytest.mark.unit

TREE = {"a": [1, (2, 3)], "b": {"c": 4}}


def test_counts_and_parts():
    spec = pytree.tree_structure(TREE)

    assert (spec.num_nodes, spec.num_leaves, spec.num_children) == (8, 4, 2)
    assert spec.type is dict
    assert spec.context == ["a", "b"]
    assert spec.child(1) == spec.children()[1] == pytree.tree_structure({"c": 0})
    assert spec.children_specs == spec.children()
    assert not spec.is_leaf()
    assert spec.child(1).child(0) is pytree.treespec_leaf()
    assert isinstance(pytree.tree_structure(1), pytree.LeafSpec)


def test_structures_are_compared_and_hashed_by_value():
    same = [pytree.tree_structure(TREE), pytree.tree_structure(copy.deepcopy(TREE))]
    other = pytree.tree_structure({**TREE, "b": [4]})

    assert same[0] == same[1] == pickle.loads(pickle.dumps(same[0]))
    assert hash(same[0]) == hash(same[1])
    assert len({*same, other}) == 2
    assert same[0] != "a structure"


def test_it_is_shown_as_pytorch_shows_it():
    assert repr(pytree.tree_structure({"a": 1, "b": [2, 3]})) == (
        "TreeSpec(dict, ['a', 'b'], [*,\n  TreeSpec(list, None, [*,\n    *])])"
    )


def test_another_tree_is_taken_apart_up_to_the_leaves():
    spec = pytree.tree_structure({"a": 1, "b": [2, 3]})

    assert spec.flatten_up_to(OrderedDict(b=["x", {}], a=(1, 2))) == [(1, 2), "x", {}]
    assert pytree.tree_structure(deque([1], maxlen=3)).flatten_up_to(deque([5])) == [5]
    assert pytree.tree_structure(defaultdict(int, a=1)).flatten_up_to({"a": 7}) == [7]


@pytest.mark.parametrize("other", [{"a": 1}, {"a": 1, "c": [2, 3]}, {"a": 1, "b": [2]}, [1, 2]])
def test_other_containers_are_refused(other):
    with pytest.raises(ValueError, match="flatten_up_to"):
        pytree.tree_structure({"a": 1, "b": [2, 3]}).flatten_up_to(other)


def test_leaves_are_counted():
    with pytest.raises(ValueError, match="4 leaves: got 1"):
        pytree.tree_structure(TREE).unflatten([1])
