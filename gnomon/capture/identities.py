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

from gnomon.ir.memo import memo

__all__ = ["tells_apart"]

KEYED = dict.get, dict.pop, dict.setdefault, set.add, set.discard, set.remove
SEEKING = frozenset(each.__name__ for each in (*KEYED, list.index, list.count))
"""Methods of containers that look for what they are given."""
Span = tuple[int | None, int | None, int | None, int | None]


class ParsedFile:
    """The text of a file: what each part of it is a part of."""

    def __init__(self, text: str) -> None:
        self.tree = ast.parse(text)
        self.parents = {
            part: whole for whole in ast.walk(self.tree) for part in ast.iter_child_nodes(whole)
        }

    @cached_property
    def calls(self) -> dict[Span, ast.Call]:
        """The calls, by where they stand."""
        found = [x for x in ast.walk(self.tree) if isinstance(x, ast.Call)]
        return {(x.lineno, x.end_lineno, x.col_offset, x.end_col_offset): x for x in found}

    def is_apart(self, part: ast.AST) -> bool:
        """Whether a value is compared, is a key, is looked for, or has a name that only is."""
        whole = self.parents[part]
        match whole:
            case ast.Tuple():
                return self.is_apart(whole)
            case ast.Compare() | ast.Set() | ast.SetComp():
                return True
            case ast.Subscript():
                return part is whole.slice
            case ast.Dict():
                return part in whole.keys
            case ast.DictComp():
                return part is whole.key
            case ast.Call(func=ast.Attribute(attr=name)):
                return part in whole.args and name in SEEKING
            case ast.Assign(targets=[ast.Name(id=name)]):
                return self.is_apart_by_name(whole, name)
        return False

    def is_apart_by_name(self, given: ast.AST, name: str) -> bool:
        """Whether all that a function does with a name tells apart."""
        inside = given
        while not isinstance(inside, ast.FunctionDef | ast.AsyncFunctionDef | ast.Module):
            inside = self.parents[inside]
        names = [x for x in ast.walk(inside) if isinstance(x, ast.Name) and x.id == name]
        read = [x for x in names if isinstance(x.ctx, ast.Load)]
        return not isinstance(inside, ast.Module) and all(map(self.is_apart, read))


@memo
@lru_cache(1 << 6)
def parsed(file: str) -> ParsedFile | None:
    """The text of a file, if there is one."""
    try:
        return ParsedFile("".join(linecache.getlines(file)))
    except SyntaxError:
        return None


@memo
@lru_cache(1 << 10)
def tells_apart(code: CodeType, place: int) -> bool:
    """Whether what an instruction's call gives only tells objects apart; no, where no text says.

    >>> import sys
    >>> tells_apart(sys._getframe().f_code, 0)
    False
    """
    line, end, column, end_column = next(islice(code.co_positions(), place // 2, None))
    found = parsed(code.co_filename)
    call = found and found.calls.get((line, end, column, end_column))
    return bool(found and call and found.is_apart(call))
