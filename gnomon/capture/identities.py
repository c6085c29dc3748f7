"""Numbers of objects, as `id` tells them: whether code uses one only to tell objects apart.

A replay has the same objects in the same places, so that what is compared, or is a key, has the
outcome that it had. A number that goes elsewhere is another one for the next call's objects. Who
calls `id` is seen in effects.py; where a name leads is found in closure_state.py.
"""

from __future__ import annotations

import ast
import linecache
from functools import cached_property, lru_cache
from itertools import islice
from types import CodeType
from typing import NamedTuple

from gnomon.ir.memo import memo

__all__ = ["tells_apart"]

KEYED = dict.get, dict.pop, dict.setdefault, set.add, set.discard, set.remove
SEEKING = frozenset(each.__name__ for each in (*KEYED, list.index, list.count))
"""Methods of containers that look for what they are given."""
Display = ast.Dict | ast.DictComp | ast.Set | ast.SetComp | ast.List | ast.Tuple
Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.Module
Span = tuple[int | None, int | None, int | None, int | None]


class Local(NamedTuple):
    """A name local to one function: its plain assigned values, or none, and its reads."""

    given: list[ast.expr | None]
    read: list[ast.expr]


class ParsedFile:
    """A parsed source file, with the parent of each syntax node."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self.parents = {
            part: whole for whole in ast.walk(self.tree) for part in ast.iter_child_nodes(whole)
        }

    @cached_property
    def calls(self) -> dict[Span, ast.expr]:
        """The calls of `id`, by position."""
        found = [x for x in ast.walk(self.tree) if isinstance(x, ast.expr) and is_call(x, "id")]
        return {(x.lineno, x.end_lineno, x.col_offset, x.end_col_offset): x for x in found}

    def is_apart(self, part: ast.expr) -> bool:
        """Whether an id is used only in comparisons, as a key, in lookups, or by a name used so."""
        whole = self.parents[part]
        match whole:
            case ast.Compare():
                return self.is_compared(whole)
            case ast.Subscript(value=container):
                return part is whole.slice and self.is_own(container)
            case ast.Tuple():
                return self.is_apart(whole)
            case ast.Set() | ast.SetComp():
                return self.stays(whole)
            case ast.Dict():
                return part in whole.keys and self.stays(whole)
            case ast.DictComp():
                return part is whole.key and self.stays(whole)
            case ast.Call(func=ast.Attribute(attr=name, value=container)):
                return part in whole.args and name in SEEKING and self.is_own(container)
            case ast.Assign(targets=[ast.Name() as name]):
                return all(map(self.is_apart, self.local(name).read))
        return False

    def is_compared(self, whole: ast.Compare) -> bool:
        """Whether a comparison compares ids, or looks for one in a container of ids."""
        left, right = whole.left, whole.comparators
        if all(isinstance(x, ast.Eq | ast.NotEq) for x in whole.ops):
            return all(map(self.is_number, (left, *right)))
        return self.is_sought(whole) and self.is_own(right[0])

    def is_sought(self, whole: ast.Compare) -> bool:
        """Whether a comparison looks for an id in a container."""
        seeks = len(whole.ops) == 1 and isinstance(whole.ops[0], ast.In | ast.NotIn)
        return seeks and self.is_number(whole.left)

    def is_number(self, part: ast.expr) -> bool:
        """Whether an expression is an id, a constant, a name of one, or a tuple of these."""
        if isinstance(part, ast.Tuple):
            return all(map(self.is_number, part.elts))
        given = self.local(part).given if isinstance(part, ast.Name) else [part]
        return bool(given) and all(isinstance(x, ast.Constant) or is_call(x, "id") for x in given)

    def is_own(self, container: ast.expr) -> bool:
        """Whether a container is made by the function that looks into it, and does not escape."""
        match container:
            case ast.Set() | ast.Tuple() | ast.List():
                return all(map(self.is_number, container.elts))
            case ast.Name():
                given, read = self.local(container)
                return bool(given) and all(map(is_made, given)) and all(map(self.stays, read))
        return isinstance(container, Display)

    def stays(self, container: ast.expr) -> bool:
        """Whether a use of a container only looks into it, counts it, or names it."""
        whole = self.parents[container]
        match whole:
            case ast.Subscript():
                return container is whole.value and self.is_number(whole.slice)
            case ast.Compare():
                return self.is_sought(whole)
            case ast.Attribute(attr=name):
                call = self.parents[whole]
                sought = call.args[:1] if isinstance(call, ast.Call) else []
                return name in SEEKING and bool(sought) and all(map(self.is_number, sought))
            case (
                ast.Assign(targets=[ast.Name() as name]) | ast.AnnAssign(target=ast.Name() as name)
            ):
                return self.is_own(name)
        return is_call(whole, "len")

    def local(self, name: ast.Name) -> Local:
        """The uses of a name in its function; a name shared with others has no plain value."""
        scope = self.scope_of(name)
        if isinstance(scope, ast.Module) or name.id in shared_names(scope):
            return Local([None], [])
        names = [x for x in ast.walk(scope) if isinstance(x, ast.Name) and x.id == name.id]
        inner = any(self.scope_of(x) is not scope for x in names)
        stored = [x for x in names if not isinstance(x.ctx, ast.Load)]
        given = [None] * inner + [value_of(self.parents[x]) for x in stored]
        return Local(given, [x for x in names if isinstance(x.ctx, ast.Load)])

    def scope_of(self, part: ast.AST) -> ast.AST:
        """The function, or the file, that contains a syntax node."""
        while not isinstance(part, Scope):
            part = self.parents[part]
        return part


def shared_names(scope: ast.AST) -> set[str]:
    """The names that a function shares with others: parameters, global and nonlocal ones."""
    parts = list(ast.walk(scope))
    declared = [x.names for x in parts if isinstance(x, ast.Global | ast.Nonlocal)]
    return {x.arg for x in parts if isinstance(x, ast.arg)}.union(*declared)


def value_of(stored: ast.AST) -> ast.expr | None:
    """The value of an assignment to one name, or None."""
    match stored:
        case ast.Assign(targets=[_], value=value) | ast.AnnAssign(value=value):
            return value
    return None


def is_call(part: ast.AST | None, name: str) -> bool:
    """Whether a syntax node is a call of this name.

    >>> is_call(ast.parse("id(x)", mode="eval").body, "id")
    True
    """
    return isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == name


def is_made(given: ast.expr | None) -> bool:
    """Whether an expression makes a new container."""
    return isinstance(given, Display) or any(is_call(given, x) for x in ("dict", "set", "list"))


@memo
@lru_cache(1 << 6)
def parsed(text: str) -> ParsedFile | None:
    """The syntax tree of a file, if it is valid Python."""
    try:
        return ParsedFile(text)
    except SyntaxError:
        return None


@memo
@lru_cache(1 << 10)
def tells_apart(code: CodeType, place: int) -> bool:
    """Whether an id from an instruction's call only distinguishes objects; False without source.

    >>> import sys
    >>> tells_apart(sys._getframe().f_code, 0)
    False
    """
    line, end, column, end_column = next(islice(code.co_positions(), place // 2, None))
    linecache.checkcache(code.co_filename)
    found = parsed("".join(linecache.getlines(code.co_filename)))
    call = found and found.calls.get((line, end, column, end_column))
    return bool(found and call and found.is_apart(call))
