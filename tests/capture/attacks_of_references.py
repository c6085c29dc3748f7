"""Attacks by weak references: objects that nothing else leads to change, are replaced, or die.

Each is a generator that is given a way to compile (attack_harness.py).
"""

from __future__ import annotations

import functools
import os
import re
import threading
import types
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

import gnomon as gn
from gnomon import nn
from tests.capture.attack_harness import Attack, Way, turns, x
from tests.capture.attacks import Box, let, put

ATTACKS: list[Attack] = []
Seen = Iterator[Any]


def attack(function: Attack) -> Attack:
    """Add an attack to the list."""
    ATTACKS.append(function)
    return function


class Node:
    """An object with slots and with attributes."""

    __slots__ = ("__dict__", "__weakref__", "k")
    v = 2.0

    def __init__(self, **given: Any) -> None:
        for name, value in given.items():
            setattr(self, name, value)

    def at(self) -> float:
        """A number of its own."""
        return self.v + len(vars(self))

    def __call__(self) -> float:
        return self.at() * 2


@attack
def an_object_changes_in_many_ways_and_dies(way: Way) -> Seen:
    node = Node(k=3.0, v=2.0, parts=[1.0], box=types.SimpleNamespace(k=2.0), one=np.float32(2))
    node.child, node.many, node.told = Node(v=5.0), np.ones(2), re.compile("a")
    node.child.above = node.box.back = weakref.ref(node)
    node.parts.append(node.child)
    node.make = functools.partial(type(node), v=node.child)
    held, seen = [node], [weakref.ref(node), weakref.ref(node.child)]
    one = weakref.ref(node)
    del node

    def f(a):
        node = one()
        if node is None:
            return a * 100
        deep = node.box.back().v + node.child.above().child.v + node.make().v.v
        return a * node.v * node.k + deep + len(node.parts) + node.parts[0] + node.box.k + (
            float(node.one) * float(node.many[0]) + len(node.told.pattern)
        )  # fmt: skip

    def change(**given: Any):
        return lambda: [setattr(held[0], name, value) for name, value in given.items()]

    yield from turns(
        way(f), change(v=3.0), change(k=5.0), lambda: held[0].parts.append(1),
        lambda: setattr(held[0].box, "k", 7.0), lambda: setattr(held[0].child, "v", 7.0),
        change(one=np.float32(5)), lambda: held[0].many.fill(3), change(told=re.compile("abc")),
        change(child=Node(v=1.0, above=one)), change(__class__=type("Other", (Node,), {})),
    )  # fmt: skip
    call = way(f)
    yield call(x()), [each() is None for each in seen]
    held.clear()
    yield call(x()), [each() is None for each in seen], call(x())


@attack
def numbers_that_get_each_others_memory(way: Way) -> Seen:
    held = [Node(one=np.float32(1))]
    node = weakref.ref(held[0])

    def again(k: int):
        def change():
            for value in (k + 1, k + 2, k):
                held[0].one = np.float32(value)

        return change

    f = way(lambda a: a * float(node().one) + len(node().told))
    held[0].told = {}
    yield from turns(f, *map(again, range(2, 9)))


@attack
def code_that_gets_others_memory(way: Way) -> Seen:
    held = [Node()]
    node = weakref.ref(held[0])

    def other(k: int):
        def change():
            names: dict[str, Any] = {}
            exec(f"def g(): return {k}.0", names)
            held[0].g = names["g"]

        return change

    other(1)()
    yield from turns(way(lambda a: a * node().g()), *map(other, range(2, 9)))


@attack
def methods_of_an_object(way: Way) -> Seen:
    class Below(Node):
        pass

    node = Below(v=3.0)
    one, method = weakref.ref(node), weakref.WeakMethod(node.at)
    f = way(lambda a: a * one().at() + one()() + method()())
    yield from turns(
        f, let(node, v=7.0), let(Below, at=lambda self: 9.0), let(node, at=lambda: 11.0),
        lambda: vars(node).clear(), let(Below, v=13.0), let(Below, __call__=lambda self: 17.0),
        let(node, __class__=type("Other", (Node,), {"v": 19.0})),
    )  # fmt: skip


@attack
def another_object_of_the_same_values(way: Way) -> Seen:
    held = [Node(v=2.0)]
    box = Box(one=weakref.ref(held[0]))

    def another(more: float):
        def change():
            held[:] = [Node(v=held[0].v + more)]
            box.one = weakref.ref(held[0])

        return change

    f = way(lambda a: a * (50.0 if box.one() is None else box.one().v))
    yield from turns(f, another(0), another(1), another(0), another(2), held.clear)


