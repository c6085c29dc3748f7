"""Attacks by Python's library: functions in C that read deeper than code says, under other names.

Each is a generator that is given a way to compile (attack_harness.py).
"""

from __future__ import annotations

import abc
import argparse
import array
import asyncio
import bisect
import builtins
import concurrent.futures
import configparser
import contextlib
import copy
import ctypes
import dataclasses
import decimal
import enum
import functools
import heapq
import importlib
import inspect
import itertools
import json
import logging
import math
import operator
import os
import queue
import random
import statistics
import string
import struct
import sys
import tempfile
import threading
import types
import typing
import unittest.mock
import warnings
import weakref
from collections import ChainMap, UserDict, UserList
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

import gnomon as gn
from tests.capture.attack_harness import Attack, Way, tried, turns, x
from tests.capture.attacks import Box, let, put

ATTACKS: list[Attack] = []
Seen = Iterator[Any]
pick, every, getter = getattr, vars, operator.attrgetter
"""Names that say nothing of what they are."""


def attack(function: Attack) -> Attack:
    """Add an attack to the list."""
    ATTACKS.append(function)
    return function


@attack
def getattr_by_another_name(way: Way) -> Seen:
    box, names = Box(v=2.0, w=5.0), ["v"]
    yield from turns(
        way(lambda a: a * pick(box, names[0])), let(box, v=3.0), put(names, 0, "w"), let(box, w=9.0)
    )


@attack
def vars_by_another_name(way: Way) -> Seen:
    box = Box(v=2.0)
    f = way(lambda a: a * every(box)["v"] + len(every(box)))
    yield from turns(f, let(box, v=3.0), let(box, w=3.0))


@attack
def attrgetter_by_another_name(way: Way) -> Seen:
    box, names = Box(v=2.0, w=5.0), ["v"]
    yield from turns(
        way(lambda a: a * getter(names[0])(box)), let(box, v=3.0), put(names, 0, "w"),
        let(box, w=9.0),
    )  # fmt: skip


@attack
def getattr_of_builtins(way: Way) -> Seen:
    box, names = Box(v=2.0), ["v"]
    f = way(lambda a: a * builtins.getattr(box, names[0]))
    yield from turns(f, let(box, v=3.0))


@attack
def getattr_given_to_a_function(way: Way) -> Seen:
    box, names = Box(m=Box(v=2.0)), ["m", "v"]
    f = way(lambda a: a * functools.reduce(getattr, names, box) + sum(map(getattr, [box.m], "v")))
    yield from turns(f, let(box.m, v=3.0), let(box, m=Box(v=7.0)))


@attack
def getattr_in_a_partial(way: Way) -> Seen:
    box, names = Box(v=2.0), ["v"]
    get = functools.partial(getattr, box)
    yield from turns(way(lambda a: a * get(names[0])), let(box, v=3.0))


@attack
def getattr_in_a_container(way: Way) -> Seen:
    box, tools = Box(v=2.0), {"get": getattr, "names": ["v"]}
    yield from turns(way(lambda a: a * tools["get"](box, tools["names"][0])), let(box, v=3.0))


@attack
def attributes_by_methods_of_object(way: Way) -> Seen:
    box, names = Box(v=2.0), ["v"]

    def f(a):
        one = object.__getattribute__(box, names[0])
        return a * one + box.__getattribute__(names[0]) + inspect.getattr_static(box, names[0])

    yield from turns(way(f), let(box, v=3.0))


@attack
def attributes_set_under_made_up_names(way: Way) -> Seen:
    box, names = Box(v=2.0), ["w"]

    def f(a):
        setattr(box, names[0], getattr(box, names[0], 0) + 1)
        return a * getattr(box, names[0])

    yield from turns(way(f), put(names, 0, "v"), let(box, v=9.0), state=box)


@attack
def a_class_by_its_dictionary(way: Way) -> Seen:
    class C:
        k = 2.0

    yield from turns(
        way(lambda a: a * C.__dict__["k"] + len(C.__dict__)), let(C, k=3.0), let(C, j=1)
    )


@attack
def names_and_texts_of_functions(way: Way) -> Seen:
    def g():
        """A text."""

    class C:
        pass

    f = way(lambda a: a * len(g.__name__) + len(g.__doc__ or "") + len(C.__name__) + len(repr(C())))
    yield from turns(
        f, let(g, __name__="longer"), let(g, __doc__="x"), let(C, __name__="Longer"),
        let(C, __repr__=lambda self: ""),
    )  # fmt: skip


