"""Programs for the fuzzer of captures: places that hold a Python value, and code that reads them.

A program is text: a few holders, each with a way to read it and ways to change it; readers, which
say in whose code a read stands; and effects. tests/fuzz_capture.py runs them, plain and compiled.
In texts, K is the number of a part, V its first value and W another one.
"""

from __future__ import annotations

from typing import NamedTuple

HEAD = """
import builtins, collections, contextlib, contextvars, dataclasses, enum, functools, itertools
import array, math, operator, os, sys, threading, time, types, weakref
from typing import NamedTuple
import numpy as np
import gnomon as gn
from gnomon import nn, optim
MODES, START_NS = [], time.perf_counter_ns()
class Box: pass
def put(place, key, value): place[key] = value
def number(v): return v if isinstance(v, gn.Tensor) else gn.tensor(float(v))
"""


class Holder(NamedTuple):
    """A place of a value: how it is made, read and changed, and taken back if others see it."""

    name: str
    setup: str
    read: str
    changes: tuple[str, ...]
    undo: str = ""


def simple(name: str, setup: str, read: str, *changes: str, undo: str = "") -> Holder:
    """A holder."""
    return Holder(name, setup, read, changes, undo)


CLASS = "class C{0}:\n    scale = V\n    def at(self): return self.scale\n"
"""A class with a value and a method that reads it; {0} is its number."""


def of_class(more: str = "") -> str:
    """Such a class, with more in its body, and an object of it."""
    return CLASS.format("K") + more + "oK = CK()\n"


