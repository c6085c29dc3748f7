"""Read pickles with an interpreter that looks names up in a table and never imports them.

`pickletools` of the standard library splits a pickle into operations with checked lengths. Below
are the operations that Python writes.
"""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from itertools import islice
from typing import Any, Protocol

from gnomon.errors import ArgumentError

__all__ = [
    "Interpreter",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "safe_globals",
]

DEEPEST_KEY, MOST_IN_KEY = 16, 10_000
"""The maximum nesting of a key's tuples, which hashing recurses into, and of their parts."""
_allowed: dict[str, Any] = {}
"""Classes and functions that the user allows files to name."""


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """Read `size` bytes, or fewer at the end of the file."""
        ...

    def readline(self) -> bytes:
        """Read up to the end of a line."""
        ...


def name_of(value: Any) -> str:
    """The name of a class or function in pickles."""
    return f"{value.__module__}.{value.__qualname__}"


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Allow files to name these classes and functions, whose code then runs.

    An item may be a pair of a class or function and its name in files.
    """
    pairs = [x if isinstance(x, tuple) else (x, name_of(x)) for x in safe_globals]
    _allowed.update((name, value) for value, name in pairs)


def clear_safe_globals() -> None:
    """Disallow all classes and functions that were allowed."""
    _allowed.clear()


def get_safe_globals() -> list[Any]:
    """The classes and functions that files may name."""
    return list(_allowed.values())


@contextmanager
def safe_globals(safe_globals: list[Any]) -> Iterator[None]:
    """Allow files to name these classes and functions inside a `with`."""
    before = dict(_allowed)
    add_safe_globals(safe_globals)
    try:
        yield
    finally:
        _allowed.clear()
        _allowed.update(before)


class Interpreter:
    """The stack and memo of a pickle that is being read.

    names: the classes and functions that the pickle may name. settle: restores the state of other
    types. outside: resolves persistent references. trusted: the pickle may name anything that
    Python can import.
    """

    def __init__(
        self,
        names: Mapping[str, Any],
        settle: Callable[[Any, Any], bool],
        outside: Callable[[Any], Any],
        trusted: bool = False,
    ) -> None:
        self.names, self.settle, self.outside, self.trusted = names, settle, outside, trusted
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []
        """The stacks below the marks."""
        self.memo: dict[int, Any] = {}

    def read(self, file: Readable) -> Any:
        """Read the next pickle in a file."""
        for operation, argument, _ in pickletools.genops(file):
            if operation.name == "STOP":
                break
            if operation.name not in STEPS:
                raise ValueError(f"its pickle has the operation {operation.name}")
            STEPS[operation.name](self, argument)
        return self.stack.pop()

    def push(self, value: Any) -> None:
        """Push a value."""
        self.stack.append(value)

    def mark(self) -> None:
        """Start a new stack (MARK)."""
        self.below.append(self.stack)
        self.stack = []

    def marked(self) -> list[Any]:
        """Pop everything since the last mark."""
        found, self.stack = self.stack, self.below.pop()
        return found

    def last(self, count: int) -> list[Any]:
        """Pop the last `count` values."""
        if len(self.stack) < count:
            raise ValueError("its pickle takes more than it has")
        found = self.stack[-count:]
        del self.stack[-count:]
        return found

    def extend(self, items: list[Any]) -> None:
        """Extend the list on top of the stack."""
        made = self.stack[-1]
        if isinstance(made, list) or not self.lets(made):
            only(made, list).extend(items)
            return
        for item in items:
            made.append(item)

    def add(self, items: list[Any]) -> None:
        """Add items to the set on top of the stack."""
        only(self.stack[-1], set).update(map(key, items))

    def put(self, items: list[Any]) -> None:
        """Add keys and values to the dict on top of the stack."""
        made = self.stack[-1]
        holder = made if self.lets(made) else only(made, dict)
        for name, value in pairs(items):
            holder[key(name)] = value

    def lets(self, made: Any) -> bool:
        """Whether an object's class may run its own code."""
        return self.trusted or type(made) in _allowed.values()

    def find(self, module: str, name: str) -> Any:
        """The class or function of a name; ArgumentError if the pickle may not name it."""
        full, theirs = f"{module}.{name}", module.partition(".")[0] == "torch"
        for known in (self.names, _allowed):
            if full in known and (theirs or not self.trusted):
                return known[full]
        if theirs:
            raise ArgumentError(
                f"it holds {full}, which is PyTorch's own. Save a state_dict() there, tensors, "
                "numbers, strings, and dicts or lists of them."
            )
        if not self.trusted:
            raise ArgumentError(
                f"it holds {full}, and to make one its code would run. If you trust the file, use "
                f"gn.serialization.add_safe_globals([{name}]) or weights_only=False."
            )
        return pickle.Unpickler(BytesIO()).find_class(module, name)

    def call(self, function: Any, arguments: Any) -> Any:
        """Call a function that the pickle named."""
        if not callable(function) or not isinstance(arguments, tuple):
            raise ValueError("its pickle calls what is no function")
        return function(*arguments)

    def make(self, kind: Any, arguments: Any, named: Any) -> Any:
        """Make an object of a class that the pickle named, without calling __init__."""
        return only(kind, type).__new__(kind, *only(arguments, tuple), **only(named, dict))

    def build(self, state: Any) -> None:
        """Restore the state of the object on top of the stack."""
        made = self.stack[-1]
        if not self.trusted and self.settle(made, state):
            return
        if not self.lets(made):
            raise ValueError(f"its pickle changes a value of {type(made).__name__}")
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
            return
        attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        if attributes:
            vars(made).update(attributes)
        for name, value in (slots or {}).items():
            setattr(made, name, value)


