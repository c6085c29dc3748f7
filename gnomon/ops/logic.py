"""Comparisons, logic, bits and selection, element by element.

Results are booleans. Reductions `any` and `all` are in reductions.py.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from gnomon.dtypes import bool_, dtype_of_number, uint8
from gnomon.errors import DtypeError
from gnomon.ir.node import Node
from gnomon.ir.operators import constant, elementwise
from gnomon.lazy import Lazy
from gnomon.ops import scalars
from gnomon.ops.arguments import filling_of, promoted, sum_like
from gnomon.ops.documentation import illustrated
from gnomon.ops.elementwise import Operand, as_floats, binary, is_not_float
from gnomon.ops.primitives import expand
from gnomon.ops.registry import Op, Reference, op

ml_dtypes = Lazy("ml_dtypes")


def as_truth(name: str, *xs: Operand) -> list[Operand]:
    """The operands as booleans."""
    return [truth(x) if isinstance(x, Node) else bool(x) for x in xs]


def no_floats(name: str, *xs: Operand) -> list[Node]:
    """The operands promoted; raises for floats."""
    nodes = promoted(name, *xs)
    if nodes[0].dtype.is_floating_point:
        raise DtypeError(f"{name}: needs integers or truth values: got {nodes[0].dtype.name}.")
    return nodes


def truth(x: Node) -> Node:
    """Whether each element differs from zero."""
    return x if x.dtype is bool_ else elementwise("ne", x, 0)


# comparisons

equal = binary(
    "equal",
    "Whether x = y.",
    np.equal,
    row="eq",
    aliases=("eq",),
    operator="__eq__",
    shows="equal(tensor([1, 2]), tensor([1, 3])) -> Tensor([ True, False])",
    complex="formula",
)
not_equal = binary(
    "not_equal",
    "Whether x ≠ y.",
    np.not_equal,
    row="ne",
    aliases=("ne",),
    operator="__ne__",
    shows="not_equal(tensor([1, 2]), tensor([1, 3])) -> Tensor([False,  True])",
    complex="formula",
)
less = binary(
    "less",
    "Whether x < y.",
    np.less,
    row="lt",
    aliases=("lt",),
    operator="__lt__",
    shows="less(tensor([1, 2]), tensor([2, 2])) -> Tensor([ True, False])",
)
less_equal = binary(
    "less_equal",
    "Whether x ≤ y.",
    np.less_equal,
    row="le",
    aliases=("le",),
    operator="__le__",
    shows="less_equal(tensor([1, 2]), tensor([1, 1])) -> Tensor([ True, False])",
)
greater = binary(
    "greater",
    "Whether x > y.",
    np.greater,
    row="gt",
    aliases=("gt",),
    operator="__gt__",
    shows="greater(tensor([3, 2]), tensor([2, 2])) -> Tensor([ True, False])",
)
greater_equal = binary(
    "greater_equal",
    "Whether x ≥ y.",
    np.greater_equal,
    row="ge",
    aliases=("ge",),
    operator="__ge__",
    shows="greater_equal(tensor([3, 1]), tensor([3, 2])) -> Tensor([ True, False])",
)


def test_of_floats(
    name: str, sentence: str, reference: Reference, of_integer: bool, shows: str
) -> Op:
    """Create a test of floats that is the same for all integers."""

    def function(x: Node) -> Node:
        if is_not_float(x):
            return expand(constant(x.arena, of_integer, bool_), x.shape)
        return elementwise(name, x)

    function.__name__ = name
    function.__doc__ = illustrated(sentence, shows)
    return op(function, inline=True, reference=reference, complex="formula")


isnan = test_of_floats(
    "isnan",
    "Whether x is not a number.",
    np.isnan,
    False,
    shows="isnan(tensor([1.0, nan])) -> Tensor([False,  True])",
)
isinf = test_of_floats(
    "isinf",
    "Whether x is infinite.",
    np.isinf,
    False,
    shows="isinf(tensor([1.0, -inf])) -> Tensor([False,  True])",
)
isfinite = test_of_floats(
    "isfinite",
    "Whether x is finite.",
    np.isfinite,
    True,
    shows="isfinite(tensor([1.0, nan])) -> Tensor([ True, False])",
)


@op(inline=True, reference=np.signbit)
def signbit(x: Node) -> Node:
    """Whether the sign bit is set; −0 has it too.

    Shapes: x (...) -> (...)

    >>> signbit(tensor([-0.0, 0.0, -1.0]))
    Tensor([ True, False,  True])
    """
    return elementwise("signbit", x) if x.dtype.is_floating_point else elementwise("lt", x, 0)


@op(
    reference=lambda x, y, rtol=1e-5, atol=1e-8, equal_nan=False: np.isclose(
        x, y, rtol, atol, equal_nan
    ),
    complex="formula",
)
def isclose(
    x: Operand, y: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Node:
    """Whether |x − y| ≤ atol + rtol · |y|.

    Shapes: x (...), y (...) -> (...)

    >>> isclose(tensor([1.0, 1.0]), tensor([1.000001, 1.1]))
    Tensor([ True, False])
    """
    x, y = as_floats("isclose", x, y)
    near = elementwise("le", elementwise("abs", x - y), atol + rtol * elementwise("abs", y))
    near = elementwise("and", near, elementwise("isfinite", y))
    close = elementwise("or", elementwise("eq", x, y), near)
    if not equal_nan:
        return close
    both = elementwise("and", elementwise("isnan", x), elementwise("isnan", y))
    return elementwise("or", close, both)


# logic and bits

logical_and = binary(
    "logical_and",
    "Whether both hold.",
    np.logical_and,
    row="and",
    prepare=as_truth,
    complex="truth",
    shows="logical_and(tensor([True, True]), tensor([True, False])) -> Tensor([ True, False])",
)
logical_or = binary(
    "logical_or",
    "Whether one holds.",
    np.logical_or,
    row="or",
    prepare=as_truth,
    complex="truth",
    shows="logical_or(tensor([False, False]), tensor([True, False])) -> Tensor([ True, False])",
)
logical_xor = binary(
    "logical_xor",
    "Whether exactly one holds.",
    np.logical_xor,
    row="xor",
    prepare=as_truth,
    complex="truth",
    shows="logical_xor(tensor([True, True]), tensor([True, False])) -> Tensor([False,  True])",
)
bitwise_and = binary(
    "bitwise_and",
    "The bits set in both.",
    np.bitwise_and,
    row="and",
    prepare=no_floats,
    operator="__and__",
    shows="bitwise_and(tensor([6]), tensor([3])) -> Tensor([2])",
)
bitwise_or = binary(
    "bitwise_or",
    "The bits set in one.",
    np.bitwise_or,
    row="or",
    prepare=no_floats,
    operator="__or__",
    shows="bitwise_or(tensor([6]), tensor([3])) -> Tensor([7])",
)
bitwise_xor = binary(
    "bitwise_xor",
    "The bits set in exactly one.",
    np.bitwise_xor,
    row="xor",
    prepare=no_floats,
    operator="__xor__",
    shows="bitwise_xor(tensor([6]), tensor([3])) -> Tensor([5])",
)
bitwise_left_shift = binary(
    "bitwise_left_shift",
    "x · 2^y, wrapping.",
    np.left_shift,
    row="shift_left",
    prepare=no_floats,
    operator="__lshift__",
    shows="bitwise_left_shift(tensor([1, 3]), tensor([4, 1])) -> Tensor([16,  6])",
)
bitwise_right_shift = binary(
    "bitwise_right_shift",
    "x / 2^y rounded down.",
    np.right_shift,
    row="shift_right",
    prepare=no_floats,
    operator="__rshift__",
    shows="bitwise_right_shift(tensor([16, -1]), tensor([3, 1])) -> Tensor([ 2, -1])",
)


@op(inline=True, reference=np.logical_not, complex="formula")
def logical_not(x: Node) -> Node:
    """Whether x is zero or False.

    Shapes: x (...) -> (...)

    >>> logical_not(tensor([0, 1, 2]))
    Tensor([ True, False, False])
    """
    return elementwise("not", truth(x))


@op(inline=True, reference=np.bitwise_not, aliases=("bitwise_invert",), operator="__invert__")
def bitwise_not(x: Node) -> Node:
    """Invert every bit of x; logical not for booleans.

    Shapes: x (...) -> (...)

    >>> bitwise_not(tensor([0, 5]))
    Tensor([-1, -6])
    """
    return elementwise("not", *no_floats("bitwise_not", x))


# choices


@op(inline=True, reference=np.where, method=False, complex=("parts", 1, 2))
def where(condition: Node, x: Operand, y: Operand) -> Node:
    """x where the condition is True, else y.

    Shapes: condition (...), x (...), y (...) -> (...)

    >>> where(tensor([True, False]), tensor([1, 2]), 0)
    Tensor([1, 0])
    >>> where(tensor([True, False]), ones(2), ones(3))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: where: shapes do not broadcast: (2,) and (3,) differ in axis -1.
    """
    if not isinstance(x, Node) and not isinstance(y, Node):
        x = constant(condition.arena, x, dtype_of_number(x))
    if condition.dtype is uint8:
        condition = elementwise("ne", condition, 0)
    return chosen("where", condition, *promoted("where", x, y))


def chosen(name: str, condition: Node, yes: Node, no: Node) -> Node:
    """Select yes where the condition holds, else no; raises if the condition is not boolean."""
    if condition.dtype is not bool_:
        raise DtypeError(f"{name}: the condition must be bool: got {condition.dtype.name}.")
    return scalars.where(condition, yes, no)


@op(
    inline=True,
    reference=lambda x, mask, value: np.where(mask, np.asarray(value, x.dtype), x),
    complex=("parts", 0, 2),
)
def masked_fill(x: Node, mask: Node, value: Operand) -> Node:
    """x with a value where the mask is True, in x's dtype.

    Shapes: x (...), mask (...) -> (...)

    >>> masked_fill(tensor([1.0, 2.0]), tensor([False, True]), -inf)
    Tensor([  1., -inf])
    """
    filling = filling_of("masked_fill", x, value)
    return chosen("masked_fill", mask, filling, x)


def clip_gradient(
    g: Node, y: Node, x: Node, min: Operand | None = None, max: Operand | None = None
):
    """The gradients of clip: x's inside and on the bounds; outside, that of a tensor bound."""
    low = None if min is None else elementwise("lt", x, min)
    high = None if max is None else elementwise("gt", x, max)
    outside = low if high is None else high if low is None else elementwise("or", low, high)
    parts = [g if outside is None else sum_like(scalars.where(outside, 0.0, g), x)]
    tensors = isinstance(min, Node) or isinstance(max, Node)
    if tensors and min is not None and max is not None and low is not None and high is not None:
        # where the bounds cross, max is what comes out
        crossed = elementwise("lt", max, min)
        low = elementwise("and", low, elementwise("not", crossed))
        high = elementwise("or", high, crossed)
    if isinstance(min, Node) and low is not None:
        parts.append(sum_like(scalars.where(low, g, 0.0), min))
    if isinstance(max, Node) and high is not None:
        parts.append(sum_like(scalars.where(high, g, 0.0), max))
    return tuple(parts)


