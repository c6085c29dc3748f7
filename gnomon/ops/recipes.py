"""Recipes: what a function makes of nodes, recorded once and repeated for others of their kinds.

Only for functions that look at shapes and dtypes alone, in eager programs, whose calls come again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any

from gnomon.ir.memo import Recent, memo
from gnomon.ir.node import Arena, Node, topological
from gnomon.ir.operators import constant

__all__ = ["repeated"]

_recipes: Recent[tuple[Any, ...], Any] = memo(Recent())
"""For functions and kinds of operands: operands, what was made of them in order, and results."""


def repeated(
    key: tuple[Any, ...],
    given: Sequence[Node],
    make: Callable[[list[Node]], Sequence[Node | None]],
) -> list[Any]:
    """The results of a function, which is called once for operands of such kinds.

    key: what it depends on beside these. make: gives the results of other operands, which it may
    replace by its own.
    """
    arena = given[0].arena
    if not arena.shared or "const" in [x.op for x in given]:  # which is folded where it is read
        return [*make([*given])]
    key = (*key, *[x.dtype for x in given], *[x.shape for x in given])
    recipe = _recipes.get(key)
    if recipe is None:
        scratch = Arena()
        operands = [scratch.input(x.shape, x.dtype) for x in given]
        results = make(operands)
        order = topological([x for x in results if x is not None], operands)
        recipe = _recipes[key] = operands, sorted(order, key=attrgetter("serial")), results
    operands, order, results = recipe
    known: dict[Node | None, Any] = {None: None, **dict(zip(operands, given, strict=True))}
    for x in order:
        inputs = tuple([known[y] for y in x.inputs])
        value = x.params.get("value")
        known[x] = arena.repeat(x, inputs) if inputs else constant(arena, value, x.dtype)
    return [known[x] for x in results]
