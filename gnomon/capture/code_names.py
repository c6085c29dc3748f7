"""Names in code: the attributes and globals that it reads, and the classes that are a user's own.

Where the names lead to values is in closure_state.py.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any, NamedTuple

from gnomon.ir.memo import memo
from gnomon.ir.provenance import NAME, package_of

__all__ = [
    "Below",
    "CodeNames",
    "codes_in",
    "is_of_package",
    "names_of",
    "reads_by_name",
    "walked_among",
    "words_of",
]

KNOWN = frozenset({*sys.stdlib_module_names, NAME, "numpy"})
"""Packages whose files are not walked."""
ALL_OF = frozenset(
    {"vars", "dir", "__dict__", "attrgetter", "methodcaller", "__getattribute__"}
    | {"getattr_static", "signature", "getfullargspec", "getmembers"}
)
"""Names that give attributes of any name."""
BY_NAME = frozenset({"getattr", "hasattr", "setattr", "delattr"})


class CodeNames(NamedTuple):
    """Names in code: attributes with the name before their dot, None for any value; globals."""

    pairs: frozenset[tuple[str | None, str]] = frozenset()
    names: frozenset[str] = frozenset()
    stores: frozenset[str] = frozenset()
    """Attributes that are assigned to."""
    doubtful: frozenset[str] = frozenset()
    """Attributes that need not be there."""
    files: frozenset[str] = frozenset()
    """The modules that are imported."""
    every: bool = False
    """Whether attributes are read whose names are made up."""
    given: frozenset[str] = frozenset()
    """Names of what code does not call at once."""
    loose: frozenset[str] = frozenset()
    """Names of properties: what they give has any name."""
    compares: bool = False
    """Whether code may ask which of several objects one is."""

    def union(self, other: CodeNames) -> CodeNames:
        """The names of two pieces of code together."""
        return CodeNames(*(mine | theirs for mine, theirs in zip(self, other, strict=True)))

    def with_loose(self, name: str) -> CodeNames:
        """The names, and one of a property whose result may have any name."""
        return self if name in self.loose else self._replace(loose=self.loose | {name})


class Below(NamedTuple):
    """Names that the class of an object and its bases define."""

    all: frozenset[str]
    special: frozenset[str]
    """Methods that code runs without naming them."""
    makes: bool
    """Whether a method makes up attributes."""


NO_WORDS = CodeNames()


def words_of(code: types.CodeType) -> CodeNames:
    """The names in code and in functions defined inside of it."""
    return names_within(code, (*code.co_freevars, "self"))


@memo
@cache
def names_within(code: types.CodeType, free: tuple[str, ...]) -> CodeNames:
    """The names in a piece of code, nested code included; `free` names variables of closures."""
    pairs: set[tuple[str | None, str]] = set()
    names: set[str] = set()
    stores: set[str] = set()
    files: set[str] = set()
    before: str | None = None
    steps = list(dis.get_instructions(code))
    for step in steps:
        kind, name = step.opname, step.argval
        if kind in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "DELETE_ATTR"):
            pairs.add((before, name))
            before = name
        elif "LOAD_FAST" in kind:
            name = name[-1] if isinstance(name, tuple) else name
            before = name if name == "self" else None
        elif kind in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
            before = name if name in free else None
        elif kind in GLOBALS:
            # what rewrites code, as pytest does asserts, gives names that nobody writes
            names |= {name} if name.isidentifier() else set()
            before = name
        elif kind not in ("CACHE", "NOP", "PUSH_NULL"):
            stores |= {name} if kind == "STORE_ATTR" else set()
            files |= {name} if kind == "IMPORT_NAME" else set()
            pairs |= {(before, name)} if kind in ("IMPORT_FROM", "STORE_ATTR") else set()
            before = None
    texts = {x for x in code.co_consts if isinstance(x, str) and x.isidentifier()}
    doubtful = {name for _, name in pairs} if "AttributeError" in names else set()
    if BY_NAME & names:
        pairs |= {(None, x) for x in texts}
        doubtful |= texts
    names |= texts if "globals" in names else set()
    words = {name for _, name in pairs}
    every = bool(ALL_OF & (names | words) or BY_NAME & words) or computes_names(steps)
    made = CodeNames(
        *map(frozenset, (pairs, names, stores, doubtful, files)),
        every,
        names_not_called(steps),
        compares=not SEARCHING.isdisjoint(names | words) or compares(steps),
    )
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            made = made.union(names_within(inner, free))
    return made


GLOBALS = (
    *("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"),
    "LOAD_FROM_DICT_OR_GLOBALS",
)


def names_not_called(steps: Sequence[dis.Instruction]) -> frozenset[str]:
    """The names that code loads for another use than to call them.

    A called object stands beside a NULL: in its first load or before it, since Python 3.13 after
    it.
    """
    found: set[str] = set()
    called = False
    for before, step, after in zip([None, *steps], steps, [*steps[1:], None], strict=False):
        begins = step.opname in ("LOAD_GLOBAL", "LOAD_DEREF")
        if begins or "LOAD_FAST" in step.opname:
            called = before is not None and before.opname == "PUSH_NULL"
        called |= "NULL" in step.argrepr
        if begins or step.opname == "LOAD_ATTR":
            ends = after is None or after.opname != "LOAD_ATTR"
            pushed = LATE_NULL and after is not None and after.opname == "PUSH_NULL"
            found |= {str(step.argval)} if not (called and ends) and not pushed else set()
            called &= not ends
    return frozenset(found)


LATE_NULL = sys.version_info >= (3, 13)


SEARCHING = frozenset({"id", "index", "count", "remove"})
"""Names of what finds an object by itself among others."""


def compares(steps: Sequence[dis.Instruction]) -> bool:
    """Whether code uses `is` or `in` with anything but constants."""
    pairs = pairwise(steps)
    return any(
        step.opname in ("IS_OP", "CONTAINS_OP") and before.opname != "LOAD_CONST"
        for before, step in pairs
    )


def reads_by_name(function: Any, name: str | None) -> bool:
    """Whether a function is getattr or the like, under another name."""
    own = getattr(function, "__name__", "")
    return (own in BY_NAME and name != own) or own in ALL_OF


def computes_names(steps: Sequence[dis.Instruction]) -> bool:
    """Whether code calls getattr or the like with a name that is computed."""
    return any(
        step.opname == "LOAD_GLOBAL"
        and step.argval in BY_NAME
        and not is_constant_name(steps[k + 1 :])
        for k, step in enumerate(steps)
    )


def is_constant_name(steps: Sequence[dis.Instruction]) -> bool:
    """Whether the second argument of the call that these instructions build is a constant."""
    depth, is_constant = 0, False
    for step in steps:
        kind = step.opname
        if "JUMP" in kind or kind == "CALL_FUNCTION_EX":
            return False
        if kind == "PRECALL":
            continue
        if kind in ("CALL", "CALL_KW"):
            if depth == step.arg:
                return is_constant
            depth -= step.arg or 0  # its method or function is counted as one
            continue
        if depth - JOINED.get(kind, 0 if "BUILD" not in kind else step.arg or 0) < 2 <= depth:
            is_constant = False
        if depth == 1:
            is_constant = kind == "LOAD_CONST"
        depth += MOVED.get(kind, dis.stack_effect(step.opcode, step.arg))
    return False


JOINED = {"BINARY_OP": 2, "BINARY_SUBSCR": 2, "COMPARE_OP": 2, "FORMAT_VALUE": 1}
"""Instruction -> the number of values that it pops to push one."""
MOVED = {"LOAD_GLOBAL": 1, "LOAD_METHOD": 0, "LOAD_ATTR": 0, "PUSH_NULL": 0}
"""Instruction -> its change of the stack's height, without the places that calls need."""


