"""Attacks by state of Python: objects, classes, functions, modes and effects between calls.

Each is a generator that is given a way to compile (attack_harness.py).
"""

from __future__ import annotations

import abc
import contextlib
import copy
import dataclasses
import enum
import functools
import logging
import operator
import os
import pickle
import random
import re
import string
import sys
import threading
import time
import types
import weakref
from collections import ChainMap, Counter, OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Iterator
from contextvars import ContextVar
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

import gnomon as gn
from gnomon import nn
from tests.capture.attack_harness import Attack, Way, tried, turns, x

ATTACKS: list[Attack] = []
Seen = Iterator[Any]


def attack(function: Attack) -> Attack:
    """Add an attack to the list."""
    ATTACKS.append(function)
    return function


class Box:
    """Has attributes."""

    scale = 2.0

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)


def put(place: Any, key: Any, value: Any) -> Any:
    """Change a part of a container, in an expression."""
    return lambda: place.__setitem__(key, value)


def let(owner: Any, **given: Any) -> Any:
    """Change attributes, in an expression."""
    return lambda: [setattr(owner, name, value) for name, value in given.items()]


class Color(enum.Enum):
    """Names without order."""

    RED, BLUE = 1, 2


# modes


@attack
def autocast_is_entered_and_left(way: Way) -> Seen:
    w = gn.ones(2, 2)
    f = way(lambda a: a @ w)
    for on in (False, True, False, True):
        with gn.autocast("cpu", gn.bfloat16, enabled=on):
            yield f(x())


@attack
def autocast_inside_by_a_flag(way: Way) -> Seen:
    w, box = gn.ones(2, 2), Box(on=False)

    def f(a):
        with gn.autocast("cpu", gn.bfloat16, enabled=box.on):
            return a @ w

    yield from turns(way(f), let(box, on=True), let(box, on=False))


@attack
def autocast_to_another_dtype(way: Way) -> Seen:
    w = gn.ones(2, 2)
    f = way(lambda a: a @ w)
    for dtype in (gn.bfloat16, gn.float16, gn.bfloat16):
        with gn.autocast("cpu", dtype):
            yield f(x())


@attack
def autocast_is_asked_for(way: Way) -> Seen:
    f = way(lambda a: a * (2 if gn.is_autocast_enabled("cpu") else 3))
    for on in (False, True, False):
        with gn.autocast("cpu", enabled=on):
            yield f(x())


@attack
def autocast_dtype_is_asked_for(way: Way) -> Seen:
    f = way(lambda a: a.to(gn.get_autocast_dtype("cpu")))
    for dtype in (gn.bfloat16, gn.float16):
        with gn.autocast("cpu", dtype):
            yield f(x())
            yield f(x())


@attack
def gradients_are_switched(way: Way) -> Seen:
    w = gn.ones(2, requires_grad=True)
    f = way(lambda a: a * w)
    for mode in (gn.enable_grad, gn.no_grad, gn.inference_mode, gn.enable_grad):
        with mode():
            yield f(x())


@attack
def gradients_are_switched_for_good(way: Way) -> Seen:
    w = gn.ones(2, requires_grad=True)
    f = way(lambda a: a * w)
    try:
        for on in (True, False, True):
            gn.set_grad_enabled(on)
            yield f(x())
    finally:
        gn.set_grad_enabled(True)


@attack
def a_function_that_switches_gradients_for_good(way: Way) -> Seen:
    w = gn.ones(2, requires_grad=True)

    def f(a):
        gn.set_grad_enabled(False)
        return a * w

    call = way(f)
    try:
        for _ in range(3):
            gn.set_grad_enabled(True)
            yield call(x()), gn.is_grad_enabled()
    finally:
        gn.set_grad_enabled(True)


@attack
def deterministic_algorithms_are_asked_for(way: Way) -> Seen:
    f = way(lambda a: a * (2 if gn.are_deterministic_algorithms_enabled() else 3))
    before = gn.are_deterministic_algorithms_enabled()
    try:
        for on in (False, True, False):
            yield tried(gn.use_deterministic_algorithms, on), f(x())
    finally:
        tried(gn.use_deterministic_algorithms, before)


@attack
def other_settings_are_asked_for(way: Way) -> Seen:
    f = way(lambda a: a * (2 if gn.get_float32_matmul_precision() == "highest" else 3))
    before = gn.get_float32_matmul_precision()
    try:
        for name in ("highest", "high", "highest"):
            yield tried(gn.set_float32_matmul_precision, name), f(x())
    finally:
        gn.set_float32_matmul_precision(before)


@attack
def threads_are_asked_for(way: Way) -> Seen:
    f, before = way(lambda a: a * gn.get_num_threads()), gn.get_num_threads()
    try:
        for count in (1, 2, 1):
            gn.set_num_threads(count)
            yield f(x())
    finally:
        gn.set_num_threads(before)


@attack
def the_default_dtype_is_another(way: Way) -> Seen:
    f = way(lambda a: (gn.zeros(2), gn.tensor(1.5), gn.arange(2.0), gn.get_default_dtype()))
    try:
        for dtype in (gn.float32, gn.float64, gn.float32):
            gn.set_default_dtype(dtype)
            yield f(x())
    finally:
        gn.set_default_dtype(gn.float32)


