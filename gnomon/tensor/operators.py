"""Python's operators on tensors, by CPython's rules: what a tensor does not know is NotImplemented.

In-place forms write to the tensor, and refuse a result whose kind the tensor cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gnomon.dtypes import KINDS, DType, default_float, float32
from gnomon.errors import ComplexError, DtypeError
from gnomon.ir.memo import memo
from gnomon.ir.node import Node, pattern_of
from gnomon.ir.operators import Scalar, cast, constant, is_narrow
from gnomon.ir.provenance import scope, sites_here
from gnomon.ops import every  # noqa: F401 - fills the registry
from gnomon.ops.registry import OPS, Op, operations
from gnomon.tensor.autocast import fitted
from gnomon.tensor.overrides import is_overriding, public, taken_over
from gnomon.tensor.state import NOTHING, grads, narrow, of_complex, program_size, saving, state
from gnomon.tensor.strides import check_places
from gnomon.tensor.tensor import Paired, Tensor, from_array, node_of, wrap
from gnomon.tensor.traced_numbers import beside, plain_of, varies
from gnomon.tensor.writing import write

COMPARISONS = frozenset({"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"})
"""Methods that Python reflects itself: no other form of them is wanted."""
SYMBOLS = {"__add__": "+=", "__sub__": "-=", "__mul__": "*=", "__truediv__": "/=", "__pow__": "**="}
"""The signs of in-place forms, for messages."""
NUMBERS = (bool, int, float)
USUAL = frozenset({Tensor, *NUMBERS})
"""Classes of operands that nodes combine with as they are."""
LEFT_OPERAND = (2, float32)
"""In a pattern, in place of a constant: the right input is the left operand once more, since x ** 2
is built as x * x. It is compared by identity."""
MOST_PATTERNS = 4096
_patterns: dict[tuple[Any, ...], tuple[Node, tuple[Scalar, DType] | None]] = memo({})
"""Results of operators by two kinds of operands, as templates of further ones."""


def operand(value: Any) -> Any:
    """An operand for an operation on nodes; NotImplemented for unknown types."""
    kind = type(value)
    if kind is float or kind is int or kind is bool:
        return value
    if issubclass(kind, (Tensor, Paired)):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return from_array(value)
    if varies(value):
        return value
    if hasattr(kind, "_symint"):
        return program_size(value)
    for number in NUMBERS:
        if isinstance(value, number):
            return number(value)
    return NotImplemented


def combine(function: Callable, left: Any, right: Any) -> Tensor:
    """The result of a binary function, at least one operand being a tensor."""
    tracked, x, y = False, left, right
    before = scope.sites
    if before is None:
        scope.sites = sites_here()
    try:
        if isinstance(left, Tensor):
            whole = left._view is None and left._storage.tracked
            tracked, x = whole or left._requires or left.requires_grad, node_of(left)
        if isinstance(right, Tensor):
            whole = tracked or (right._view is None and right._storage.tracked)
            tracked, y = whole or right._requires or right.requires_grad, node_of(right)
        result = like_before(function, x, y)
    except ComplexError:
        return of_complex("called")(function, (left, right))
    finally:
        scope.sites = before
    return tracking(result, tracked, (left, right))


def like_before(function: Callable, x: Any, y: Any) -> Node:
    """The result of a binary function, made like an earlier one for operands of equal kinds."""
    kind = type(y)
    if type(x) is not Node or state.recorder is not NOTHING or narrow.get() is not None:
        return computed(function, x, y)
    if kind is Node:
        key = (function, default_float(), x.dtype, x.shape, y.dtype, y.shape)
    elif kind is float or kind is int:
        key = (function, default_float(), x.dtype, x.shape, kind, y or str(y))  # 0 equals -0.0
    else:
        return computed(function, x, y)
    if (found := _patterns.get(key)) is not None:
        like, number = found
        if number is not None:
            y = x if number is LEFT_OPERAND else constant(x.arena, *number)
        return x.arena.repeat(like, (x, y))
    result = computed(function, x, y)
    if len(result.inputs) == 2 and result.inputs[0] is x and "serial" not in result.params:
        right, like = result.inputs[1], pattern_of(result.kind, result.op, result.params, result)
        if len(_patterns) >= MOST_PATTERNS:
            _patterns.clear()
        if right is y:
            _patterns[key] = like, None
        elif kind is not Node and right is x and x.op != "const":
            _patterns[key] = like, LEFT_OPERAND
        elif kind is not Node and right.op == "const" and right is not x:
            _patterns[key] = like, (right.params["value"], right.dtype)
    return result


def computed(function: Callable, x: Any, y: Any) -> Node:
    """The result of a binary function, at least one operand being a node."""
    kept = None
    if varies(x) or varies(y):
        x, y, kept = beside_each(function, x, y)
    if narrow.get() is not None:
        x, y = (fitted(function, each) for each in (x, y))
    return function(x, y) if kept is None else cast(function(x, y), kept)


def tracking(result: Node, tracked: bool, operands: Sequence) -> Tensor:
    """A result as a tensor, differentiable if an operand is."""
    tracked = tracked and grads.get() and result.dtype.kind == "float"
    if tracked and saving.get() is not None:
        result = saving.get().result(result, [x for x in operands if isinstance(x, Tensor)])
    return wrap(result, tracked)


def beside_each(function: Callable, x: Any, y: Any) -> tuple[Any, Any, DType | None]:
    """A node and a traced number as operands, and the dtype of the result.

    Narrow floats are multiplied and divided in float32, as they are by a constant.
    """
    if function not in WITH_NUMBERS:
        return plain_of(x), plain_of(y), None
    node, kept = x if varies(y) else y, None
    if function in PRODUCTS and is_narrow(node.dtype):
        kept, node = node.dtype, cast(node, float32)
    x, y = (beside(each, node) if varies(each) else node for each in (x, y))
    return x, y, kept


def with_stranger(function: Callable, name: str, left: Any, right: Any) -> Any:
    """The result for a complex number, or an operand of a class that overrides the function.

    NotImplemented for others.
    """
    if is_overriding(left) or is_overriding(right):
        return taken_over(public[name], (left, right))
    pair = [x.item() if isinstance(x, np.generic) else x for x in (left, right)]
    if not any(isinstance(x, complex) for x in pair):
        return NotImplemented
    return of_complex("called")(function, pair)


def forward(function: Callable, name: str) -> Callable:
    """The operator with the tensor on the left."""

    def method(self: Tensor, other: Any) -> Any:
        given = other if type(other) in USUAL else operand(other)
        if given is NotImplemented:
            return with_stranger(function, name, self, other)
        return combine(function, self, given)

    method.meant = name, False
    return method


def reflected(function: Callable, name: str) -> Callable:
    """The operator with the tensor on the right."""

    def method(self: Tensor, other: Any) -> Any:
        given = other if type(other) in USUAL else operand(other)
        if given is NotImplemented:
            return with_stranger(function, name, other, self)
        return combine(function, given, self)

    method.meant = name, True
    return method


def in_place(function: Callable, symbol: str) -> Callable:
    """The in-place operator of a tensor on the left."""

    def method(self: Tensor, other: Any) -> Any:
        other = operand(other)
        if other is NotImplemented:
            return other
        result = combine(function, self, other)
        return write_result(self, result, symbol)

    return method


def write_result(tensor: Tensor, result: Tensor, name: str) -> Tensor:
    """Store a result in the tensor itself."""
    refuse_kind(tensor, result, name)
    if name != "copy_":
        check_places(tensor, name)
    return write(tensor, node_of(result), result.requires_grad)


def refuse_kind(tensor: Tensor, value: Node | Tensor, name: str) -> None:
    """Refuse to store floats in integers, or numbers in booleans."""
    mine, theirs = tensor.dtype, value.dtype
    integers = mine.is_integer and theirs.is_integer
    if KINDS.index(theirs.kind) > KINDS.index(mine.kind) and not integers:
        raise DtypeError(
            f"{name}: result type {theirs.name} can't be cast to the desired output type "
            f"{mine.name}. Write `x = x {name.rstrip('=')} y`, or cast first."
        )


def power(self: Tensor, other: Any, modulus: Any = None) -> Any:
    """x ** y; a third argument is not known."""
    if modulus is not None:
        return NotImplemented
    return POWER(self, other)


OPERATORS = {op.facts.operator: op for op in operations() if op.facts.operator}
"""Python's method -> the operation that it is."""
WITH_NUMBERS = {
    function
    for slot in (*COMPARISONS, "__add__", "__sub__", "__mul__", "__truediv__")
    for function in (OPERATORS[slot], OPERATORS[slot].function)
}
"""Operations that take a number as a tensor of no axes just as well."""
PRODUCTS = {
    function
    for slot in ("__mul__", "__truediv__")
    for function in (OPERATORS[slot], OPERATORS[slot].function)
}
POWER = forward(OPERATORS["__pow__"].function, OPERATORS["__pow__"].__name__)


def install() -> None:
    """Give Tensor its operators."""
    for slot, op in OPERATORS.items():
        function = op.function if op.inline else op
        if len(op.words) == 1:
            setattr(Tensor, slot, unary(function, meant(op)))
            continue
        setattr(Tensor, slot, forward(function, meant(op)))
        if slot not in COMPARISONS:
            setattr(Tensor, f"__r{slot[2:]}", reflected(function, meant(op)))
            setattr(Tensor, f"__i{slot[2:]}", in_place(function, SYMBOLS.get(slot, slot[2:-2])))
    power.meant = POWER.meant
    Tensor.__pow__ = power
    Tensor.__pos__ = lambda self: self


def meant(op: Op) -> str:
    """PyTorch's name of an operator: the shortest of the operation's names."""
    return min((name for name, known in OPS.items() if known is op), key=len)


def unary(function: Callable, name: str) -> Callable:
    """An operator of one tensor."""

    def method(self: Tensor) -> Tensor:
        try:
            return tracking(function(node_of(self)), self.requires_grad, (self,))
        except ComplexError:
            return of_complex("called")(function, (self,))

    method.meant = name, False
    return method


install()
