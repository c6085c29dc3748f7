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