@attack
def a_function_that_sets_the_default_dtype(way: Way) -> Seen:
    def f(a):
        gn.set_default_dtype(gn.float64)
        return a + gn.ones(2)

    call = way(f)
    try:
        for _ in range(3):
            gn.set_default_dtype(gn.float32)
            yield call(x()), gn.get_default_dtype()
    finally:
        gn.set_default_dtype(gn.float32)


@attack
def the_default_device_is_asked_for(way: Way) -> Seen:
    f = way(lambda a: (a * 2, str(gn.get_default_device()), str(gn.zeros(1).device)))
    try:
        for name in ("cpu", "cpu:0", "cpu"):
            yield tried(gn.set_default_device, name), f(x())
    finally:
        gn.set_default_device(None)


@attack
def seeds_and_states_of_our_generator(way: Way) -> Seen:
    f = way(lambda a: a * gn.rand(2))
    yield f(x())
    gn.manual_seed(3)
    yield f(x())
    state = gn.get_rng_state()
    yield f(x()), f(x())
    gn.set_rng_state(state)
    yield f(x()), gn.rand(1)


@attack
def a_function_that_seeds(way: Way) -> Seen:
    def f(a):
        gn.manual_seed(5)
        return a * gn.rand(2)

    call = way(f)
    for _ in range(3):
        yield call(x()), gn.rand(1)


@attack
def a_function_that_asks_for_the_seed(way: Way) -> Seen:
    f = way(lambda a: a * gn.initial_seed())
    for seed in (1, 2, 2):
        gn.manual_seed(seed)
        yield f(x())


# attributes


@attack
def an_instance_hides_its_class(way: Way) -> Seen:
    box = Box()
    yield from turns(
        way(lambda a: a * box.scale), let(box, scale=3.0), lambda: delattr(box, "scale"), state=box
    )


@attack
def attributes_are_made_up(way: Way) -> Seen:
    class View:
        def __init__(self, inner):
            self.inner = inner

        def __getattr__(self, name):
            return getattr(self.inner, name)

    view = View(Box(rate=3.0))
    yield from turns(
        way(lambda a: a * view.rate), let(view, inner=Box(rate=4.0)), let(view, rate=5.0)
    )


@attack
def all_attributes_are_made_up(way: Way) -> Seen:
    table = {"k": 2.0}

    class View:
        def __getattribute__(self, name):
            return table[name]

    view = View()
    yield from turns(way(lambda a: a * view.k), put(table, "k", 5.0))


@attack
def a_forward_is_replaced(way: Way) -> Seen:
    class M(nn.Module):
        def forward(self, a):
            return a * 2

    m = M()
    yield from turns(
        way(m),
        let(M, forward=lambda self, a: a * 3),
        let(m, forward=lambda a: a * 4),
        lambda: delattr(m, "forward"),
    )


@attack
def a_forward_of_an_inner_module_is_replaced(way: Way) -> Seen:
    m = nn.Sequential(nn.Sequential(nn.Linear(2, 2)), nn.Tanh())
    m[0][0].weight.data.fill_(0.5)
    yield from turns(way(m), let(m[0][0], forward=lambda a: a * 4), let(m[1], forward=gn.exp))


@attack
def properties_change(way: Way) -> Seen:
    class C:
        own = 2.0
        k = property(lambda self: self.own)

    c = C()
    yield from turns(
        way(lambda a: a * c.k), let(c, own=3.0), let(C, k=property(lambda self: self.own * 2))
    )


@attack
def a_descriptor_that_counts(way: Way) -> Seen:
    class Counted:
        def __init__(self):
            self.n = 0

        def __get__(self, owner, kind):
            self.n += 1
            return float(self.n)

    counted = Counted()
    C = type("C", (), {"k": counted})
    c = C()
    yield from turns(way(lambda a: a * c.k), let(counted, n=7), state=counted)


@attack
def a_metaclass_answers(way: Way) -> Seen:
    class Meta(type):
        k = 2.0

        def __getattr__(cls, name):
            return cls.k * 2

        def __instancecheck__(cls, value):
            return cls.k > 2

        def __contains__(cls, value):
            return cls.k > 2

        def __len__(cls):
            return int(cls.k)

    class C(metaclass=Meta):
        pass

    f = way(lambda a: a * C.other + isinstance(3, C) + (3 in C) + len(C))
    yield from turns(f, let(Meta, k=3.0), let(C, k=5.0))


@attack
def slots_of_parents_and_children(way: Way) -> Seen:
    class A:
        __slots__ = ("p",)

    class B(A):
        __slots__ = ("__dict__", "q")

    b = B()
    b.p, b.q, b.r = 1.0, 2.0, 3.0
    yield from turns(
        way(lambda a: a * b.p + b.q * b.r), let(b, p=4.0), let(b, q=5.0), let(b, r=6.0)
    )


@attack
def a_slot_is_emptied(way: Way) -> Seen:
    class A:
        __slots__ = ("p",)

    b = A()
    b.p = 2.0
    yield from turns(
        way(lambda a: a * getattr(b, "p", 5.0)), lambda: delattr(b, "p"), let(b, p=3.0)
    )


@attack
def an_attribute_is_asked_for(way: Way) -> Seen:
    box = Box()
    f = way(lambda a: a * (2 if hasattr(box, "mode") else 3))
    yield from turns(f, let(box, mode=1), lambda: delattr(box, "mode"), let(Box, mode=1))
    del Box.mode


