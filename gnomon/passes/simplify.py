"""Rewrites that keep every bit, also of signed zeros, denormals, infinities and NaN.

Rewrites that look harmless but are not (x + 0, x * 0, 1 / b * a, reassociation) are left out.
Consecutive views are merged.
"""

from __future__ import annotations

import math
from operator import abs  # a user's program may replace the builtin

from gnomon.dtypes import DType
from gnomon.ir.node import Graph, Node
from gnomon.ir.operators import constant
from gnomon.ir.rewrite import Rule, Rules, function, rewrite, variables
from gnomon.ir.sizes import is_symbolic
from gnomon.ops.view_primitives import permute

x, y, c, C = variables("x y c C")
where, absolute, invert = function("where"), function("abs"), function("not")
minimum, maximum = function("minimum"), function("maximum")


def is_float(**found: Node) -> bool:
    """Whether the operands of a rule are floats."""
    return next(iter(found.values())).dtype.is_floating_point


def is_integer(**found: Node) -> bool:
    """Whether the operands of a rule are integers."""
    return next(iter(found.values())).dtype.is_integer


def has_exact_reciprocal(C: Node, **_: Node) -> bool:
    """Whether 1 / C is exact: C is a power of two whose reciprocal is a normal number."""
    value = C.params["value"]
    if (
        not C.dtype.is_floating_point
        or is_symbolic(value)
        or not math.isfinite(value)
        or value == 0
    ):
        return False
    fraction, exponent = math.frexp(abs(value))
    return fraction == 0.5 and abs(exponent) < LEAST_EXPONENT[C.dtype.name]


LEAST_EXPONENT = {
    **{"float8_e4m3fn": 6, "float8_e5m2": 14, "float16": 14},
    **{"bfloat16": 126, "float32": 126, "float64": 1022},
}
"""Dtype -> the bound of exponents of powers of two whose reciprocals are normal numbers."""


def times_reciprocal(x: Node, C: Node) -> Node:
    """Rewrite x / C to x * (1 / C)."""
    factor = constant(C.arena, 1.0 / C.params["value"], C.dtype)
    return x.arena.node("map", (x, factor), f="mul")


floats = Rules("floats")
floats += -(-x) >> x, is_float
floats += x * 1.0 >> x, is_float
floats += x / 1.0 >> x, is_float
floats += x * -1.0 >> -x, is_float
floats += x / -1.0 >> -x, is_float
floats += x - 0.0 >> x, is_float  # but not x + 0.0, which turns -0.0 into 0.0
floats += x + -0.0 >> x, is_float
floats += x + (-y) >> x - y, is_float
floats += x - (-y) >> x + y, is_float
floats += (-x) * (-y) >> x * y, is_float
floats += (-x) / (-y) >> x / y, is_float
floats += absolute(-x) >> absolute(x), is_float
floats += x / C >> times_reciprocal, has_exact_reciprocal

every = Rules("any dtype")
every += where(c, x, x) >> x
every += minimum(x, x) >> x
every += maximum(x, x) >> x
every += absolute(absolute(x)) >> absolute(x)
every += invert(invert(x)) >> x

integers = Rules("integers")
integers += x + 0 >> x, is_integer
integers += x - 0 >> x, is_integer
integers += x * 1 >> x, is_integer
integers += -(-x) >> x, is_integer
integers += x + (-y) >> x - y, is_integer
integers += x - (-y) >> x + y, is_integer

ALL = (floats, every, integers)

RULES_OF: dict[str, list[Rule]] = {}
"""Scalar function -> the rules for its calls, in order."""

for _rule in (rule for rules in ALL for rule in rules):
    RULES_OF.setdefault(_rule.left.f, []).append(_rule)


def simplify(graph: Graph) -> Graph:
    """The graph with every rule applied."""
    return rewrite(graph, step)


def step(node: Node) -> Node | None:
    """One rewrite of a node; None when no rule applies."""
    if node.op != "map":
        return MERGES[node.op](node) if node.op in MERGES else None
    f: str = node.params["f"]
    if f == "cast":
        return cast_back(node)
    for rule in RULES_OF.get(f, ()):
        made = rule.apply(node)
        if made is not None:
            return made
    return None


def cast_back(node: Node) -> Node | None:
    """Remove a cast to a wider dtype and back; None if it is not such a cast."""
    (x,) = node.inputs
    if x.op != "map" or x.params["f"] != "cast":
        return None
    (first,) = x.inputs
    return first if first.dtype is node.dtype and includes(x.dtype, first.dtype) else None


def includes(wide: DType, narrow: DType) -> bool:
    """Whether every value of dtype `narrow` is a value of dtype `wide`."""
    if narrow.kind == "bool":
        return wide.kind != "bool"
    if wide.kind == narrow.kind == "float":
        return wide.name in WIDER.get(narrow.name, ())
    return wide.kind == narrow.kind and wide.bits >= narrow.bits


WIDER = {
    "bfloat16": ("float32", "float64"),
    "float16": ("float32", "float64"),
    "float32": ("float64",),
}


def merge_permutes(node: Node) -> Node | None:
    """Merge two permutations into one; None if the operand is none."""
    (x,) = node.inputs
    if x.op != "permute":
        return None
    return permute(x.inputs[0], tuple(x.params["order"][k] for k in node.params["order"]))


def merge_reshapes(node: Node) -> Node | None:
    """Merge two reshapes into one, or remove one to the same shape; None if neither applies."""
    (x,) = node.inputs
    if x.shape == node.shape:
        return x
    if x.op != "reshape":
        return None
    return node.arena.node("reshape", x.inputs, shape=node.shape)


def merge_expands(node: Node) -> Node | None:
    """Merge two broadcasts into one; None if the operand is none."""
    (x,) = node.inputs
    return node.arena.node("expand", x.inputs, shape=node.shape) if x.op == "expand" else None


def open_detach(node: Node) -> Node:
    """Remove a detach, which has no effect once gradients have been taken."""
    return node.inputs[0]


MERGES = {
    "permute": merge_permutes,
    "reshape": merge_reshapes,
    "expand": merge_expands,
    "detach": open_detach,
}