@memo
@cache
def codes_in(code: types.CodeType) -> frozenset[types.CodeType]:
    """A code object, and all code objects nested in it."""
    inner = [codes_in(x) for x in code.co_consts if isinstance(x, types.CodeType)]
    return frozenset({code}).union(*inner)


def walked_among(kind: type) -> tuple[type, ...]:
    """The classes in the order of method resolution that a user wrote in Python.

    Classes of the standard library count: they read what a user's objects hold.
    """
    return written(kind.__mro__)


@memo
@cache
def written(kinds: tuple[type, ...]) -> tuple[type, ...]:
    """The classes among these that a user wrote in Python."""
    return tuple(filter(is_written, kinds))


def is_written(kind: type) -> bool:
    """Whether a class is written in Python outside of Gnomon, numpy and Python's own modules."""
    package = package_of(kind.__module__)
    heap = bool(kind.__flags__ & 1 << 9)
    return heap and package not in (NAME, "numpy", "abc", "typing", "_thread")


def names_of(kind: type, known: dict[type, Below]) -> Below:
    """The names of the attributes that a class and its bases define; `known`: a cache of them."""
    if kind in known:
        return known[kind]
    written = walked_among(kind)
    found = {name for base in written for name in vars(base)}
    # what hides a method of ours is called by ours
    hidden = {name for base in kind.__mro__ if is_of_package(base) for name in vars(base)}
    special = (found & hidden | set(filter(is_special, found))) - UNREAD - MAKING
    makes = not special.isdisjoint(("__getattr__", "__getattribute__"))
    known[kind] = Below(frozenset(found - UNREAD), frozenset(special), makes)
    return known[kind]


def is_of_package(kind: type) -> bool:
    """Whether a class is Gnomon's own, whose methods are not walked."""
    return package_of(kind.__module__) == NAME


def is_special(name: str) -> bool:
    """Whether a name is one of Python's special names, as __len__."""
    return name.startswith("__") and name.endswith("__")


MAKING = frozenset({"__init__", "__new__", "__post_init__"})
"""Methods that make objects of a class, where code calls it."""
UNREAD = frozenset(
    {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__slots__"}
    | {"__qualname__", "__firstlineno__", "__static_attributes__", "__match_args__"}
    | {"__dataclass_fields__", "__dataclass_params__", "__abstractmethods__", "_abc_impl"}
    | {"__orig_bases__", "__parameters__", "__init_subclass__", "__class_getitem__"}
    | {"__subclasshook__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"}
    | {"__copy__", "__deepcopy__", "__getnewargs__", "__dir__", "__annotate__"}
)
"""Names of classes that no code runs by itself."""