@attack
def vars_of_an_object(way: Way) -> Seen:
    box = Box(v=2.0)
    yield from turns(
        way(lambda a: a * vars(box)["v"] + len(vars(box))), let(box, v=3.0), let(box, w=1.0)
    )


@attack
def dir_of_an_object(way: Way) -> Seen:
    box = Box(v=2.0)
    yield from turns(way(lambda a: a * len(dir(box))), let(box, w=1.0), lambda: delattr(box, "w"))


@attack
def a_name_that_is_made_up(way: Way) -> Seen:
    box, which = Box(ab=2.0, ac=3.0), {"n": "b"}
    f = way(lambda a: a * getattr(box, f"a{which['n']}"))
    yield from turns(f, put(which, "n", "c"), let(box, ac=5.0))


@attack
def getters_of_operator(way: Way) -> Seen:
    box = Box(m=Box(v=2.0), parts=[[1.0, 2.0]])
    deep, item = operator.attrgetter("m.v", "scale"), operator.itemgetter(0, -1)
    call = operator.methodcaller("__len__")

    def f(a):
        return a * deep(box)[0] + deep(box)[1] + sum(map(sum, item(box.parts))) + call(box.parts)

    yield from turns(
        way(f), let(box.m, v=9.0), let(box, scale=3.0), lambda: box.parts[0].append(4.0)
    )


@attack
def a_getter_inside_a_list(way: Way) -> Seen:
    box, getters = Box(v=2.0), [operator.attrgetter("v"), operator.attrgetter("scale")]
    yield from turns(
        way(lambda a: a * sum(g(box) for g in getters)), let(box, v=3.0), let(box, scale=4.0)
    )


@attack
def a_getter_made_of_a_name(way: Way) -> Seen:
    box, names = Box(v=2.0, w=3.0), ["v"]
    f = way(lambda a: a * operator.attrgetter(names[0])(box))
    yield from turns(f, let(box, v=5.0), put(names, 0, "w"), let(box, w=6.0))


# classes


@attack
def a_method_is_replaced(way: Way) -> Seen:
    class C:
        def at(self):
            return 2.0

    c = C()
    yield from turns(way(lambda a: a * c.at()), let(C, at=lambda self: 3.0), let(c, at=lambda: 4.0))


@attack
def a_class_has_other_parents(way: Way) -> Seen:
    class A:
        k = 2.0

    class B:
        k = 3.0

    class C(A):
        pass

    c = C()
    yield from turns(way(lambda a: a * c.k), let(C, __bases__=(B,)), let(B, k=4.0))


@attack
def an_object_changes_its_class(way: Way) -> Seen:
    class A(Box):
        scale = 7.0

    box = Box()
    yield from turns(
        way(lambda a: a * box.scale + isinstance(box, A)), let(box, __class__=A),
        let(box, __class__=Box),
    )  # fmt: skip


@attack
def classes_are_registered_later(way: Way) -> Seen:
    plain, above = type("Plain", (), {}), abc.ABCMeta("Above", (), {})
    one = plain()
    f = way(lambda a: a * (2 if isinstance(one, above) else 3) + issubclass(plain, above))
    yield from turns(f, lambda: above.register(plain))


@attack
def types_are_compared(way: Way) -> Seen:
    box = Box(v=1)
    f = way(lambda a: a * (2 if type(box.v) is int else 3) + isinstance(box.v, (bool, float)))
    yield from turns(f, let(box, v=1.0), let(box, v=True), let(box, v=None))


@attack
def something_becomes_callable(way: Way) -> Seen:
    class C:
        pass

    c = C()
    f = way(lambda a: a * (2 if callable(c) else 3))
    yield from turns(f, let(C, __call__=lambda self: 1), lambda: delattr(C, "__call__"))


@attack
def operators_of_a_wrapper(way: Way) -> Seen:
    class Wrapped:
        def __init__(self, inner, k):
            self.inner, self.k = inner, k

        def __mul__(self, other):
            return Wrapped(self.inner * other * self.k, self.k)

        def __matmul__(self, other):
            return self.inner @ other

        def __rsub__(self, other):
            return other - self.inner

    w = Wrapped(gn.ones(2), 2.0)
    f = way(lambda a: (a - w * 3 @ a, (w * a).inner))
    yield from turns(
        f, let(w, k=3.0), let(w, inner=gn.ones(2) * 5), let(Wrapped, __matmul__=lambda s, o: o)
    )


@attack
def equality_and_hashes_of_users(way: Way) -> Seen:
    class Key:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return self.n == other.n

        def __hash__(self):
            return hash(self.n)

    one, table = Key(1), {Key(1): 2.0, Key(2): 3.0}
    f = way(lambda a: a * table[one] * (5 if one == Key(2) else 1) + (one in {Key(2)}))
    yield from turns(f, let(one, n=2), put(table, Key(2), 7.0))


@attack
def keys_that_hold_objects(way: Way) -> Seen:
    class Mode:
        def __init__(self, n):
            self.n = n

        def __eq__(self, other):
            return self.n == other.n

        def __hash__(self):
            return self.n

    one = Mode(1)
    table = {(Mode(1), 1): 2.0, (Mode(2), 1): 3.0}
    yield from turns(way(lambda a: a * table[one, 1]), let(one, n=2))