@attack
def signatures_and_annotations(way: Way) -> Seen:
    def g(a: int, b: float = 1.0):
        return a

    f = way(lambda a: a * len(inspect.signature(g).parameters) + len(g.__annotations__))
    yield from turns(
        f, let(g, __defaults__=None), put(g.__annotations__, "c", int),
        let(g, __signature__=inspect.signature(lambda: 0)),
    )  # fmt: skip


@attack
def protocols_at_run_time(way: Way) -> Seen:
    @runtime_checkable
    class Sized(Protocol):
        size: int

    box = Box()
    f = way(lambda a: a * (2 if isinstance(box, Sized) else 3))
    yield from turns(f, let(box, size=1), lambda: delattr(box, "size"), let(Box, size=1))
    del Box.size


@attack
def functions_that_sum_and_search(way: Way) -> Seen:
    many = [1.0, 2.0, 4.0]

    def f(a):
        return a * math.fsum(many) + statistics.mean(many) + bisect.bisect(many, 3.0) + max(many)

    yield from turns(way(f), put(many, 0, 1.5), lambda: many.append(9.0))


@attack
def texts_by_json_and_struct(way: Way) -> Seen:
    d = {"a": [1.0, {"b": 2}]}

    def f(a):
        return a * len(json.dumps(d)) + struct.unpack("d", struct.pack("d", d["a"][0]))[0]

    yield from turns(way(f), put(d["a"][1], "c", 5), put(d["a"], 0, 3.0))


@attack
def texts_by_maps(way: Way) -> Seen:
    class Words(dict):
        def __missing__(self, key):
            return "x" * self.n

    words = Words(a="b")
    words.n = 2
    f = way(lambda a: a * len("{a}{z}".format_map(words)) + len("%(a)s" % words))  # noqa: UP031
    yield from turns(f, let(words, n=4), put(words, "a", "bbb"))


@attack
def containers_of_users(way: Way) -> Seen:
    d, many = UserDict(a=2.0), UserList([1.0])
    f = way(lambda a: a * d["a"] + many[0] + len(many) + ("b" in d))
    yield from turns(f, put(d, "a", 3.0), put(many, 0, 5.0), lambda: many.append(1), put(d, "b", 1))


@attack
def maps_are_put_before_others(way: Way) -> Seen:
    chain = ChainMap({"a": 1.0})
    f = way(lambda a: a * chain["a"])
    yield from turns(f, lambda: chain.maps.insert(0, {"a": 5.0}), put(chain.maps[0], "a", 7.0))


@attack
def iterators_of_itertools(way: Way) -> Seen:
    many = [1.0, 2.0, 3.0]
    cycle, count = itertools.cycle([1.0, 2.0]), itertools.count()

    def f(a):
        return a * sum(itertools.islice(many, 2)) + next(cycle) + next(count)

    yield from turns(way(f), put(many, 0, 7.0), lambda: next(cycle))


@attack
def a_tee_and_a_chain_that_are_kept(way: Way) -> Seen:
    one, two = itertools.tee(iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]))
    yield from turns(way(lambda a: a * next(one) + next(two)), lambda: next(one))


@attack
def heaps_and_queues(way: Way) -> Seen:
    heap, waiting = [3.0, 5.0], queue.Queue()
    waiting.put(1)

    def f(a):
        heapq.heappush(heap, float(len(heap)))
        return a * heap[0] + waiting.qsize()

    yield from turns(way(f), heap.clear, lambda: waiting.put(2), state=heap)


@attack
def locks_and_events(way: Way) -> Seen:
    lock, event = threading.Lock(), threading.Event()
    f = way(lambda a: a * (2 if event.is_set() else 3) + lock.locked())
    yield from turns(f, event.set, lock.acquire, event.clear)


@attack
def a_lock_that_is_held_inside(way: Way) -> Seen:
    lock, box = threading.Lock(), Box(n=0)

    def f(a):
        with lock:
            box.n += 1
            return a * box.n

    yield from turns(way(f), state=box)


@attack
def precisions_of_decimals(way: Way) -> Seen:
    def f(a):
        return a * float(decimal.Decimal(1) / decimal.Decimal(3)) * 1e9

    call = way(f)
    for digits in (28, 3, 28):
        with decimal.localcontext() as rules:
            rules.prec = digits
            yield call(x())


