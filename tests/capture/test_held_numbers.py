"""Numbers that vary, in whatever somebody holds when their capture is over."""

from __future__ import annotations

import gc
import json
import pickle
from collections import ChainMap, OrderedDict, UserList, defaultdict, deque, namedtuple
from dataclasses import dataclass
from functools import lru_cache, partial
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.capture.held_numbers import put_in_slots, replace_held

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def older(monkeypatch):
    """Leave what is older than a test frozen: all of it would be searched for holders each time.

    That a capture finds holders that somebody froze is in test_varying.py.
    """
    gc.freeze()
    monkeypatch.setattr(gc, "unfreeze", lambda: None)


Pair = namedtuple("Pair", "rows name")


@dataclass(frozen=True)
class Frozen:
    """Holds a number for good."""

    rows: Any


@dataclass(frozen=True, slots=True)
class Slotted:
    """The same in a slot."""

    rows: Any


class Listed(list):
    """A list with attributes."""


class Shaped(tuple):
    """A tuple with attributes."""


def listed(n: Any) -> Listed:
    made = Listed([n])
    made.rows = n
    return made


def shaped(n: Any) -> Shaped:
    made = Shaped((n, 2))
    made.rows = n
    return made


def closed(n: Any) -> Any:
    return lambda: n


HOLDERS = {
    "number": lambda n: n,
    "list": lambda n: [n, [n]],
    "tuple": lambda n: (n, 2),
    "nested": lambda n: (((n,), 2), [(n, (n, n))]),
    "namedtuple": lambda n: Pair(n, "x"),
    "class of tuples": shaped,
    "class of lists": listed,
    "set": lambda n: {n, 2},
    "frozenset": lambda n: (frozenset({n, 2}), {frozenset({n}): n}),
    "deque": lambda n: deque([n, (n, 2)], maxlen=3),
    "key": lambda n: {"a": 1, n: "b", "c": 2},
    "key of a tuple": lambda n: {(n, 2): (n, 2)},
    "ordered": lambda n: OrderedDict([(n, 1), ("b", (n,))]),
    "default": lambda n: defaultdict(list, {n: [n]}),
    "frozen": lambda n: Frozen((n, 2)),
    "slotted": lambda n: [Slotted(n), Slotted((n, 2))],
    "namespace": lambda n: SimpleNamespace(rows=n, shape=(n, 2)),
    "proxy": lambda n: dict(MappingProxyType({"rows": (n, n)})),
    "others": lambda n: [UserList([n]).data, ChainMap({"rows": n}).maps],
    "slice": lambda n: [slice(0, n), (slice(n), range(n))],
}


def told(value: Any) -> Any:
    """A value as text and bytes: types of numbers show in them."""
    return repr(value), pickle.dumps(value)


@pytest.mark.parametrize("name", HOLDERS)
def test_nothing_varies_afterwards(name: str):
    hold, box = HOLDERS[name], SimpleNamespace(kept=None, least=3)

    def keeping(x: gn.Tensor) -> gn.Tensor:
        if x.shape[0] > box.least + 5:  # from the fifth call on, captured for all sizes
            box.least, box.kept = x.shape[0], hold(x.shape[0])
        return x * 2

    compiled = gn.compile(keeping, dynamic=True)
    for n in (3, 4, 5, 6, 20):
        compiled(gn.ones(n, 2))
    assert type(box.least) is int
    assert box.kept == hold(20)
    assert told(box.kept) == told(hold(20))


def test_a_shape_that_is_kept_is_a_shape():
    box = SimpleNamespace(least=3, kept=None, asked=None)

    def keeping(x: gn.Tensor) -> gn.Tensor:
        if x.shape[0] > box.least + 5:
            box.least, box.kept = x.shape[0], x.shape
            box.asked = closed(x.shape[0] * 2), partial(max, x.shape[0])
        return x * 2

    compiled = gn.compile(keeping, dynamic=True)
    for n in (3, 4, 5, 6, 20):
        compiled(gn.ones(n, 2))
    assert type(box.kept) is gn.Size
    assert [*map(type, box.kept)] == [int, int]
    assert (box.kept, box.kept.numel(), json.dumps(box.kept)) == ((20, 2), 40, "[20, 2]")
    assert (type(box.asked[0]()), box.asked[0](), box.asked[1](3)) == (int, 40, 20)