@attack
def keys_of_enums(way: Way) -> Seen:
    box = Box(m=Color.RED)
    table = {(Color.RED, 1): 2.0, (Color.BLUE, 1): 3.0}
    f = way(lambda a: a * table[box.m, 1] + (box.m in (Color.RED,)) + len(Color.__members__))
    yield from turns(f, let(box, m=Color.BLUE), put(table, (Color.BLUE, 1), 9.0))


@attack
def orders_by_a_key(way: Way) -> Seen:
    items = [Box(w=3.0), Box(w=1.0), Box(w=2.0)]

    def f(a):
        best = sorted(items, key=lambda b: b.w)[0].w
        return a * best + max(items, key=operator.attrgetter("w")).w

    yield from turns(way(f), let(items[0], w=0.5), let(items[2], w=9.0), items.pop)


@attack
def orders_of_users(way: Way) -> Seen:
    @functools.total_ordering
    class Rank:
        def __init__(self, n):
            self.n = n

        def __lt__(self, other):
            return self.n < other.n

        def __eq__(self, other):
            return self.n == other.n

    ranks = [Rank(3), Rank(1)]
    f = way(lambda a: a * min(ranks).n + (ranks[0] >= ranks[1]) + sorted(ranks)[1].n)
    yield from turns(f, let(ranks[0], n=0), let(ranks[1], n=0))


# containers


@attack
def texts_of_nested_lists(way: Way) -> Seen:
    nested = [[1.0, 2.0], [Box, [3.0]]]
    f = way(lambda a: a * len(str(nested)) + len(f"{nested!r}") + len("%s" % (nested,)))  # noqa: UP031
    yield from turns(f, lambda: nested[1][1].append(5.0), lambda: nested[0].clear())


@attack
def texts_of_objects(way: Way) -> Seen:
    class Shown:
        n = 1

        def __repr__(self):
            return "#" * self.n

        def __format__(self, spec):
            return spec * self.n

    shown = [Shown()]
    f = way(lambda a: a * len(str(shown)) + len(f"{shown[0]:ab}") + len(f"{shown[0]!r}"))
    yield from turns(f, let(shown[0], n=3), let(Shown, __repr__=lambda self: ""))


@attack
def texts_by_templates(way: Way) -> Seen:
    box = Box(name="abc", n=3)
    template = string.Template("$name-$n")

    def f(a):
        text = "{0.name}{1[k]}".format(box, {"k": box.n}) + template.substitute(vars(box))  # noqa: UP030
        return a * len(text) + len(re.sub("a", "aa", box.name))

    yield from turns(
        way(f), let(box, name="aaaa"), let(box, n=100000), let(template, template="$n")
    )


@attack
def sets_and_their_order(way: Way) -> Seen:
    words, frozen = {3.0, 1.0}, Box(s=frozenset({1, 2}))
    f = way(lambda a: a * sum(words) + next(iter(words)) + len(frozen.s | {5}))
    yield from turns(f, lambda: words.add(8.0), lambda: words.discard(1.0), let(frozen, s={1}))


@attack
def membership_length_and_truth(way: Way) -> Seen:
    d, kept = {"a": 1}, []
    f = way(lambda a: a * (2 if "b" in d else 3) * len(d) + (5 if kept else 7) + (not d))
    yield from turns(f, put(d, "b", 1), lambda: kept.append(0), d.clear, kept.clear)


@attack
def views_of_dictionaries(way: Way) -> Seen:
    d = {"a": 1.0, "b": 2.0}
    values, items = d.values(), d.items()

    def f(a):
        return a * sum(values) + sum(len(k) * v for k, v in items) + (next(iter(d)) == "b")

    yield from turns(way(f), put(d, "a", 5.0), put(d, "ccc", 1.0), lambda: d.update(a=d.pop("a")))


@attack
def kinds_of_dictionaries(way: Way) -> Seen:
    base, over = {"a": 1.0}, {}
    chain, order = ChainMap(over, base), OrderedDict(p=1.0, q=2.0)
    missing, count = defaultdict(lambda: base["a"]), Counter("aab")

    def f(a):
        return a * chain["a"] + next(iter(order.values())) + missing.get("z", 4) + count["a"]

    yield from turns(
        way(f), put(base, "a", 2.0), put(over, "a", 3.0), lambda: order.move_to_end("p"),
        put(missing, "z", 8.0), lambda: count.update("aaa"),
    )  # fmt: skip


@attack
def the_order_of_a_dictionary(way: Way) -> Seen:
    order = OrderedDict(p=1.0, q=2.0)
    yield from turns(
        way(lambda a: a * next(iter(order.values()))),
        *(lambda: order.move_to_end("p"), lambda: order.move_to_end("p", last=False)),
    )


@attack
def a_default_that_is_made_inside(way: Way) -> Seen:
    box = Box(k=2.0)
    made = defaultdict(lambda: box.k)
    yield from turns(way(lambda a: a * made["z"]), let(box, k=3.0), made.clear, state=made)