@attack
def states_of_numpy(way: Way) -> Seen:
    def f(a):
        with np.errstate(divide="ignore"):
            return a * len(np.array2string(np.array([1.23456789]))) + len(str(np.geterr()))

    call = way(f)
    for digits in (8, 2):
        with np.printoptions(precision=digits):
            yield call(x())


@attack
def objects_in_numpy(way: Way) -> Seen:
    box = Box(v=2.0)
    n = np.array([box, None], dtype=object)
    yield from turns(way(lambda a: a * n[0].v), let(box, v=3.0), put(n, 0, Box(v=5.0)))


@attack
def flags_of_enums(way: Way) -> Seen:
    class Flags(enum.Flag):
        A, B = enum.auto(), enum.auto()

    class Kind(enum.Enum):
        ONE = 1

        @classmethod
        def _missing_(cls, value):
            return cls.ONE if box.known else None

    box = Box(f=Flags.A, known=True)

    def f(a):
        try:
            kind = Kind(7).value
        except ValueError:
            kind = 9
        return a * (2 if Flags.B in box.f else 3) + box.f.value + kind

    yield from turns(way(f), let(box, f=Flags.A | Flags.B), let(box, known=False))


@attack
def data_classes_as_dictionaries(way: Way) -> Seen:
    @dataclasses.dataclass
    class P:
        k: float = 2.0
        inner: Any = None

    p = P(inner=P(k=3.0))

    def f(a):
        deep = dataclasses.asdict(p)
        return (
            a * deep["inner"]["k"]
            + dataclasses.replace(p, k=1.0).inner.k
            + sum([getattr(p, field.name) for field in dataclasses.fields(p)[:1]])
        )

    yield from turns(way(f), let(p.inner, k=5.0), let(p, k=7.0), let(p, inner=P(k=9.0)))


@attack
def hints_and_casts(way: Way) -> Seen:
    class C:
        k: int = 1

    f = way(lambda a: a * len(typing.get_type_hints(C)) + typing.cast(int, C.k))
    yield from turns(f, put(C.__annotations__, "j", int), let(C, k=5))


@attack
def a_file_is_read(way: Way) -> Seen:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k.txt"
        path.write_text("2.0")

        def f(a):
            return a * float(path.read_text()) + path.exists() + len(os.listdir(folder))

        yield from turns(way(f), lambda: path.write_text("3.0"), lambda: Path(folder, "j").touch())


@attack
def a_file_is_written(way: Way) -> Seen:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "k.txt"

        def f(a):
            with open(path, "a") as file:
                file.write("x")
            return a

        call = way(f)
        for _ in range(3):
            yield call(x()), path.read_text()


@attack
def a_module_is_loaded_again(way: Way) -> Seen:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "attack_loaded.py"
        path.write_text("K = 2.0\ndef g(a): return a * K\n")
        sys.path.insert(0, folder)
        try:
            loaded = importlib.import_module("attack_loaded")

            def again():
                path.write_text("K = 3.5\ndef g(a): return a * K + 1\n")
                importlib.reload(loaded)

            yield from turns(way(lambda a: loaded.g(a) + loaded.K), again, let(loaded, K=5.0))
        finally:
            sys.path.remove(folder)
            sys.modules.pop("attack_loaded", None)


@attack
def warnings_are_told(way: Way) -> Seen:
    log = []

    def f(a):
        warnings.warn("turn", RuntimeWarning, stacklevel=2)
        return a * 2

    call = way(f)
    for _ in range(3):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            result = call(x())
        log.append([str(w.message) for w in told if w.category is RuntimeWarning])
        yield result, log


@attack
def folders_and_arguments_of_the_process(way: Way) -> Seen:
    before = os.getcwd()
    f = way(lambda a: a * len(os.getcwd()) + len(sys.argv) + sys.getrecursionlimit())
    try:
        yield f(x()), f(x())
        os.chdir("/")
        yield f(x())
        sys.argv.append("more")
        yield f(x())
    finally:
        os.chdir(before)
        sys.argv.remove("more")


@attack
def a_thread_is_named(way: Way) -> Seen:
    thread = threading.current_thread()
    before = thread.name
    f = way(lambda a: a * len(threading.current_thread().name))
    try:
        yield f(x())
        thread.name = "another name"
        yield f(x()), f(x())
    finally:
        thread.name = before


