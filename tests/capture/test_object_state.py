"""Classes tell their versions; objects tell a state, never change, or are opaque."""

import argparse
import array
import collections
import collections.abc
import dataclasses
import functools
import itertools
import logging
import os
import random
import re
import threading
import warnings
import weakref

import numpy as np
import pytest

import gnomon as gn
from gnomon.capture.object_state import OPAQUE, Version, has_versions, state_of


@dataclasses.dataclass
class Listed:
    """What every instance makes anew."""

    parts: list = dataclasses.field(default_factory=list)


def test_what_dataclasses_mark_by_never_changes():
    def made(x):
        return x * len(Listed([1, 2]).parts)

    fast = gn.compile(made)
    for _ in range(3):
        assert fast(gn.ones(2)).tolist() == [2, 2]

    assert fast.captures == 1


def test_a_class_has_another_version_after_every_change_of_it_or_of_one_above():
    above = type("Above", (), {"x": 1})
    below = type("Below", (above,), {})
    versions = [Version(above), Version(below)]
    assert has_versions()
    assert all(version.holds() for version in versions)

    above.x = 2

    assert not any(version.holds() for version in versions)


@pytest.mark.parametrize(
    ("value", "change"),
    [
        (np.zeros(3), lambda x: x.fill(1)),
        (np.array([[1], [2]], dtype=object), lambda x: x.fill(0)),
        (bytearray(2), lambda x: x.append(1)),
        (array.array("d", [1.0]), lambda x: x.append(2.0)),
        (iter([1, 2, 3]), next),
        (itertools.count(), next),
        (random.Random(1), lambda x: x.random()),
        (np.random.default_rng(1), lambda x: x.random()),
    ],
)
def test_a_state_is_another_one_after_a_change(value, change):
    read = state_of(value)
    before = read()
    assert read() == before

    change(value)

    assert read() != before


@pytest.mark.parametrize("cached", [functools.cache, functools.lru_cache(maxsize=2)])
def test_a_cached_function_that_forgot_and_learned_again_is_another_one(cached):
    function = cached(lambda x: [x])
    function(1)
    read = state_of(function)
    before = read()
    assert read() == before
    function(1)
    assert read() == before

    function.cache_clear()
    function(1)

    assert read() != before


def test_what_cannot_be_seen_is_opaque_and_what_never_changes_has_no_state():
    turns = itertools.cycle([1])
    for value in (turns, (x for x in ()), random.SystemRandom(), weakref.ref(Version)):
        assert state_of(value) is OPAQUE
    for value in (re.compile("a"), range(3), np.float32(1), len):
        assert state_of(value) is None


@dataclasses.dataclass
class Pair:
    """What is made of what a call is given."""

    first: object
    scale: dataclasses.InitVar[float]
    sum: float = dataclasses.field(init=False)

    def __post_init__(self, scale):
        self.sum = scale * 2


class Scaled:
    """An object that can be held weakly."""

    scale = 2.0


@functools.singledispatch
def kind_of(value):
    """A number for a class."""
    return 3.0


@kind_of.register
def of_text(value: str):
    return 2.0


@kind_of.register
def of_sequence(value: collections.abc.Sequence):
    return 2.0


ARGUMENTS = argparse.Namespace(scale=2.0, depth=3, names=["a"])


def quiet(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return x * 2.0


EVENT, LOCAL, LOG = threading.Event(), threading.local(), logging.getLogger(__name__)
LOCAL.scale = 2.0
OBJECT = Scaled()
REFERENCE, SOME = weakref.ref(OBJECT), weakref.WeakSet([OBJECT])
BY_KEY, BY_NAME = weakref.WeakKeyDictionary({EVENT: 2.0}), weakref.WeakValueDictionary(a=OBJECT)
SETTINGS = collections.UserDict(scale=2.0)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * ARGUMENTS.scale,
        lambda x: x * SETTINGS["scale"],
        lambda x: x * (2.0 if os.environ["GNOMON_OF_A_TEST"] else 3.0),
        lambda x: x * float(os.environ.get("GNOMON_OF_NO_TEST", "2.0")),
        lambda x: x * float(os.getenv("GNOMON_OF_NO_TEST", "2.0")),
        lambda x: x * (3.0 if "GNOMON_OF_NO_TEST" in os.environ else 2.0),
        lambda x: x * (2.0 if os.path.expanduser("~") else 3.0),
        lambda x: x * kind_of("a"),
        lambda x: x * kind_of((1,)),
        lambda x: Pair(x, 1.0).first * Pair(x, 1.0).sum,
        lambda x: (Pair(x, 1.0), x * 2)[1],
        lambda x: x * (3.0 if EVENT.is_set() else 2.0),
        lambda x: x * LOCAL.scale * getattr(LOCAL, "other", 1.0),
        lambda x: x * (3.0 if LOG.isEnabledFor(logging.DEBUG) else 2.0),
        quiet,
        lambda x: x * REFERENCE().scale,
        lambda x: x * BY_KEY[EVENT] * len(SOME),
        lambda x: x * BY_NAME["a"].scale,
    ],
    ids=[
        *("argparse", "UserDict", "environ", "get", "getenv", "in environ", "home"),
        *("singledispatch", "an abstract class", "a data class", "one thrown away"),
        *("an event", "a thread's own", "a logger", "warnings"),
        *("a weak reference", "weak keys", "weak values"),
    ],
)
def test_settings_that_stay_are_captured_once(function, monkeypatch):
    monkeypatch.setenv("GNOMON_OF_A_TEST", "set")
    step = gn.compile(function)

    assert [step(gn.ones(1)).item() for _ in range(4)] == [2.0] * 4
    assert sum(map(len, step.programs.values())) == 1


def test_attributes_whose_names_are_no_text():
    settings = collections.UserDict(rate=2.0)
    vars(settings)[3] = 0
    scaled = gn.compile(lambda x: x * settings["rate"])
    assert scaled(gn.ones(1)).tolist() == [2.0]
    settings["rate"] = 3.0
    assert scaled(gn.ones(1)).tolist() == [3.0]


def test_a_guard_keeps_no_object_alive_to_which_weak_references_lead():
    held = [collections.UserDict(a=2.0, parts=[collections.UserDict()])]
    inner, outer = weakref.ref(held[0]["parts"][0]), weakref.ref(held[0])
    scaled = gn.compile(lambda x: x * (5.0 if outer() is None else outer()["a"]))
    assert [scaled(gn.ones(1)).item() for _ in range(3)] == [2.0] * 3
    assert scaled.captures == 1

    held.clear()

    assert (inner(), outer()) == (None, None)
    assert [scaled(gn.ones(1)).item() for _ in range(3)] == [5.0] * 3
    assert scaled.captures == 2