@attack
def functions_over_containers(way: Way) -> Seen:
    p, q = [1.0, 2.0], [3.0, 4.0]

    def f(a):
        zipped = sum(v * w for v, w in zip(p, q, strict=True))
        mapped = sum(map(operator.mul, p, q)) + sum(filter(lambda v: v > 1, p))
        numbered = sum(k * v for k, v in enumerate(q))
        return a * zipped + mapped + numbered + functools.reduce(operator.add, p, 0.0)

    yield from turns(way(f), put(p, 0, 5.0), put(q, 1, 6.0), lambda: (p.append(1.0), q.append(2.0)))


@attack
def deques_and_queues(way: Way) -> Seen:
    d = deque([1.0, 2.0, 3.0], maxlen=3)
    yield from turns(way(lambda a: a * d[0] + d[-1] * 10), lambda: d.append(7.0), d.rotate, d.clear)


@attack
def arrays_of_numpy(way: Way) -> Seen:
    n, scalar = np.array([[1.0, 2.0]], np.float32), Box(s=np.float32(2.0))
    f = way(lambda a: a * float(n[0, 1]) * scalar.s + n.shape[0] + gn.tensor(n[0]) + n.sum())
    yield from turns(
        f, put(n, (0, 1), 5.0), let(scalar, s=np.float64(3.0)), lambda: n.resize((2, 1))
    )


@attack
def parts_of_numpy_arrays(way: Way) -> Seen:
    whole = np.arange(6.0)
    part, box = whole[1:3], Box(n=whole[::2])
    f = way(lambda a: a * float(part.sum()) + float(box.n[1]) + len(box.n))
    yield from turns(f, put(whole, 1, 9.0), put(whole, 2, 5.0), let(box, n=whole[1:]))


@attack
def flags_and_strides_of_numpy(way: Way) -> Seen:
    box = Box(n=np.ones((2, 3)))
    f = way(lambda a: a * box.n.strides[0] + box.n.flags.c_contiguous + box.n.flags.writeable)
    yield from turns(f, let(box, n=np.ones((3, 2)).T), lambda: box.n.setflags(write=False))


@attack
def structured_numpy_and_dates(way: Way) -> Seen:
    n = np.zeros(2, dtype=[("a", "f4"), ("b", "i4")])
    box = Box(day=np.datetime64("2020-01-02"))
    f = way(lambda a: a * float(n["a"][0]) + int(n[1]["b"]) + int(box.day.astype(int)))
    yield from turns(f, put(n["a"], 0, 3.0), put(n["b"], 1, 4), let(box, day=np.datetime64("2021")))


@attack
def a_memory_map_of_bytes(way: Way) -> Seen:
    b = bytearray(b"abc")
    m = memoryview(b)
    f = way(lambda a: a * m[0] + b[1] + len(bytes(b)) + int.from_bytes(m[:2], "big"))
    yield from turns(f, put(b, 0, 1), put(m, 1, 9))


# functions


@attack
def defaults_of_functions(way: Way) -> Seen:
    def g(a, k=2.0, *, j=1.0):
        return a * k + j

    yield from turns(
        way(lambda a: g(a)),
        let(g, __defaults__=(3.0,)), let(g, __kwdefaults__={"j": 5.0}),
        put(g.__kwdefaults__, "j", 5.0), let(g, __defaults__=None),
    )  # fmt: skip


@attack
def defaults_of_the_function_itself(way: Way) -> Seen:
    def g(a, k=2.0, *, j=1.0, many=[1.0]):  # noqa: B006
        return a * k + j + many[0]

    many = g.__kwdefaults__["many"]
    yield from turns(
        way(g), let(g, __defaults__=(3.0,)), put(g.__kwdefaults__, "j", 5.0), put(many, 0, 4.0)
    )


@attack
def a_default_list_that_grows(way: Way) -> Seen:
    def g(a, met=[]):  # noqa: B006
        met.append(len(met))
        return a * len(met)

    yield from turns(way(g), g.__defaults__[0].clear, state=g.__defaults__)


@attack
def code_is_replaced(way: Way) -> Seen:
    def g(a):
        return a * 2

    yield from turns(
        way(lambda a: g(a)), let(g, __code__=(lambda a: a * 3).__code__),
        let(g, __code__=(lambda a: a - 1).__code__),
    )  # fmt: skip


@attack
def code_of_the_function_itself_is_replaced(way: Way) -> Seen:
    def g(a):
        return a * 2

    yield from turns(way(g), let(g, __code__=(lambda a: a * 3).__code__))


@attack
def what_is_wrapped_is_replaced(way: Way) -> Seen:
    def twice(f):
        @functools.wraps(f)
        def run(*args):
            return run.__wrapped__(*args) * 2

        return run

    @twice
    def g(a):
        return a + 1

    yield from turns(way(g), let(g, __wrapped__=lambda a: a + 5))
    yield from turns(way(lambda a: g(a)), let(g, __wrapped__=lambda a: a + 7))


@attack
def partial_functions(way: Way) -> Seen:
    box = Box(k=2.0)
    p = functools.partial(lambda a, b, j=1.0: a * b.k + j, b=box)
    yield from turns(
        way(lambda a: p(a)), let(box, k=3.0), put(p.keywords, "j", 4.0),
        lambda: p.__setstate__((lambda a, **_: a, (), {}, {})),
    )  # fmt: skip