@attack
def a_builtin_is_replaced(way: Way) -> Seen:
    f, before = way(lambda a: a * ord("a")), builtins.ord
    yield f(x()), f(x())
    builtins.ord = lambda text: before(text) + 5
    try:
        found = [f(x()), f(x())]
    finally:
        builtins.ord = before
    yield found, f(x())


@attack
def methods_are_bound_anew(way: Way) -> Seen:
    class C:
        k = 2.0

        def at(self):
            return self.k

    one, two = C(), C()
    two.k = 5.0
    box = Box(at=one.at)
    yield from turns(
        way(lambda a: a * box.at() + box.at.__self__.k), let(box, at=two.at), let(two, k=7.0),
        let(box, at=types.MethodType(lambda self: self.k * 2, one)),
    )  # fmt: skip


@attack
def parents_by_super(way: Way) -> Seen:
    class A:
        def at(self):
            return 2.0

    class B(A):
        def at(self):
            return super().at() + 1

        def __init_subclass__(cls, **_):
            cls.extra = 3.0

    class C(B):
        pass

    c = C()
    yield from turns(
        way(lambda a: a * c.at() + C.extra + len(C.__mro__) + len(B.__subclasses__())),
        let(A, at=lambda self: 4.0), let(C, extra=7.0),
        lambda: setattr(C, "__bases__", (type("D", (B,), {}),)),
    )  # fmt: skip


@attack
def items_by_class(way: Way) -> Seen:
    class C:
        table = {"k": 2.0}  # noqa: RUF012

        def __class_getitem__(cls, key):
            return cls.table[key]

    yield from turns(way(lambda a: a * C["k"]), put(C.table, "k", 3.0))


@attack
def text_that_is_run(way: Way) -> Seen:
    space = {"k": 2.0}

    def f(a):
        exec("found = k * 2", space)
        return a * space["found"] + eval("k + 1", space)

    yield from turns(way(f), put(space, "k", 5.0))


@attack
def scopes_that_give_objects(way: Way) -> Seen:
    box = Box(v=2.0)

    def f(a):
        with contextlib.nullcontext(box) as found, contextlib.suppress(KeyError):
            return a * found.v
        return a

    yield from turns(way(f), let(box, v=3.0))


@attack
def copies_by_hooks(way: Way) -> Seen:
    class C(Box):
        def __copy__(self):
            return C(v=self.v + rate["k"])

        def __reduce__(self):
            return Box, ()

    rate, box = {"k": 1.0}, C(v=2.0)
    yield from turns(way(lambda a: a * copy.copy(box).v), put(rate, "k", 5.0), let(box, v=3.0))


@attack
def a_generator_function_is_compiled(way: Way) -> Seen:
    def f(a):
        yield a * 2
        yield a * 3

    call = way(f)
    for _ in range(2):
        found = tried(call, x())
        yield found if isinstance(found, Exception) else list(found)


@attack
def a_result_that_is_a_generator(way: Way) -> Seen:
    box = Box(v=2.0)
    call = way(lambda a: (part * box.v for part in (a, a * 2)))
    for k in (2.0, 3.0):
        box.v = k
        found = tried(call, x())
        yield found if isinstance(found, Exception) else list(found)


@attack
def a_result_that_is_a_function(way: Way) -> Seen:
    box = Box(v=2.0)

    def f(a):
        y = a * box.v
        return lambda b: y + b

    call = way(f)
    for k in (2.0, 3.0, 3.0):
        box.v = k
        found = tried(call, x())
        yield found if isinstance(found, Exception) else found(gn.ones(2))


@attack
def a_task_of_asyncio(way: Way) -> Seen:
    box = Box(v=2.0)

    async def part(a):
        return a * box.v

    def f(a):
        made = part(a)
        try:
            made.send(None)
        except StopIteration as ended:
            return ended.value

    yield from turns(way(f), let(box, v=3.0))


@attack
def a_thread_inside(way: Way) -> Seen:
    log = []

    def f(a):
        thread = threading.Thread(target=log.append, args=(1,))
        thread.start()
        thread.join()
        return a * len(log)

    yield from turns(way(f), state=log)


