"""Python's operators on tensors, by CPython's rules: what a tensor does not know is NotImplemented.

In-place forms write to the tensor, and refuse a result whose kind the tensor cannot hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gnomon.dtypes import KINDS
from gnomon.errors import DtypeError
from gnomon.ir.node import Node
from gnomon.ir.provenance import scope, sites_here
from gnomon.ops import every  # noqa: F401 - fills the registry
from gnomon.ops.registry import OPS
from gnomon.tensor.autocast import fitted
from gnomon.tensor.state import state
from gnomon.tensor.tensor import Tensor, from_array, node_of, wrap
from gnomon.tensor.writing import write

BINARY = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "matmul": "matmul",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift",
    "rshift": "bitwise_right_shift",
}
COMPARISONS = {
    "eq": "equal",
    "ne": "not_equal",
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
UNARY = {"neg": "negative", "abs": "abs", "invert": "bitwise_not"}
NUMBERS = (bool, int, float)


def operand(value: Any) -> Any:
    """A right or left hand as what nodes combine with; NotImplemented for strangers."""
    kind = type(value)
    if kind is float or kind is int or kind is bool:
        return value
    if isinstance(value, Tensor):
        return value
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, np.ndarray):
        return from_array(value)
    for number in NUMBERS:
        if isinstance(value, number):
            return number(value)
    return NotImplemented


def combine(function: Callable, left: Any, right: Any) -> Tensor:
    """A function of two operands, at least one of them a tensor."""
    tracked = False
    before = scope.sites
    if before is None:
        scope.sites = sites_here()
    try:
        if isinstance(left, Tensor):
            tracked = left.requires_grad
            left = node_of(left)
        if isinstance(right, Tensor):
            tracked = tracked or right.requires_grad
            right = node_of(right)
        if state.autocast is not None and function is MATMUL:
            left, right = (fitted("matmul", x) for x in (left, right))
        result = function(left, right)
    finally:
        scope.sites = before
    return wrap(result, tracked and state.grad and result.dtype.kind == "float")


def forward(function: Callable) -> Callable:
    """The operator with the tensor on the left."""

    def method(self: Tensor, other: Any) -> Any:
        other = operand(other)
        return other if other is NotImplemented else combine(function, self, other)

    return method


def reflected(function: Callable) -> Callable:
    """The operator with the tensor on the right."""

    def method(self: Tensor, other: Any) -> Any:
        other = operand(other)
        return other if other is NotImplemented else combine(function, other, self)

    return method


def in_place(function: Callable, symbol: str) -> Callable:
    """The operator that writes to the tensor on the left."""

    def method(self: Tensor, other: Any) -> Any:
        other = operand(other)
        if other is NotImplemented:
            return other
        result = combine(function, self, other)
        return write_result(self, result, symbol)

    return method


def write_result(tensor: Tensor, result: Tensor, name: str) -> Tensor:
    """Store a result in the tensor itself."""
    refuse_kind(tensor, node_of(result), name)
    return write(tensor, node_of(result), result.requires_grad)


def refuse_kind(tensor: Tensor, value: Node, name: str) -> None:
    """Refuse to put floats into integers, or numbers into truth values."""
    mine, theirs = tensor.dtype, value.dtype
    if KINDS.index(theirs.kind) > KINDS.index(mine.kind) and mine.kind != "uint":
        raise DtypeError(
            f"{name}: result type {theirs.name} can't be cast to the desired output type "
            f"{mine.name}. Write `x = x {name.rstrip('=')} y`, or cast first."
        )


def power(self: Tensor, other: Any, modulus: Any = None) -> Any:
    """x ** y; a third argument is not known."""
    if modulus is not None:
        return NotImplemented
    return POWER(self, other)


MATMUL = OPS["matmul"]
POWER = forward(OPS["pow"].function)


def install() -> None:
    """Give Tensor its operators."""
    for slot, name in BINARY.items():
        function = OPS[name] if name == "matmul" else OPS[name].function
        setattr(Tensor, f"__{slot}__", forward(function))
        setattr(Tensor, f"__r{slot}__", reflected(function))
        setattr(Tensor, f"__i{slot}__", in_place(function, getattr_symbol(slot)))
    for slot, name in COMPARISONS.items():
        setattr(Tensor, f"__{slot}__", forward(OPS[name].function))
    for slot, name in UNARY.items():
        setattr(Tensor, f"__{slot}__", unary(OPS[name].function))
    Tensor.__pow__ = power
    Tensor.__pos__ = lambda self: self


def unary(function: Callable) -> Callable:
    """An operator of one tensor."""

    def method(self: Tensor) -> Tensor:
        return wrap(function(node_of(self)), state.grad and self.requires_grad)

    return method


def getattr_symbol(slot: str) -> str:
    """The sign of an in-place operator, for messages."""
    return {"add": "+=", "sub": "-=", "mul": "*=", "truediv": "/=", "pow": "**="}.get(slot, slot)


install()