@attack
def a_partial_function_itself(way: Way) -> Seen:
    box = Box(k=2.0)
    p = functools.partial(lambda b, a, j=1.0: a * b.k + j, box)
    yield from turns(way(p), let(box, k=3.0), put(p.keywords, "j", 4.0))


@attack
def cached_functions(way: Way) -> Seen:
    box = Box(k=2.0)

    @functools.lru_cache(maxsize=2)
    def g(n):
        return n * box.k

    yield from turns(way(lambda a: a * g(3)), let(box, k=9.0), g.cache_clear, lambda: (g(1), g(2)))


@attack
def a_cache_that_is_asked(way: Way) -> Seen:
    @functools.cache
    def g(n):
        return n * 2.0

    f = way(lambda a: a * g(3) + g.cache_info().hits)
    yield from turns(f, lambda: g(3), g.cache_clear)


@attack
def cached_properties_and_methods(way: Way) -> Seen:
    class C:
        own = 2.0

        @functools.cached_property
        def k(self):
            return self.own

        at = functools.partialmethod(lambda self, n: self.own * n, 3)

        @functools.singledispatchmethod
        def of(self, v):
            return 1.0

    c = C()
    f = way(lambda a: a * c.k + c.at() + c.of(1))
    yield from turns(
        f, let(C, own=5.0), lambda: vars(c).clear(), lambda: C.of.register(int, lambda s, v: 9.0)
    )


@attack
def functions_of_one_name(way: Way) -> Seen:
    @functools.singledispatch
    def g(v):
        return 2.0

    box = Box(v=1)
    f = way(lambda a: a * g(box.v))
    yield from turns(
        f, lambda: g.register(float, lambda v: 3.0), let(box, v=1.0),
        lambda: g.register(float, lambda v: 4.0),
    )  # fmt: skip


@attack
def closures_are_rebound(way: Way) -> Seen:
    k, inner = 2.0, [1.0]

    def bump():
        nonlocal k
        k += 1

    def rebind():
        nonlocal inner
        inner = [5.0]

    yield from turns(way(lambda a: a * k + inner[0]), bump, rebind, bump)


@attack
def a_cell_is_emptied(way: Way) -> Seen:
    k = 2.0

    def f(a):
        try:
            return a * k
        except NameError:
            return a

    call, cell = way(f), f.__closure__[0]
    yield call(x()), call(x())
    del cell.cell_contents
    yield call(x()), call(x())
    cell.cell_contents = 4.0
    yield call(x()), call(x())
    k = 3.0
    yield call(x()), k


@attack
def a_counter_in_a_closure(way: Way) -> Seen:
    n = 0

    def f(a):
        nonlocal n
        n += 1
        return a * n

    call = way(f)
    for _ in range(4):
        yield call(x()), n
    n = 10
    yield call(x()), n


# values of standard classes


@attack
def data_classes(way: Way) -> Seen:
    @dataclasses.dataclass
    class P:
        k: float = 2.0
        many: list = dataclasses.field(default_factory=lambda: [1.0])

    @dataclasses.dataclass(frozen=True, slots=True)
    class Q:
        k: float = 3.0

    p, q = P(), Q()
    f = way(lambda a: a * p.k + p.many[0] + q.k + (p == P()) + P().k + len(dataclasses.fields(p)))
    yield from turns(
        f, let(p, k=4.0), put(p.many, 0, 5.0), lambda: object.__setattr__(q, "k", 6.0),
        let(P.__init__, __defaults__=(8.0, *P.__init__.__defaults__[1:])),
    )  # fmt: skip


@attack
def data_classes_as_results(way: Way) -> Seen:
    @dataclasses.dataclass(frozen=True)
    class Q:
        y: Any
        tags: tuple = ()

    box = Box(tags=("a",))
    yield from turns(way(lambda a: Q(a * 2, box.tags)), let(box, tags=("b", "c")))


@attack
def values_of_standard_classes(way: Way) -> Seen:
    box = Box(f=Fraction(1, 2), d=Decimal("1.5"), r=range(3), s=slice(0, 1), c=1 + 2j, b=b"ab")

    def f(a):
        return a[box.s] * float(box.f) + float(box.d) + sum(box.r) + box.c.imag + len(box.b)

    yield from turns(
        way(f), let(box, f=Fraction(3, 2)), let(box, d=Decimal("2.5")), let(box, r=range(5)),
        let(box, s=slice(1, 2)), let(box, c=1 + 5j), let(box, b=b"abc"),
    )  # fmt: skip


@attack
def named_tuples(way: Way) -> Seen:
    class N(NamedTuple):
        k: float
        t: Any = None

    M = namedtuple("M", "p q", defaults=(7.0,))
    box = Box(n=N(2.0, gn.ones(2)), m=M(1.0))
    yield from turns(
        way(lambda a: (a * box.n.k + box.n.t, box.m._replace(p=3.0), box.n)),
        let(box, n=N(3.0, gn.ones(2) * 4)), let(box, m=M(1.0, 2.0)), let(M, extra=1),
    )  # fmt: skip


@attack
def copies_of_objects(way: Way) -> Seen:
    class C(Box):
        def __deepcopy__(self, memo):
            return C(v=self.v * 2)

    box = Box(inner=C(v=2.0), parts=[1.0])

    def f(a):
        one, two = copy.copy(box), copy.deepcopy(box)
        return a * one.parts[0] + two.inner.v, two

    yield from turns(way(f), let(box.inner, v=3.0), put(box.parts, 0, 4.0))