@attack
def a_namespace_of_arguments(way: Way) -> Seen:
    args = argparse.Namespace(k=2.0, name="k", inner=argparse.Namespace(z=1.0), xs=[1.0])
    other = argparse.Namespace(**vars(args))
    yield from turns(way(lambda a: a * args.k), let(args, k=3.0), let(args, k=4.0))
    yield from turns(way(lambda a: a * getattr(args, args.name)), let(args, q=9.0, name="q"))
    yield from turns(way(lambda a: a * (2 if "new" in args else 3)), let(args, new=1))
    yield from turns(way(lambda a: a * args.inner.z), let(args.inner, z=7.0))
    yield from turns(way(lambda a: a * sum(args.xs)), lambda: args.xs.append(3.0))
    yield from turns(way(lambda a: a * len(vars(args))), let(args, newer=1))
    yield from turns(way(lambda a: a * (2 if args == other else 3)), lambda: vars(args).clear())


@attack
def objects_of_pythons_library(way: Way) -> Seen:
    user, listed = UserDict(k=2.0, m={"z": 1.0}), UserList([2.0, [1.0]])
    chain, text = ChainMap({"k": 2.0}, {"q": 1.0}), string.Template("$a")
    parser = configparser.ConfigParser()
    parser.read_dict({"a": {"k": "2.0"}, "DEFAULT": {"d": "5"}})
    yield from turns(way(lambda a: a * user["k"]), put(user, "k", 3.0), put(user, "k", 4.0))
    yield from turns(way(lambda a: a * user["m"]["z"]), put(user["m"], "z", 9.0))
    yield from turns(way(lambda a: a * (2 if "new" in user else 3)), put(user, "new", 1))
    yield from turns(way(lambda a: a * listed[0] * listed[1][0]), put(listed[1], 0, 7.0))
    yield from turns(way(lambda a: a * len(listed)), lambda: listed.append(1))
    yield from turns(way(lambda a: a * chain["k"]), lambda: chain.maps.insert(0, {"k": 8.0}))
    yield from turns(way(lambda a: a * chain["q"]), put(chain.maps[2], "q", 4.0))
    yield from turns(way(lambda a: a * len(text.substitute(a="z"))), let(text, template="$a$a"))
    yield from turns(way(lambda a: a * float(parser["a"]["k"])), put(parser["a"], "k", "3.0"))
    yield from turns(way(lambda a: a * parser.getint("a", "d")), put(parser["DEFAULT"], "d", "6"))


@attack
def the_environment_by_other_ways(way: Way) -> Seen:
    def f(a):
        known = os.getenv("GNOMON_ATTACK", "0") + os.environ.get("GNOMON_OTHER", "1")
        return a * float(known) + len(os.path.expanduser("~")) + len(dict(os.environ))

    def restored(call):
        with unittest.mock.patch.dict(os.environ, {"GNOMON_ATTACK": "5"}):
            return call(x()), call(x())

    call = way(f)
    with unittest.mock.patch.dict(os.environ):
        yield from turns(
            call, put(os.environ, "GNOMON_ATTACK", "3"), put(os.environ, "GNOMON_OTHER", "7"),
            put(os.environ, "HOME", "/a/home/that/is/far"), lambda: os.environ.pop("GNOMON_OTHER"),
            lambda: os.environ.update(GNOMON_ATTACK="8"), os.environ.clear,
        )  # fmt: skip
        yield restored(call), call(x())


@attack
def another_environment(way: Way) -> Seen:
    def f(a):
        return a * float(os.getenv("GNOMON_ATTACK", "2"))

    call = way(f)
    yield call(x()), call(x())
    with unittest.mock.patch.object(os, "environ", {"GNOMON_ATTACK": "5"}):
        yield call(x()), call(x())
    yield call(x())


@attack
def a_function_that_sets_the_environment(way: Way) -> Seen:
    def f(a):
        os.environ["GNOMON_ATTACK"] = os.environ.get("GNOMON_ATTACK", "") + "1"
        return a * float(os.environ["GNOMON_ATTACK"])

    with unittest.mock.patch.dict(os.environ):
        yield from turns(way(f), lambda: os.environ.pop("GNOMON_ATTACK"))