@attack
def what_a_function_writes_to_an_object(way: Way) -> Seen:
    node = Node(n=0)
    one = weakref.ref(node)

    def f(a):
        one().n += 1
        if getattr(one(), "first", None) is None:
            one().first = a * 2
        return a * one().n + one().first

    def g(a):
        one().last = a * 3
        return a * 2

    yield from turns(way(f), let(node, n=9), lambda: delattr(node, "first"), state=vars(node))
    call = way(g)
    for k in range(4):
        yield call(x() + k), node.last


@attack
def tables_by_weak_keys_and_values(way: Way) -> Seen:
    keys = [Node(n=0), Node(n=1)]
    box = Box(key=keys[0])
    by_key, by_name = weakref.WeakKeyDictionary({keys[0]: 2.0}), weakref.WeakValueDictionary()
    some = weakref.WeakSet(keys[:1])
    by_name["a"] = keys[0]

    def f(a):
        found = by_key.get(box.key, 7.0) + len(by_key) + sum(by_key.values())
        return a * found + by_name["a"].n + ("b" in by_name) + (box.key in some) + len(some)

    yield from turns(
        way(f), put(by_key, keys[0], 3.0), let(box, key=keys[1]), put(by_key, keys[1], 11.0),
        let(keys[0], n=9), put(by_name, "a", keys[1]), lambda: some.add(keys[1]),
        put(by_name, "b", keys[1]), lambda: some.discard(keys[0]), lambda: by_key.pop(keys[0]),
    )  # fmt: skip


@attack
def keys_and_values_that_die(way: Way) -> Seen:
    keys = [Node(n=k) for k in range(3)]
    by_key, by_name = weakref.WeakKeyDictionary(), weakref.WeakValueDictionary()
    by_key.update((key, 2.0 + key.n) for key in keys)
    by_name.update((str(key.n), key) for key in keys)
    some = weakref.WeakSet(keys)
    f = way(lambda a: a * sum(by_key.values()) + len(by_name) * 7 + sum(k.n for k in some))
    yield from turns(f, keys.pop, let(keys[0], n=5), keys.clear)


@attack
def a_module_above(way: Way) -> Seen:
    class Inner(nn.Module):
        def __init__(self, above):
            super().__init__()
            self.above = weakref.ref(above)

        def forward(self, a):
            return a * self.above().k * self.above().w

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.k, self.w = 2.0, nn.Parameter(gn.ones(2))
            self.inner = Inner(self)

        def forward(self, a):
            return self.inner(a)

    def changes():
        return let(outer, k=3.0), lambda: outer.w.data.fill_(2.0), let(outer, k=4.0)

    outer = Outer()
    yield from turns(way(outer), *changes())
    outer = Outer()
    yield from turns(way(outer.inner), *changes())


@attack
def other_things_that_are_held_weakly(way: Way) -> Seen:
    class Kind:
        k = 2.0

    class Many(set):
        pass

    def g():
        return box.v

    box, many, row, tensor, event = Box(v=2.0), Many([1]), np.ones(2), gn.ones(2), threading.Event()
    refs = [weakref.ref(each) for each in (Kind, g, many, row, tensor, event, os.environ)]

    def f(a):
        kind, function, some, numbers, t, gate, environ = [ref() for ref in refs]
        total = kind.k + kind().k + function() + sum(some) + float(numbers[0])
        return a * total * t + gate.is_set() + float(environ.get("GNOMON_ATTACK", "3"))

    try:
        yield from turns(
            way(f), let(Kind, k=3.0), let(box, v=5.0), lambda: many.add(7), lambda: row.fill(9),
            lambda: tensor.fill_(2), event.set, put(os.environ, "GNOMON_ATTACK", "5"),
        )  # fmt: skip
    finally:
        os.environ.pop("GNOMON_ATTACK", None)
    yield from turns(
        way(lambda a: a * refs[0]().k + refs[1]()()), let(Kind, k=7.0), let(box, v=8.0)
    )
    yield from turns(way(lambda a: a * sum(refs[2]()) + refs[3]()[0]), lambda: many.add(11))
    yield from turns(way(lambda a: a + float(refs[3]()[0])), lambda: row.fill(13))


@attack
def a_threads_own_attributes_held_weakly(way: Way) -> Seen:
    class Local(threading.local):
        pass

    def elsewhere():
        local.v = 7.0
        log.append((f(x()), f(x())))

    def in_another_thread():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()

    local, log = Local(), []
    local.v = 2.0
    one = weakref.ref(local)
    f = way(lambda a: a * one().v)
    yield from turns(f, let(local, v=5.0), in_another_thread, let(local, v=7.0), state=log)