@attack
def copies_of_modules(way: Way) -> Seen:
    m = nn.Linear(2, 2, bias=False)
    m.weight.data.fill_(0.5)
    f = way(lambda a: copy.deepcopy(m)(a))
    yield from turns(f, lambda: m.weight.data.fill_(2.0), let(m, extra=1))


@attack
def copies_of_tensors(way: Way) -> Seen:
    w = gn.ones(2)
    yield from turns(way(lambda a: (copy.deepcopy(w) * a, copy.copy(w))), lambda: w.fill_(3))


@attack
def pickled_objects(way: Way) -> Seen:
    parts = {"a": [1.0, 2.0]}
    f = way(lambda a: a * pickle.loads(pickle.dumps(parts))["a"][0])
    yield from turns(f, put(parts["a"], 0, 3.0))


@attack
def weak_references(way: Way) -> Seen:
    box = Box(v=2.0)
    one, kept = weakref.ref(box), weakref.WeakValueDictionary(a=box)
    f = way(lambda a: a * (one().v if one() else 9.0) + len(kept) + weakref.proxy(box).scale)
    yield from turns(f, let(box, v=3.0), let(box, scale=5.0))


@attack
def a_weak_reference_that_dies(way: Way) -> Seen:
    boxes = [Box(v=2.0)]
    one = weakref.ref(boxes[0])
    kept = weakref.WeakSet(boxes)
    yield from turns(way(lambda a: a * (3 if one() is None else 4) + len(kept)), boxes.clear)


@attack
def variables_of_contexts_and_threads(way: Way) -> Seen:
    variable, local = ContextVar("variable", default=2.0), threading.local()
    local.v = 3.0
    f = way(lambda a: a * variable.get() + local.v)
    yield from turns(f, lambda: variable.set(5.0), let(local, v=6.0))


@attack
def a_mutable_value_in_a_context(way: Way) -> Seen:
    variable = ContextVar("variable")
    variable.set([2.0])
    yield from turns(way(lambda a: a * variable.get()[0]), put(variable.get(), 0, 5.0))


@attack
def the_environment(way: Way) -> Seen:
    os.environ["GNOMON_ATTACK"] = "2"
    try:
        f = way(lambda a: a * float(os.environ["GNOMON_ATTACK"]) + ("GNOMON_OTHER" in os.environ))
        yield from turns(
            f, put(os.environ, "GNOMON_ATTACK", "3"), put(os.environ, "GNOMON_OTHER", "")
        )
    finally:
        os.environ.pop("GNOMON_ATTACK")
        os.environ.pop("GNOMON_OTHER", None)


@attack
def generators_and_iterators_across_calls(way: Way) -> Seen:
    def each():
        k = 0.0
        while True:
            k += 1
            yield k

    made, kept, pairs = (
        each(),
        iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        zip(range(9), range(9), strict=True),
    )
    f = way(lambda a: a * next(made) + next(kept) + next(pairs)[0])
    yield from turns(f, lambda: next(made), lambda: next(kept))


@attack
def an_exhausted_iterator(way: Way) -> Seen:
    kept = map(float, [1, 2, 3])
    call = way(lambda a: a * next(kept, 7.0) + sum(kept))
    for _ in range(3):
        yield call(x())


@attack
def a_generator_that_reads(way: Way) -> Seen:
    parts = [2.0, 3.0]

    def each():
        for part in parts:
            yield part * 2

    def f(a):
        for part in each():
            a = a * part
        return a

    yield from turns(way(f), lambda: parts.append(4.0), put(parts, 0, 5.0))


# effects


@attack
def printing(way: Way) -> Seen:
    def f(a):
        print("turn")
        return a * 2

    yield from turns(way(f))


@attack
def printing_of_values(way: Way) -> Seen:
    def f(a):
        print("sum", a.sum().item(), end="!\n", file=sys.stderr)
        return a * 2

    yield from turns(way(f))


@attack
def logging_lines(way: Way) -> Seen:
    log = logging.getLogger("attacks")
    log.propagate, kept = False, []

    class Kept(logging.Handler):
        def emit(self, record):
            kept.append(record.getMessage())

    log.handlers[:] = [Kept()]

    def f(a):
        log.warning("turn %s", len(kept))
        return a * (2 if log.isEnabledFor(logging.INFO) else 3)

    yield from turns(way(f), lambda: log.setLevel(logging.INFO), state=kept)
    log.setLevel(logging.NOTSET)


@attack
def clocks(way: Way) -> Seen:
    times = []

    def f(a):
        times.append(time.time())
        return a * (time.monotonic_ns() > 0)

    for _ in turns(way(f)):
        yield len(set(times)), times == sorted(times)


@attack
def numbers_drawn_by_python(way: Way) -> Seen:
    random.seed(3)
    np.random.seed(3)
    own = random.Random(4)
    rng = np.random.default_rng(5)

    def f(a):
        return a * random.random() + np.random.rand() + own.random() + float(rng.random())

    yield from turns(way(f), lambda: random.seed(3), lambda: own.seed(9))