@attack
def implementations_for_classes(way: Way) -> Seen:
    class Base(abc.ABC):
        @abc.abstractmethod
        def told(self):
            """Something that a class that is registered need not have."""

    class C:
        v = 2.0

    @functools.singledispatch
    def g(v):
        return box.v

    g.register(Base, lambda v: v.v + 7.0)
    box, c = Box(v=2.0), C()
    f = way(lambda a: a * g(c) + g.dispatch(float)(1.0) + len(g.registry))
    yield from turns(
        f, let(box, v=3.0), lambda: g.register(float, lambda v: 11.0), let(C, v=5.0),
        lambda: Base.register(C), let(C, v=6.0), lambda: g.register(C, lambda v: 13.0),
        lambda: g.register(C, lambda v: 17.0), let(c, __class__=type("D", (C,), {})),
        lambda: g.register(type(c), lambda v: 19.0),
    )  # fmt: skip


@attack
def an_implementation_that_changes(way: Way) -> Seen:
    @functools.singledispatch
    def g(v, k=2.0):
        return v * k

    @g.register
    def of_tensor(v: gn.Tensor, k=3.0):
        return v * k * scale[0]

    scale = [1.0]
    yield from turns(
        way(lambda a: g(a) + g(1.0)), put(scale, 0, 5.0), let(of_tensor, __defaults__=(7.0,)),
        let(g.registry[object], __defaults__=(9.0,)),
    )  # fmt: skip


@attack
def an_implementation_that_is_registered_inside(way: Way) -> Seen:
    @functools.singledispatch
    def g(v):
        return 2.0

    def f(a):
        if float not in g.registry:
            g.register(float, lambda v: 3.0)
        else:
            g.register(float, g.registry[object])
        return a * g(1.0)

    yield from turns(way(f), lambda: g.register(float, lambda v: 4.0), state=g.registry.keys())


@attack
def methods_with_implementations(way: Way) -> Seen:
    class C:
        k = 2.0

        @functools.singledispatchmethod
        def of(self, v):
            return self.k

        @of.register
        def _(self, v: int):
            return self.k * v

    c = C()
    f = way(lambda a: a * c.of(3) + c.of(2.0) + C.of(c, "a"))
    yield from turns(
        f, let(c, k=5.0), lambda: C.of.register(float, lambda s, v: 9.0),
        lambda: C.of.register(int, lambda s, v: s.k + 9.0), let(c, of=lambda v: 1.0),
    )  # fmt: skip


@attack
def data_classes_made_inside(way: Way) -> Seen:
    box = Box(k=2.0, many=[1.0])

    @dataclasses.dataclass
    class Above:
        a: Any
        many: list = dataclasses.field(default_factory=lambda: list(box.many))

    @dataclasses.dataclass(order=True)
    class P(Above):
        start: dataclasses.InitVar[float] = 1.0
        k: float = 3.0

        def __post_init__(self, start):
            self.sum = self.k * box.k + start

    def f(a):
        P(7.0, k=4.0)
        p = P(a)
        return p.a * p.sum + len(p.many) + (P(1.0) < P(2.0)) + len(repr(P(1.0))), p

    yield from turns(
        way(f), let(box, k=5.0), lambda: box.many.append(2.0), let(P, __repr__=lambda self: "p"),
        let(P, __post_init__=lambda self, start: setattr(self, "sum", 7.0)),
        let(P, __lt__=lambda self, other: False), let(P, k=9.0, sum=11.0),
        let(P.__init__, __defaults__=(*P.__init__.__defaults__[:-1], 13.0)),
        let(P, __setattr__=lambda self, name, value: object.__setattr__(self, name, a_half(value))),
        let(P, __init__=lambda self, a, k=0: vars(self).update(a=a, sum=17.0, many=[])),
    )  # fmt: skip


def a_half(value: Any) -> Any:
    """Half of a number, and anything else as it is."""
    return value / 2 if isinstance(value, float) else value


@attack
def slots_and_frozen_classes_made_inside(way: Way) -> Seen:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Q:
        a: Any
        k: float = dataclasses.field(init=False, default=2.0)

        def __post_init__(self):
            object.__setattr__(self, "k", self.k + len(log))

    def f(a):
        q = dataclasses.replace(Q(a), a=a * 2)
        log.extend([] if len(log) > 1 else [q.k])
        return q.a * q.k + hash(Q(1.0) == Q(1.0))

    log = []
    yield from turns(
        way(f), lambda: log.append(1.0), log.clear, let(Q, __post_init__=lambda self: None),
        state=log,
    )  # fmt: skip


