"""numpy's functions of tensors: np.exp(t), np.mean(t), array + t.

Operators between an array and a tensor are the tensor's. Everything else numpy computes itself, on
the tensor's memory, so that it has numpy's meaning and no gradient: a tensor that requires grad
must be detached first, as for numpy(). Functions of elements, and those that numpy leaves to a
method of its argument, give a tensor.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from gnomon.tensor.operators import operand
from gnomon.tensor.pytree import with_leaves
from gnomon.tensor.tensor import Tensor, from_array

OPERATORS: dict[Any, Callable] = {
    np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv,
    np.remainder: operator.mod,
    np.power: operator.pow,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.left_shift: operator.lshift,
    np.right_shift: operator.rshift,
    np.bitwise_and: operator.and_,
    np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor,
    np.equal: operator.eq,
    np.not_equal: operator.ne,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.add: operator.add,
    np.matmul: operator.matmul,
}
"""numpy's function behind an operator -> the operator."""
OF_METHODS = (
    "all amax amin any argmax argmin argsort clip cumprod cumsum diagonal max mean min prod "
    "ravel repeat reshape round squeeze std sum swapaxes take trace transpose var"
)
GIVING_TENSORS = frozenset(OF_METHODS.split())
OF_SIZES = (np.ndim, np.shape, np.size)
"""Functions of numpy that read no element, so that no gradient is lost."""


def of_elements(
    function: np.ufunc, method: str, inputs: Sequence[Any], named: Mapping[str, Any]
) -> Any:
    """The result of a function of elements: a tensor's operator, or numpy's on its memory."""
    if method == "__call__" and not named and function in OPERATORS:
        given = [*map(operand, inputs)]
        if not any(x is NotImplemented for x in given):
            return OPERATORS[function](*given)
    made = on_arrays(getattr(function, method), inputs, named)
    return made if method != "__call__" or "out" in named else as_tensors(made)


def of_arrays(function: Callable, args: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The result of another function of numpy's on the memory of tensor arguments."""
    made = on_arrays(function, args, named, force=function in OF_SIZES)
    wanted = function.__name__ in GIVING_TENSORS and named.get("out") is None
    return as_tensors(made) if wanted else made


def on_arrays(function: Callable, args: Any, named: Mapping[str, Any], force: bool = False) -> Any:
    """A call with arrays in place of tensors, whose memory they share."""
    return function(*as_arrays(tuple(args), force), **as_arrays(dict(named), force))


def as_arrays(value: Any, force: bool) -> Any:
    """Replace tensors by arrays in nested lists, tuples and dictionaries."""
    return with_leaves(value, lambda x: x.numpy(force=force) if isinstance(x, Tensor) else x)


def as_tensors(made: Any) -> Any:
    """The tensors of arrays and of numpy's numbers."""
    if isinstance(made, tuple):
        return tuple(map(as_tensors, made))
    return from_array(np.asarray(made)) if isinstance(made, (np.ndarray, np.generic)) else made
