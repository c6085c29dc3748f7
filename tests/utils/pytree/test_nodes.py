"""Kinds of containers: Python's, those that are registered, and what refuses to be one."""

from __future__ import annotations

import dataclasses
import time
from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from gnomon.utils import pytree
from gnomon.utils.pytree.nodes import SUPPORTED_NODES, WRITTEN

pytestmark = pytest.mark.unit

Point = namedtuple("Point", ["x", "y"])


@pytest.fixture(autouse=True)
def registered():
    """What a test registers leaves with it."""
    nodes, written = dict(SUPPORTED_NODES), dict(WRITTEN)
    yield
    SUPPORTED_NODES.clear(), WRITTEN.clear()
    SUPPORTED_NODES.update(nodes), WRITTEN.update(written)


@pytest.mark.parametrize(
    ("tree", "path"),
    [
        ([1, 2], "[1]"),
        ((1, 2), "[1]"),
        ({"a": 1, "b": 2}, "['b']"),
        (OrderedDict(b=1, a=2), "['a']"),
        (defaultdict(list, a=1, b=2), "['b']"),
        (deque([1, 2], maxlen=5), "[1]"),
        (Point(1, 2), ".y"),
    ],
)
def test_containers_of_python_come_apart_and_back(tree, path: str):
    leaves, spec = pytree.tree_flatten(tree)
    keys = pytree.tree_leaves_with_path(tree)[1][0]

    assert leaves == [1, 2]
    assert spec.unflatten(leaves) == tree
    assert type(spec.unflatten(leaves)) is type(tree)
    assert pytree.keystr(keys) == path
    assert pytree.key_get(tree, keys) == 2


class Pair:
    def __init__(self, left, right):
        self.left, self.right = left, right


def test_a_registered_class_is_a_container():
    parts = lambda pair: ([pair.left, pair.right], "told")  # noqa: E731
    pytree.register_pytree_node(Pair, parts, lambda values, _: Pair(*values))

    made = pytree.tree_map(lambda x: -x, {"pair": Pair(1, [2])})

    assert (made["pair"].left, made["pair"].right) == (-1, [-2])
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(Pair, parts, lambda values, _: Pair(*values))
    with pytest.raises(ValueError, match="has no keys"):
        pytree.tree_flatten_with_path(Pair(1, 2))
    with pytest.warns(UserWarning, match="already registered"):
        pytree._register_pytree_node(Pair, parts, lambda values, _: Pair(*values))


def test_one_half_of_a_text_is_refused():
    with pytest.raises(ValueError, match="Give both"):
        pytree.register_pytree_node(Pair, list, list, to_dumpable_context=str)


@dataclasses.dataclass
class Batch:
    x: object
    y: object = None


def test_fields_of_a_dataclass_are_its_parts_and_none_is_no_leaf():
    pytree.register_dataclass(Batch)

    assert pytree.tree_map(lambda x: x + 1, Batch(1)) == Batch(2)
    assert pytree.tree_leaves(Batch(1, 2)) == [1, 2]
    assert pytree.keystr(pytree.tree_leaves_with_path(Batch(1, 2))[1][0]) == ".y"
    with pytest.raises(ValueError, match="Name each"):
        pytree.register_dataclass(Batch, field_names=["x"])
    with pytest.raises(ValueError, match="no dataclass"):
        pytree.register_dataclass(Pair)


@dataclasses.dataclass(frozen=True)
class Config:
    norm: str


def test_a_constant_is_part_of_the_structure():
    pytree.register_constant(Config)
    (one, first), (two, second) = map(pytree.tree_flatten, ([Config("a"), 1], [Config("b"), 1]))

    assert one == two == [1]
    assert first != second
    assert first.unflatten([3]) == [Config("a"), 3]
    with pytest.raises(TypeError, match="__eq__"):
        pytree.register_constant(Pair)


def test_tuples_with_names_are_told_apart():
    now = time.gmtime(0)

    assert pytree.is_namedtuple(Point)
    assert pytree.is_namedtuple_instance(Point(1, 2))
    assert not pytree.is_namedtuple((1, 2))
    assert pytree.is_structseq(now)
    assert pytree.is_structseq_instance(now)
    assert not pytree.is_structseq(Point)
    assert pytree.tree_is_leaf(now)
