"""Structures as texts: PyTorch's JSON, read and written."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from enum import Enum

import pytest

from gnomon.utils import pytree

pytestmark = pytest.mark.unit

Point = namedtuple("Point", ["x", "y"])


class Colour(Enum):
    RED = 1


def test_the_text_is_pytorchs():
    assert pytree.treespec_dumps(pytree.tree_structure([1, {"a": 2}])) == (
        '[1, {"type": "builtins.list", "context": "null", "children_spec": ['
        '{"type": null, "context": null, "children_spec": []}, '
        '{"type": "builtins.dict", "context": "[\\"a\\"]", "children_spec": ['
        '{"type": null, "context": null, "children_spec": []}]}]}]'
    )


@pytest.mark.parametrize(
    "tree",
    [
        1,
        [(1, 2), OrderedDict(b=1, a=2)],
        defaultdict(list, a=[1], b=2),
        deque([1, {}], maxlen=4),
        {Colour.RED.name: 1, "b": ()},
    ],
)
def test_what_is_written_is_read(tree):
    spec = pytree.tree_structure(tree)

    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


def test_members_of_an_enumeration_are_written(monkeypatch):
    spec = pytree.TreeSpec(dict, [Colour.RED], [pytree.treespec_leaf()])

    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    with pytest.raises(TypeError, match="to_dumpable_context"):
        pytree.treespec_dumps(pytree.TreeSpec(dict, [object()], [pytree.treespec_leaf()]))


def test_named_tuples_need_a_name():
    spec = pytree.tree_structure(Point(1, 2))

    with pytest.raises(NotImplementedError, match="_register_namedtuple"):
        pytree.treespec_dumps(spec)
    pytree._register_namedtuple(Point, serialized_type_name="tests.Point")
    assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec


def test_what_is_unknown_is_refused():
    with pytest.raises(TypeError, match="needs a TreeSpec"):
        pytree.treespec_dumps([1])
    with pytest.raises(ValueError, match="no protocol 2"):
        pytree.treespec_dumps(pytree.treespec_leaf(), 2)
    with pytest.raises(NotImplementedError, match=r"other\.kind"):
        pytree.treespec_loads('[1, {"type": "other.kind", "context": "", "children_spec": []}]')


def test_a_tree_of_asterisks():
    assert pytree.treespec_pprint(pytree.tree_structure([1, {"a": (2,)}])) == "[*, {'a': (*,)}]"