@op(
    reference=np.clip,
    gradient=clip_gradient,
    aliases=("clamp",),
    bare="at least one of min or max must not be None",
)
def clip(x: Node, min: Operand | None = None, max: Operand | None = None) -> Node:
    """Clamp x to [min, max]; None means no bound.

    Shapes: x (...) -> (...)

    >>> clip(tensor([-3, 0, 9]), 0, 5)
    Tensor([0, 0, 5])
    """
    x = x if min is None else elementwise("maximum", x, min)
    return x if max is None else elementwise("minimum", x, max)


@op(inline=True, reference=lambda x, min: np.maximum(x, min))
def clamp_min(x: Node, min: Operand) -> Node:
    """Clamp x to at least min.

    Shapes: x (...) -> (...)

    >>> clamp_min(tensor([-1, 5]), 0)
    Tensor([0, 5])
    """
    return clip(x, min)


@op(inline=True, reference=lambda x, max: np.minimum(x, max))
def clamp_max(x: Node, max: Operand) -> Node:
    """Clamp x to at most max.

    Shapes: x (...) -> (...)

    >>> clamp_max(tensor([-1, 5]), 0)
    Tensor([-1,  0])
    """
    return clip(x, None, max)


def unless_nan(row: str, x: Operand, y: Operand) -> Node:
    """Apply a scalar function; if one operand is NaN, the other one is the result."""
    x, y = promoted(row, x, y)
    if is_not_float(x):
        return elementwise(row, x, y)
    either = scalars.where(elementwise("isnan", y), x, elementwise(row, x, y))
    return scalars.where(elementwise("isnan", x), y, either)