@attack
def files(way: Way) -> Seen:
    read, write = os.pipe()
    os.set_blocking(read, False)

    def f(a):
        os.write(write, b"x")
        return a

    call = way(f)
    for _ in range(3):
        yield call(x()), tried(os.read, read, 10)
    os.close(read)
    os.close(write)


@attack
def errors_that_are_swallowed(way: Way) -> Seen:
    w = gn.ones(2)

    def f(a):
        with contextlib.suppress(Exception):
            w.requires_grad_()
        try:
            return a * 2 if a.sum().item() > 0 else a * 3
        except:  # noqa: E722
            return a * 5

    call = way(f)
    yield tried(call, x()), w.requires_grad
    yield tried(call, -x()), w.requires_grad


@attack
def an_own_error_that_is_swallowed(way: Way) -> Seen:
    box = Box(on=True)

    def f(a):
        try:
            if box.on:
                raise ValueError("on")
            return a
        except ValueError as error:
            return a * len(str(error))
        finally:
            box.done = True

    yield from turns(way(f), let(box, on=False), let(box, done=False), state=box)


@attack
def errors_raised(way: Way) -> Seen:
    box, log = Box(n=1), []

    def f(a):
        log.append(box.n)
        box.kept = a * 2
        if box.n > 2:
            raise KeyError(box.n)
        return a * box.n

    call = way(f)
    for n in (1, 3, 3, 2, 4):
        box.n = n
        yield tried(call, x()), log, box.kept


@attack
def a_loss_kept_in_an_attribute(way: Way) -> Seen:
    box, w = Box(), gn.ones(2, requires_grad=True)

    def f(a):
        box.loss = (a * w).sum()
        return box.loss * 2

    call = way(f)
    for _ in range(3):
        w.grad = None
        result = call(x())
        result.backward(retain_graph=True)
        box.loss.backward()
        yield result.detach(), w.grad, tried(box.loss.backward).__class__.__name__


@attack
def globals_are_rebound_and_deleted(way: Way) -> Seen:
    space: dict[str, Any] = {"k": 2.0}
    exec("def f(x): return x * k + abs(-1.0)", space)
    f = way(space["f"])
    yield from turns(
        f, put(space, "k", 3.0), put(space, "abs", lambda v: 9.0), lambda: space.pop("abs")
    )
    del space["k"]
    yield str(tried(f, x()))


@attack
def functions_of_other_files_are_replaced(way: Way) -> Seen:
    other = types.ModuleType("attack_other")
    exec("k = 2.0\ndef g(a): return a * k", vars(other))
    sys.modules["attack_other"] = other

    def f(a):
        return sys.modules["attack_other"].g(a)

    def g(a):
        return other.g(a)

    try:
        for call in (way(f), way(g)):
            yield from turns(
                call, let(other, k=3.0), let(other, g=lambda a: a + 1), let(other, k=5.0)
            )
            exec("k = 2.0\ndef g(a): return a * k", vars(other))
            yield from turns(call)
        yield from turns(
            way(f), put(sys.modules, "attack_other", types.SimpleNamespace(g=lambda a: a - 9))
        )
    finally:
        del sys.modules["attack_other"]


@attack
def identities(way: Way) -> Seen:
    box = Box(p=[1.0], q=[1.0])
    known = {id(box.p): 2.0}
    f = way(lambda a: a * (3 if box.p is box.q else 4) + known.get(id(box.p), 7.0))
    yield from turns(f, lambda: setattr(box, "q", box.p), let(box, p=[1.0]))


@attack
def singletons_and_sentinels(way: Way) -> Seen:
    none = object()
    box = Box(v=none)
    f = way(lambda a: a * (2 if box.v is none else 3) + (box.v is None) + (box.v is Ellipsis))
    yield from turns(f, let(box, v=None), let(box, v=object()), let(box, v=...), let(box, v=none))


@attack
def frames_and_locals(way: Way) -> Seen:
    box = Box(v=2.0)

    def f(a):
        k = box.v
        return a * locals()["k"] + len(sys._getframe().f_locals) + eval("k")

    yield from turns(way(f), let(box, v=3.0))


@attack
def star_arguments(way: Way) -> Seen:
    args, named = [2.0], {"k": 1.0}

    def g(a, *rest, **words):
        return a * sum(rest) + sum(words.values())

    yield from turns(
        way(lambda a: g(a, *args, **named)), lambda: args.append(3.0), put(named, "j", 4.0)
    )


@attack
def a_match_statement(way: Way) -> Seen:
    box = Box(v={"kind": "a", "n": 2.0})

    def f(a):
        match box.v:
            case {"kind": "a", "n": n}:
                return a * n
            case [n, *_]:
                return a + n
            case Box(scale=k):
                return a - k
            case _:
                return a

    yield from turns(
        way(f), put(box.v, "n", 3.0), put(box.v, "kind", "b"), let(box, v=[4.0, 1]),
        let(box, v=Box()), lambda: setattr(box.v, "scale", 9.0),
    )  # fmt: skip


@attack
def context_managers(way: Way) -> Seen:
    log, box = [], Box(k=2.0)

    @contextlib.contextmanager
    def scope(name):
        log.append(name)
        yield box.k
        log.append("out")

    def f(a):
        with contextlib.ExitStack() as stack:
            k = stack.enter_context(scope("in"))
            stack.callback(log.append, "last")
            return a * k

    yield from turns(way(f), let(box, k=3.0), state=log)