@attack
def users_classes_below_those_in_c(way: Way) -> Seen:
    class Bytes(bytearray):
        pass

    class Array(array.array):
        pass

    class Drawn(random.Random):
        pass

    class Reference(weakref.ref):
        pass

    box = Box(v=2.0)
    some, many, drawn, one = Bytes(b"a"), Array("d", [2.0]), Drawn(3), Reference(box)
    yield from turns(way(lambda a: a * some[0]), put(some, 0, 5), lambda: some.append(9))
    yield from turns(way(lambda a: a * many[0]), put(many, 0, 5.0))
    yield from turns(way(lambda a: a * drawn.random()), lambda: drawn.seed(3))
    yield from turns(way(lambda a: a * one().v), let(box, v=5.0))

    class Round(itertools.cycle):
        pass

    class Number(ctypes.c_int):
        pass

    class Wrong(ValueError):
        pass

    turn, number, wrong = Round([2.0, 3.0, 5.0]), Number(2), Wrong(2.0)
    yield from turns(way(lambda a: a * next(turn)), lambda: next(turn))
    yield from turns(way(lambda a: a * number.value), let(number, value=3))
    yield from turns(way(lambda a: a * wrong.args[0]), let(wrong, args=(3.0,)))


@attack
def values_that_others_keep(way: Way) -> Seen:
    pair, rules, rows = (ctypes.c_int * 2)(2, 3), decimal.Context(prec=3), np.ones(2, "f8,f8")
    row, line, wrong = rows[0], np.poly1d([1.0, 2.0]), KeyError(2.0)
    third = decimal.Decimal(1), decimal.Decimal(3)
    yield from turns(way(lambda a: a * pair[0]), put(pair, 0, 5))
    yield from turns(way(lambda a: a * float(rules.divide(*third)) * 1e5), let(rules, prec=5))
    yield from turns(way(lambda a: a * float(row["f0"])), put(rows, 0, 7.0))
    yield from turns(way(lambda a: a * float(line(1.0))), put(line.coeffs, 0, 5.0))
    yield from turns(way(lambda a: a * wrong.args[0]), let(wrong, args=(3.0,)))


@attack
def what_threads_wait_for(way: Way) -> Seen:
    event, future, many = threading.Event(), concurrent.futures.Future(), threading.Semaphore(2)
    gate, told, thread = threading.Barrier(2), asyncio.Event(), threading.Thread()
    yield from turns(way(lambda a: a * (2 if event.is_set() else 3)), event.set, event.clear)
    yield from turns(way(lambda a: a * (2 if event.wait(0) else 3)), event.set, event.clear)
    yield from turns(way(lambda a: a * (2 if told.is_set() else 3)), told.set, told.clear)
    yield from turns(way(lambda a: a * (2 if gate.broken else 3)), gate.abort, gate.reset)
    yield from turns(way(lambda a: a * (2 if many.acquire(blocking=False) else 3)), many.release)
    yield from turns(way(lambda a: a * (2 if thread.daemon else 3)), let(thread, daemon=True))
    f = way(lambda a: a * (future.result() if future.done() else 3))
    yield from turns(f, lambda: future.set_result(2.0))
    waiting = asyncio.Queue()
    f = way(lambda a: a * waiting.qsize())
    yield from turns(
        f, *[functools.partial(waiting.put_nowait, k) for k in range(2)], waiting.get_nowait
    )


@attack
def attributes_of_what_threads_wait_for(way: Way) -> Seen:
    event, log = threading.Event(), logging.getLogger("gnomon.attack")
    event.k, event.parts, log.k = 2.0, [1.0], 2.0
    f = way(lambda a: a * event.k + event.parts[0] + log.k)
    yield from turns(f, let(event, k=3.0), put(event.parts, 0, 5.0), let(log, k=7.0))
    del log.k


@attack
def an_event_that_is_set_inside(way: Way) -> Seen:
    event, own = threading.Event(), threading.Event

    def f(a):
        event.set()
        made = own()
        return a * (2 if made.is_set() else 3)

    call = way(f)
    for _ in range(3):
        yield call(x()), event.is_set()
        event.clear()


@attack
def another_event(way: Way) -> Seen:
    box = Box(event=threading.Event(), others=[threading.Event()])
    f = way(lambda a: a * sum([1 + each.is_set() for each in [box.event, *box.others]]))
    fresh = threading.Event()
    fresh.set()
    yield from turns(
        f, box.others[0].set, let(box, event=fresh), fresh.clear, lambda: box.others.append(fresh),
        fresh.set,
    )  # fmt: skip