def test_numbers_that_vary_too():
    box = SimpleNamespace(kept=None)

    @gn.compile
    def step(x, rate):
        if x.sum() > 2:
            box.kept = (rate, {"rate": (rate * 2, frozenset([rate]))})
        return x * rate

    for rate, k in ((0.5, 1.0), (0.25, 1.0), (0.125, 2.0), (0.75, 2.0)):
        assert step(gn.ones(2) * k, rate).tolist() == [rate * k] * 2
    assert told(box.kept) == told((0.75, {"rate": (1.5, frozenset([0.75]))}))


def test_what_a_table_keeps_answers_for_the_number():
    @lru_cache
    def doubled(n: int) -> tuple[int, int]:
        return n * 2, n

    box = SimpleNamespace(least=3)

    def asking(x: gn.Tensor) -> gn.Tensor:
        if x.shape[0] > box.least + 5:
            box.least = x.shape[0]
            return x * doubled(x.shape[0])[0]
        return x

    compiled = gn.compile(asking, dynamic=True)
    for n in (3, 4, 5, 6, 20):
        compiled(gn.ones(n, 2))
    assert doubled(20) == (40, 20)
    assert json.dumps(doubled(20)) == "[40, 20]"
    assert compiled(gn.ones(20, 2)).tolist() == np.ones((20, 2)).tolist()


def test_attributes_of_classes():
    class Settings:
        rows: Any = 3

    def keeping(x: gn.Tensor) -> gn.Tensor:
        if x.shape[0] > 9:
            assert Settings.rows == 3
            Settings.rows = x.shape[0]
        return x * 2

    compiled = gn.compile(keeping, dynamic=True)
    for n in (3, 4, 5, 6, 20):
        compiled(gn.ones(n, 2))
    assert (type(Settings.rows), Settings.rows) == (int, 20)
    assert Settings().rows == 20


class Number:
    """What gives way."""


def test_replace_held():
    old, other = Number(), Number()
    inner = (old, other, 3)
    holders = [inner, {inner: old}, {old}, deque([old]), [old, other]]
    replace_held([old, other], [1, 2])
    assert holders == [(1, 2, 3), {(1, 2, 3): 1}, {1}, deque([1]), [1, 2]]


class Watchful:
    """Answers for itself, and minds every question and every write."""

    __slots__ = ("_held", "_other")

    @property
    def __class__(self):
        raise RuntimeError("asked for its class")

    @__class__.setter
    def __class__(self, kind):
        raise RuntimeError("given a class")

    def __getattr__(self, name):
        raise RuntimeError(f"asked for {name}")


def test_what_answers_for_itself_is_not_asked():
    old, holder = Number(), Watchful()
    holder._held, holder._other = old, "stays"
    replace_held([old], [1])
    assert (holder._held, holder._other) == (1, "stays")


class MeanwhileWritten(dict):
    """Values in place of others; a slot of a holder is written to whenever they are asked for."""

    def __init__(self, holder: Any, old: Any) -> None:
        super().__init__({id(old): 1})
        self.holder = holder

    def __contains__(self, key: object) -> bool:
        self.holder._other = "new"
        return super().__contains__(key)

    def get(self, key: int, default: Any = None) -> Any:
        self.holder._other = "new"
        return super().get(key, default)


def test_slots_that_hold_something_else_are_not_written():
    old, holder = Number(), Watchful()
    holder._held, holder._other = old, "stays"
    put_in_slots(holder, MeanwhileWritten(holder, old))
    assert (holder._held, holder._other) == (1, "new")


def test_holders_that_hold_each_other():
    old = Number()
    around: list[Any] = []
    pair = (old, around)
    around.append(pair)
    replace_held([old], [1])
    assert around[0][0] == 1
    assert around[0][1] is around
    gc.collect()