def to_the_first(row: str, g: Node, _: Node, *given: Operand) -> tuple[Node | None, ...]:
    """The gradients of fmax or fmin: all of it goes to the first operand where both are equal."""
    x, y = promoted(row, *given)
    won = elementwise("or", elementwise(row, x, y), elementwise("isnan", y))
    parts = zip((scalars.where(won, g, 0.0), scalars.where(won, 0.0, g)), given, strict=True)
    return tuple(sum_like(part, v) if isinstance(v, Node) else None for part, v in parts)


@op(reference=np.fmax, gradient=partial(to_the_first, "ge"))
def fmax(x: Operand, y: Operand) -> Node:
    """The larger of x and y, ignoring NaN where the other is a number.

    Shapes: x (...), y (...) -> (...)

    >>> fmax(tensor([1.0, nan]), tensor([2.0, 3.0]))
    Tensor([2., 3.])
    """
    return unless_nan("maximum", x, y)


@op(reference=np.fmin, gradient=partial(to_the_first, "le"))
def fmin(x: Operand, y: Operand) -> Node:
    """The smaller of x and y, ignoring NaN where the other is a number.

    Shapes: x (...), y (...) -> (...)

    >>> fmin(tensor([1.0, nan]), tensor([2.0, 3.0]))
    Tensor([1., 3.])
    """
    return unless_nan("minimum", x, y)


@op(
    reference=lambda x, nan=0.0, posinf=None, neginf=None: np.nan_to_num(
        x, True, nan, posinf, neginf
    ),
    complex="parts",
)
def nan_to_num(
    x: Node, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Node:
    """Replace NaN and infinities by finite numbers; None means the dtype's extremes.

    Shapes: x (...) -> (...)

    >>> nan_to_num(tensor([nan, inf, 1.0]), posinf=9.0)
    Tensor([0., 9., 1.])
    """
    if is_not_float(x):
        return x
    limits = ml_dtypes.finfo(x.dtype.numpy)
    high = float(limits.max) if posinf is None else posinf
    low = float(limits.min) if neginf is None else neginf
    y = scalars.where(elementwise("eq", x, float("inf")), high, x)
    y = scalars.where(elementwise("eq", x, float("-inf")), low, y)
    return scalars.where(elementwise("isnan", x), nan, y)