@attack
def levels_of_loggers(way: Way) -> Seen:
    log, above = logging.getLogger("gnomon.attack.inner"), logging.getLogger("gnomon.attack")

    def f(a):
        log.debug("not told")
        return a * (2 if log.isEnabledFor(logging.INFO) else 3) + log.level + log.hasHandlers()

    handler = logging.NullHandler()
    call = way(f)
    yield from turns(
        call, lambda: above.setLevel(logging.INFO), lambda: log.setLevel(logging.ERROR),
        lambda: log.setLevel(logging.NOTSET), let(log, disabled=True), let(log, disabled=False),
        lambda: logging.disable(logging.CRITICAL), lambda: logging.disable(logging.NOTSET),
        lambda: above.setLevel(logging.NOTSET), lambda: above.addHandler(handler),
        lambda: above.removeHandler(handler), lambda: log.addHandler(handler),
        lambda: log.removeHandler(handler),
    )  # fmt: skip


@attack
def attributes_of_each_thread(way: Way) -> Seen:
    class Local(threading.local):
        k = 2.0

    def elsewhere():
        local.k, plain.k = 7.0, 11.0
        log.append((f(x()), f(x())))

    def in_another_thread():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()

    local, plain, log = Local(), threading.local(), []
    f = way(lambda a: a * local.k + getattr(plain, "k", 1.0) + len(vars(plain)))
    yield from turns(
        f, let(local, k=3.0), let(plain, k=5.0), in_another_thread, let(plain, other=1),
        in_another_thread, lambda: delattr(plain, "k"), lambda: delattr(local, "k"),
        let(Local, k=13.0), state=log,
    )  # fmt: skip


@attack
def what_is_kept_for_each_thread(way: Way) -> Seen:
    def f(a):
        plain.last = a * 2
        plain.n = getattr(plain, "n", 0) + 1
        if getattr(plain, "first", None) is None:
            plain.first = a * 3
        return a + plain.first

    def elsewhere():
        log.extend([call(x() + k) for k in range(3)])
        log.append(dict(vars(plain)))

    plain, log, call = threading.local(), [], way(f)
    for k in range(3):
        yield call(x() + k), dict(vars(plain))
    for _ in range(2):
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
        yield log, dict(vars(plain))
    yield call(x()), dict(vars(plain))


@attack
def warnings_that_are_not_shown(way: Way) -> Seen:
    box = Box(v=2.0)

    def f(a):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.filterwarnings("error", "a text")
            return a * box.v + len(warnings.filters)

    def within(call):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return call(x()), call(x())

    call = way(f)
    yield from turns(call, let(box, v=3.0), lambda: warnings.simplefilter("always"))
    yield within(call), call(x()), warnings.filters[0]


@attack
def warnings_of_numpy_are_counted(way: Way) -> Seen:
    def f(a):
        with warnings.catch_warnings(record=True) as told:
            np.float64(1) / np.zeros(1)[0]
        return a * (len(told) + 2)

    call = way(f)
    for action in ("always", "ignore", "always", "ignore"):
        with warnings.catch_warnings():
            warnings.simplefilter(action)
            yield call(x()), call(x())


@attack
def warnings_that_are_told_in_a_block(way: Way) -> Seen:
    def f(a):
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "quiet")
                warnings.warn("loud", stacklevel=1)
            return a * 2
        except UserWarning:
            return a * 3

    call, log = way(f), []
    for action in ("always", "error", "always"):
        with warnings.catch_warnings(record=True) as told:
            warnings.filterwarnings(action, "loud")
            result = call(x()), call(x())
        log.append([str(each.message) for each in told if "loud" in str(each.message)])
        yield result, log


@attack
def filters_of_warnings_that_stay(way: Way) -> Seen:
    def f(a):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
        warnings.filterwarnings("error", "a text")
        return a * 2

    def g(a):
        warnings.filterwarnings("ignore", "a text")
        return a * 2

    for call in (way(f), way(g)):
        for _ in range(3):
            with warnings.catch_warnings():
                warnings.filterwarnings("always", "another text")
                yield call(x()), warnings.filters[0][0], len(warnings.filters)
