"""A look finds every change of what a walk met, and the same objects without a doubt."""

import types

import gnomon as gn
from gnomon.capture.closure_state import of_function
from gnomon.capture.snapshot import contents, own_of


class Turned(list):
    """A list that tells nobody what is inside."""

    def __iter__(self):
        return iter(())

    def __len__(self):
        return 0


class Hidden:
    """An object whose attributes are all made up."""

    def __getattribute__(self, name):
        raise KeyError(name)


def test_what_is_inside_is_told_by_pythons_own_classes():
    assert contents(Turned([1, 2])) == (1, 2)
    assert contents({"a": 1}) == ("a", 1)
    assert own_of(Hidden()) == {}
    assert own_of(types.SimpleNamespace(a=1)) == {"a": 1}
    assert own_of(3) is None


def test_a_look_says_yes_no_or_that_the_walk_must_be_taken_again():
    box = types.SimpleNamespace(scale=1.5)
    _, places = of_function(lambda: box.scale)
    assert places.hold() is True
    box.scale = float("1.5")
    assert places.hold() is True
    box.scale = 2.5
    assert places.hold() is False
    box.scale = [1.5]
    assert places.hold() is None


def test_attributes_of_a_module_that_are_changed_by_hand_are_noticed():
    module = gn.nn.Identity()
    module.scale = 1.5
    kept = vars(module)
    scaled = gn.compile(lambda x: x * module.scale)
    assert scaled(gn.ones(1)).item() == 1.5

    kept["scale"] = 2.5

    assert scaled(gn.ones(1)).item() == 2.5


def test_tuples_are_not_looked_into_twice_since_they_hold_the_same_for_good():
    box = types.SimpleNamespace(sizes=(2, 3), names=["a"])
    _, places = of_function(lambda: (box.sizes, box.names))

    assert [type(value) for value, _ in places._parts] == [list]
    box.sizes = (2, 4)
    assert places.hold() is None


def test_a_closure_that_several_functions_share_is_compared_once():
    count = 1

    def inner():
        return count

    _, places = of_function(lambda: (inner(), count))
    cells = [id(cell) for cell, _ in places._cells]

    assert len(cells) == len({*cells}) == 2
    assert places.hold() is True
    count = 2
    assert places.hold() is False


def test_plain_tuples_of_a_module_are_compared_with_the_module():
    norm = gn.nn.LayerNorm((4,))
    compiled = gn.compile(lambda x: x * len(norm.normalized_shape))
    x = gn.ones(2)

    assert compiled(x).tolist() == [1.0, 1.0]
    norm.normalized_shape = (2, 2)
    assert compiled(x).tolist() == [2.0, 2.0]
    vars(norm)["normalized_shape"] = (2, 2, 1)
    assert compiled(x).tolist() == [3.0, 3.0]