HOLDERS = (
    # names
    simple("a global", "gK = V\n", "gK", "gK = W"),
    simple("a global of a global name", "gK = V\n", "globals()['gK']", "gK = W"),
    simple("a closure", "def makeK():\n    c = V\n    def get(): return c\n    def set(w):\n"
           "        nonlocal c; c = w\n    return get, set\ngetK, setK = makeK()\n",
           "getK()", "setK(W)"),
    simple("a name that appears later", "", "(lateK if 'lateK' in globals() else V)", "lateK = W"),
    simple("a builtin", "", "abs(-V)", "builtins.abs = lambda x, old=abs: old(x) + W",
           "abs = lambda x: W", undo="builtins.abs = ABS"),
    simple("a file's name", "mK = types.ModuleType('mK_NS'); mK.scale = V\n", "mK.scale",
           "mK.scale = W", "mK = types.SimpleNamespace(scale=W)"),
    simple("a file that is loaded inside", "mK = types.ModuleType('mK_NS'); mK.scale = V\n"
           "sys.modules['mK_NS'] = mK\ndef loadK():\n    import mK_NS\n    return mK_NS.scale\n",
           "loadK()", "mK.scale = W", "sys.modules['mK_NS'] = types.SimpleNamespace(scale=W)",
           undo="sys.modules.pop('mK_NS', None)"),
    simple("a name loaded from a file inside", "mK = types.ModuleType('mK_NS'); mK.scale = V\n"
           "sys.modules['mK_NS'] = mK\ndef loadK():\n    from mK_NS import scale\n"
           "    return scale\n", "loadK()", "mK.scale = W",
           undo="sys.modules.pop('mK_NS', None)"),
    simple("a name of the standard library", "", "math.tau * V", "math.tau = W",
           undo="math.tau = 2 * math.pi"),
    # functions
    simple("a default", "def fK(s=V): return s\n", "fK()", "fK.__defaults__ = (W,)",
           "fK.__code__ = (lambda s=0: s + W).__code__", "fK = lambda s=W: s"),
    simple("a keyword's default", "def fK(*, s=V): return s\n", "fK()",
           "fK.__kwdefaults__ = {'s': W}", "fK.__kwdefaults__['s'] = W"),
    simple("a default that is a list", "def fK(s=[V]): return s[0]\n", "fK()",
           "fK.__defaults__[0][0] = W"),
    simple("an attribute of a function", "def fK(): return fK.scale\nfK.scale = V\n", "fK()",
           "fK.scale = W"),
    simple("a partial", "def fK(s): return s\npK = functools.partial(fK, V)\n", "pK()",
           "pK = functools.partial(fK, W)"),
    simple("a partial's keywords", "def fK(s=0.0): return s\npK = functools.partial(fK, s=V)\n",
           "pK()", "pK.keywords['s'] = W", "pK.__setstate__((fK, (), {'s': W}, {}))"),
    simple("a partial's list", "lK = [V]\npK = functools.partial(lambda s: s[0], lK)\n", "pK()",
           "lK[0] = W"),
    simple("a lookup by operator",
           "oK = Box(); oK.scale = V\ngetK = operator.attrgetter('scale')\n",
           "getK(oK)", "oK.scale = W", "getK = lambda o: W"),
    simple("a method by operator", of_class() + "getK = operator.methodcaller('at')\n",
           "getK(oK)", "oK.scale = W", "CK.at = lambda self: W"),
    simple("a wrapped function", "def fK(): return V\n@functools.wraps(fK)\n"
           "def wK(): return wK.__wrapped__() * 2\n", "wK()", "wK.__wrapped__ = lambda: W"),
    simple("a function of one name with cases", "@functools.singledispatch\ndef fK(x): return V\n",
           "fK(1)", "fK.register(int, lambda x: W)"),
    simple("a cached function", "gK = V\n@functools.lru_cache\ndef fK(): return gK\n", "fK()",
           "gK = W", "gK = W; fK.cache_clear()"),
    # objects
    simple("an attribute", of_class(), "oK.at()", "oK.scale = W", "CK.scale = W",
           "oK.at = lambda: W", "CK.at = lambda self: W",
           "oK = types.SimpleNamespace(at=lambda: W)",
           "oK.__dict__['scale'] = W", "vars(oK).update(scale=W)", "vars(oK).clear()",
           "CK.__getattribute__ = lambda self, name: (lambda: W)"),
    simple("an attribute read by a name made up", of_class() + "nK = 'sca'\n",
           "getattr(oK, nK + 'le')", "oK.scale = W", "CK.scale = W"),
    simple("an attribute of a dictionary", of_class("    def __init__(self): self.own = V\n"),
           "oK.__dict__['own']", "oK.own = W", "oK.__dict__ = {'own': W}"),
    simple("an attribute of vars", of_class("    def __init__(self): self.own = V\n"),
           "vars(oK)['own']", "oK.own = W"),
    simple("an attribute looked for", of_class(), "getattr(oK, 'other', V)", "oK.other = W",
           "CK.other = W"),
    simple("an attribute of a class below", CLASS.format("K") + "class DK(CK): pass\noK = DK()\n",
           "oK.at()", "CK.scale = W", "DK.scale = W", "DK.at = lambda self: W", "oK.scale = W",
           "CK.at = lambda self: W"),
    simple("classes above", CLASS.format("K") + "class EK:\n    scale = V + 1\n    def at(self):"
           " return self.scale\nclass DK(CK): pass\noK = DK()\n", "oK.at()", "DK.__bases__ = (EK,)",
           "oK.__class__ = EK", "CK.scale = W"),
    simple("a method above", CLASS.format("K") + "class DK(CK):\n    def at(self):"
           " return super().at() * 2\noK = DK()\n", "oK.at()", "CK.at = lambda self: W",
           "CK.scale = W"),
    simple("a class's own", CLASS.format("K") + "oK = CK\n", "oK.scale", "CK.scale = W"),
    simple("a class's kind", "class TK(type):\n    scale = V\nclass CK(metaclass=TK): pass\n",
           "CK.scale", "TK.scale = W", "CK.scale = W"),
    simple("a class's kind that makes names", "class TK(type):\n    there = V\n    def __getattr__("
           "cls, name): return TK.there\nclass CK(metaclass=TK): pass\n", "CK.scale",
           "TK.there = W", "CK.scale = W", "TK.__getattr__ = lambda cls, name: W"),
    simple("a property", "class CK:\n    def __init__(self): self.own = V\n    @property\n"
           "    def scale(self): return self.own\noK = CK()\n", "oK.scale", "oK.own = W",
           "CK.scale = property(lambda self: W)", "CK.scale = W"),
    simple("a property of a module made of names", "class CK:\n    def __init__(self, v):"
           " self.own = v\n    scale = property(operator.attrgetter('own'))\noK = CK(V)\n",
           "oK.scale", "oK.own = W"),
    simple("a cached property", "class CK:\n    own = V\n    @functools.cached_property\n"
           "    def scale(self): return self.own\noK = CK()\n", "oK.scale", "CK.own = W",
           "oK.__dict__.pop('scale', None); CK.own = W", "oK.scale = W"),
    simple("a descriptor", "class DK:\n    def __init__(self): self.own = V\n"
           "    def __get__(self, o, kind): return self.own\nclass CK:\n    scale = DK()\n"
           "oK = CK()\n",
           "oK.scale", "vars(CK)['scale'].own = W", "DK.__get__ = lambda self, o, kind: W",
           "oK.__dict__['scale'] = W", "CK.scale = W"),
    simple("a descriptor over an object",
           "class DK:\n    def __get__(self, o, kind): return o.own\n"
           "    def __set__(self, o, w): o.own = w\nclass CK:\n    scale = DK()\noK = CK()\n"
           "oK.scale = V\n", "oK.scale", "oK.scale = W", "oK.own = W"),
    simple("an attribute that is made up",
           "class CK:\n    def __init__(self): self.kept = {'scale':"
           " V}\n    def __getattr__(self, name): return self.__dict__['kept'][name]\noK = CK()\n",
           "oK.scale", "oK.kept['scale'] = W", "oK.scale = W",
           "CK.__getattr__ = lambda self, name: W", "CK.scale = W"),
    simple("another object's attribute", "class CK:\n    def __init__(self, o): self.o = o\n"
           "    def __getattr__(self, name): return getattr(self.o, name)\nbK = Box()\n"
           "bK.scale = V\noK = CK(bK)\n", "oK.scale", "bK.scale = W", "oK.scale = W",
           "oK.o = types.SimpleNamespace(scale=W)"),
    simple("all attributes made up", "tK = {'scale': V}\nclass CK:\n    def __getattribute__(self,"
           " name): return tK[name]\noK = CK()\n", "oK.scale", "tK['scale'] = W",
           "CK.__getattribute__ = lambda self, name: W"),
    simple("slots", "class CK:\n    __slots__ = ('scale',)\noK = CK(); oK.scale = V\n", "oK.scale",
           "oK.scale = W", "CK.scale = W"),
    simple("a data class", "@dataclasses.dataclass\nclass CK:\n    scale: float = V\noK = CK()\n",
           "oK.scale", "oK.scale = W", "oK = CK(W)", "oK = dataclasses.replace(oK, scale=W)"),
    simple("a data class made inside", "@dataclasses.dataclass\nclass CK:\n    scale: float = V\n",
           "CK().scale", "CK.__init__.__defaults__ = (W,)", "CK.__init__ = lambda self: None"),
    simple("an object made inside", of_class("    def __init__(self): self.own = CK.scale\n"),
           "CK().own", "CK.scale = W", "CK.__init__ = lambda self: setattr(self, 'own', W)",
           "CK.__new__ = lambda cls: types.SimpleNamespace(own=W)"),
    simple("a method of a class", "class CK:\n    own = V\n    @classmethod\n"
           "    def at(cls): return cls.own\n    @staticmethod\n    def of(): return CK.own\n",
           "CK.at() + CK.of()", "CK.own = W", "CK.at = lambda: W",
           "CK.of = staticmethod(lambda: W)"),
    simple("a named tuple", "class CK(NamedTuple):\n    scale: float\noK = CK(V)\n", "oK.scale",
           "oK = CK(W)", "oK = oK._replace(scale=W)"),
    simple("a named tuple's method", "class CK(NamedTuple):\n    s: float\n    def at(self):"
           " return self.s * cK\ncK = 2.0\noK = CK(V)\n", "oK.at()", "oK = CK(W)", "cK = W"),
    simple("a choice", "class CK(enum.Enum):\n    A = V\n    B = V + 1\noK = CK.A\n", "oK.value",
           "oK = CK.B", "CK.A._value_ = W"),
    simple("a choice by name", "class CK(enum.Enum):\n    A = V\n", "CK.A.value",
           "CK.A._value_ = W"),
    simple("a namespace", "oK = types.SimpleNamespace(scale=V)\n", "oK.scale", "oK.scale = W"),
    simple("many objects inside of each other", "oK = Box(); eK = oK\nfor _ in range(10):\n"
           "    eK.next = Box(); eK = eK.next\neK.scale = V\ndef lastK():\n    o = oK\n"
           "    while hasattr(o, 'next'): o = o.next\n    return o.scale\n", "lastK()",
           "eK.scale = W"),
    # special methods
    simple("a length", "class CK:\n    own = int(V * 2)\n    def __len__(self): return self.own\n"
           "oK = CK()\n", "len(oK)", "oK.own = 5", "CK.own = 6", "CK.__len__ = lambda self: 7"),
    simple("truth",
           "class CK:\n    own = True\n    def __bool__(self): return self.own\noK = CK()\n",
           "(V if oK else 2.5)", "oK.own = False", "CK.__bool__ = lambda self: False"),
    simple("arithmetic", "class CK:\n    own = V\n    def __add__(self, o): return self.own + o\n"
           "    def __rmul__(self, o): return self.own * o\noK = CK()\n", "(oK + 1.0) * (2.0 * oK)",
           "oK.own = W", "CK.__add__ = lambda self, o: W", "CK.__rmul__ = lambda self, o: W"),
    simple("comparison", "class CK:\n    own = V\n    def __lt__(self, o): return self.own < o\n"
           "    def __eq__(self, o): return self.own == o\n    __hash__ = None\noK = CK()\n",
           "(1.5 if oK < 2.0 else 3.5) + (oK == 1.0)", "oK.own = W", "oK.own = 1.0",
           "CK.__lt__ = lambda self, o: not self.own < o"),
    simple("numbers",
           "class CK:\n    own = V\n    def __float__(self): return self.own\noK = CK()\n",
           "float(oK)", "oK.own = W", "CK.__float__ = lambda self: W"),
    simple("parts", "class CK:\n    def __init__(self): self.own = {'a': V}\n"
           "    def __getitem__(self, key): return self.own[key]\noK = CK()\n", "oK['a']",
           "oK.own['a'] = W", "CK.__getitem__ = lambda self, key: W"),
    simple("membership", "class CK:\n    own = (1,)\n    def __contains__(self, k):"
           " return k in self.own\noK = CK()\n", "(V if 1 in oK else 4.5)", "oK.own = ()",
           "CK.__contains__ = lambda self, k: False"),
    simple("turns", "class CK:\n    own = [V]\n    def __iter__(self): return iter(self.own)\n"
           "oK = CK()\n", "sum(v for v in oK)", "oK.own = [W]", "CK.own.append(W)",
           "CK.__iter__ = lambda self: iter([W])"),
    simple("a call", "class CK:\n    own = V\n    def __call__(self): return self.own\noK = CK()\n",
           "oK()", "oK.own = W", "CK.__call__ = lambda self: W", "oK = lambda: W"),
    simple("text", "class CK:\n    own = V\n    def __str__(self): return str(self.own)\n"
           "    __repr__ = __str__\noK = CK()\n", "float(f'{oK}')", "oK.own = W",
           "CK.__str__ = lambda self: str(W)"),
    simple("a scope", "class CK:\n    own = V\n    def __enter__(self): return self.own\n"
           "    def __exit__(self, *_): pass\noK = CK()\ndef withK():\n    with oK as s:\n"
           "        return s\n", "withK()", "oK.own = W", "CK.__enter__ = lambda self: W"),
    # containers
    simple("a list", "lK = [V, V]\n", "lK[1]", "lK[1] = W", "lK.insert(0, W)", "lK = [W, W]",
           "lK.reverse(); lK[1] = W", "lK.clear(); lK.extend([W, W])"),
    simple("a list's length", "lK = [V]\n", "len(lK)", "lK.append(W)", "lK.pop()"),
    simple("a long list", "lK = [V] * 100\n", "lK[90]", "lK[90] = W", "lK = [W] * 100",
           "lK.insert(0, W)"),
    simple("a list's sum", "lK = [V] * 100\n", "sum(lK)", "lK[90] = W", "lK.append(W)"),
    simple("lists in lists", "lK = [[[[[[[[[[V]]]]]]]]]]\n", "lK[0][0][0][0][0][0][0][0][0][0]",
           "lK[0][0][0][0][0][0][0][0][0][0] = W", "lK[0][0][0][0][0][0][0][0] = [[W]]"),
    simple("a dictionary", "dK = {'a': V}\n", "dK['a']", "dK['a'] = W", "dK.update(a=W)",
           "dK = {'a': W}", "del dK['a']; dK['b'] = 1; dK['a'] = W"),
    simple("a dictionary's missing part", "dK = {}\n", "dK.get('a', V)", "dK['a'] = W"),
    simple("a long dictionary", "dK = {k: V for k in range(100)}\n", "dK[90]", "dK[90] = W",
           "dK = {k: W for k in range(100)}"),
    simple("an order", "dK = {'a': V, 'b': V + 1}\n", "next(iter(dK.values()))",
           "dK['a'] = dK.pop('a')", "dK['a'] = W"),
    simple("a default dictionary", "dK = collections.defaultdict(lambda: cK); cK = V\n", "dK['a']",
           "dK['a'] = W", "cK = W; dK.clear()"),
    simple("maps in a chain", "dK = {'a': V}; eK = {}\nmK = collections.ChainMap(eK, dK)\n",
           "mK['a']", "dK['a'] = W", "eK['a'] = W"),
    simple("a view", "dK = {'a': V}\nvK = dK.values()\n", "sum(vK)", "dK['a'] = W", "dK['b'] = W"),
    simple("a map that is shown", "dK = {'a': V}\nvK = types.MappingProxyType(dK)\n", "vK['a']",
           "dK['a'] = W"),
    simple("a set", "sK = {V}\n", "sum(sK)", "sK.add(W)", "sK.clear(); sK.add(W)", "sK = {W}"),
    simple("a deque", "qK = collections.deque([V, V], maxlen=2)\n", "qK[1]", "qK.append(W)",
           "qK.rotate(); qK[1] = W"),
    simple("a tuple of objects", "oK = Box(); oK.scale = V\ntK = ((oK,),)\n", "tK[0][0].scale",
           "oK.scale = W", "tK = ((types.SimpleNamespace(scale=W),),)"),
    simple("a list of a user's",
           "class CK(list):\n    own = 1.0\n    def at(self): return self[0] *"
           " self.own\noK = CK([V])\n", "oK.at()", "oK[0] = W", "oK.own = W", "CK.own = W"),
    simple("a dictionary of a user's",
           "class CK(dict):\n    def __missing__(self, key): return cK\n"
           "cK = V\noK = CK()\n", "oK['a']", "cK = W", "oK['a'] = W",
           "CK.__missing__ = lambda self, key: W"),
    simple("bytes", "bK = bytearray([1, 2, 3])\n", "bK[1] * V", "bK[1] = 7"),
    simple("an array", "aK = array.array('d', [V, V])\n", "aK[1]", "aK[1] = W"),
    simple("a view of memory", "aK = array.array('d', [V, V])\nmK = memoryview(aK)\n", "mK[1]",
           "aK[1] = W"),
    simple("a numpy array", "aK = np.array([V, V])\n", "float(aK[1])", "aK[1] = W",
           "aK = np.array([W, W])"),
    simple("a large numpy array", "aK = np.full(20000, V)\n", "float(aK[9000])", "aK[9000] = W"),
    simple("a numpy array of objects", "aK = np.array([[V], [V, V]], dtype=object)\n", "aK[0][0]",
           "aK[0][0] = W"),
    simple("part of a numpy array", "bK = np.full((4, 2), V)\naK = bK[1:3]\n", "float(aK.sum())",
           "bK[1] = W"),
    simple("a numpy scalar", "aK = np.float32(V)\n", "float(aK)", "aK = np.float32(W)"),
    simple("a weak reference", "oK = Box(); oK.scale = V\nwK = weakref.ref(oK)\n", "wK().scale",
           "oK.scale = W"),
    simple("a thread's own", "tK = threading.local(); tK.scale = V\n", "tK.scale", "tK.scale = W"),
    simple("a variable of a context", "vK = contextvars.ContextVar('vK', default=V)\n", "vK.get()",
           "vK.set(W)"),
    simple("the environment", "os.environ['GNOMON_TEST_K'] = str(V)\n",
           "float(os.environ['GNOMON_TEST_K'])", "os.environ['GNOMON_TEST_K'] = str(W)",
           undo="os.environ.pop('GNOMON_TEST_K', None)"),
    simple("the environment by os.getenv", "", "float(os.getenv('GNOMON_TEST_K', V))",
           "os.environ['GNOMON_TEST_K'] = str(W)", undo="os.environ.pop('GNOMON_TEST_K', None)"),
    # what moves by itself
    simple("a counter", "cK = itertools.count(1)\n", "next(cK)", "next(cK)"),
    simple("turns that are kept", "iK = iter([V + k for k in range(50)])\n", "next(iK)"),
    simple("a cycle", "iK = itertools.cycle([V, V + 1, V + 2])\n", "next(iK)", "next(iK)"),
    simple("a generator", "def gK():\n    k = V\n    while True:\n        k += 1\n        yield k\n"
           "iK = gK()\n", "next(iK)", "next(iK)"),
    simple("turns in pieces", "iK = iter(range(1, 100))\ndef twoK():\n    for k in iK:\n"
           "        return k\n", "twoK()"),
    simple("a method that turns", "tickK = itertools.count(1).__next__\n", "tickK()", "tickK()"),
    simple("a clock", "", "(time.perf_counter_ns() - START_NS > 0) * V"),
    simple("numbers drawn", "rK = __import__('random').Random(3)\n", "rK.random()", "rK.seed(4)"),
    simple("a global that is counted", "gK = V\ndef countK():\n    global gK; gK += 1.0\n"
           "    return gK\n", "countK()", "gK = W"),
    simple("an attribute that is counted", of_class("    def up(self): self.scale = self.scale + 1;"
           " return self.scale\n"), "oK.up()", "oK.scale = W", "CK.scale = W"),
    simple("a list that grows", "lK = []\n", "lK.append(V) or len(lK)", "lK.clear()"),
    simple("a list that shrinks", "lK = [float(k) for k in range(100)]\n", "lK.pop()",
           "lK.append(W)"),
)  # fmt: skip