def only(value: Any, kind: type) -> Any:
    """Return a value of a type, or raise ValueError."""
    if not isinstance(value, kind):
        raise ValueError(f"its pickle takes a {type(value).__name__} for a {kind.__name__}")
    return value


def key(value: Any) -> Any:
    """Return a value that is safe to hash, or raise ValueError."""
    level, count = [value], 0
    for _ in range(DEEPEST_KEY + 1):
        inner = (x for part in level if isinstance(part, (tuple, frozenset)) for x in part)
        level = list(islice(inner, MOST_IN_KEY + 1))
        count += len(level)
        if count > MOST_IN_KEY:
            raise ValueError("a key has too many parts")
        if not level:
            return value
    raise ValueError("a key has too many levels")


def pairs(items: list[Any]) -> list[tuple[Any, Any]]:
    """Pair alternating keys and values."""
    return list(zip(items[::2], items[1::2], strict=True))


def dict_of(items: list[Any]) -> dict[Any, Any]:
    """Make a dict of alternating keys and values."""
    return {key(name): value for name, value in pairs(items)}


PLAIN = (
    *("BININT", "BININT1", "BININT2", "LONG1", "LONG4", "BINFLOAT"),
    *("BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINSTRING", "SHORT_BINSTRING"),
    *("BINBYTES", "SHORT_BINBYTES", "BINBYTES8", "BYTEARRAY8"),
)
STEPS: dict[str, Callable[[Interpreter, Any], object]] = {
    **dict.fromkeys(PLAIN, lambda x, value: x.push(value)),
    **dict.fromkeys(("PROTO", "FRAME"), lambda x, _: None),
    "NONE": lambda x, _: x.push(None),
    "NEWTRUE": lambda x, _: x.push(True),
    "NEWFALSE": lambda x, _: x.push(False),
    "EMPTY_LIST": lambda x, _: x.push([]),
    "EMPTY_TUPLE": lambda x, _: x.push(()),
    "EMPTY_DICT": lambda x, _: x.push({}),
    "EMPTY_SET": lambda x, _: x.push(set()),
    "MARK": lambda x, _: x.mark(),
    "LIST": lambda x, _: x.push(x.marked()),
    "TUPLE": lambda x, _: x.push(tuple(x.marked())),
    "DICT": lambda x, _: x.push(dict_of(x.marked())),
    "FROZENSET": lambda x, _: x.push(frozenset(map(key, x.marked()))),
    "TUPLE1": lambda x, _: x.push(tuple(x.last(1))),
    "TUPLE2": lambda x, _: x.push(tuple(x.last(2))),
    "TUPLE3": lambda x, _: x.push(tuple(x.last(3))),
    "APPEND": lambda x, _: x.extend(x.last(1)),
    "APPENDS": lambda x, _: x.extend(x.marked()),
    "ADDITEMS": lambda x, _: x.add(x.marked()),
    "SETITEM": lambda x, _: x.put(x.last(2)),
    "SETITEMS": lambda x, _: x.put(x.marked()),
    "POP": lambda x, _: x.last(1),
    "POP_MARK": lambda x, _: x.marked(),
    "DUP": lambda x, _: x.push(x.stack[-1]),
    **dict.fromkeys(
        ("BINPUT", "LONG_BINPUT", "PUT"), lambda x, place: x.memo.update({place: x.stack[-1]})
    ),
    "MEMOIZE": lambda x, _: x.memo.update({len(x.memo): x.stack[-1]}),
    **dict.fromkeys(("BINGET", "LONG_BINGET", "GET"), lambda x, place: x.push(x.memo[place])),
    "GLOBAL": lambda x, name: x.push(x.find(*name.split(" ", 1))),
    "STACK_GLOBAL": lambda x, _: x.push(x.find(*(only(y, str) for y in x.last(2)))),
    "REDUCE": lambda x, _: x.push(x.call(*x.last(2))),
    "NEWOBJ": lambda x, _: x.push(x.make(*x.last(2), {})),
    "NEWOBJ_EX": lambda x, _: x.push(x.make(*x.last(3))),
    "BUILD": lambda x, _: x.build(x.last(1)[0]),
    "BINPERSID": lambda x, _: x.push(x.outside(x.last(1)[0])),
}
"""The effect of each pickle operation on the interpreter."""
