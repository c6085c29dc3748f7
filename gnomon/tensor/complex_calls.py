"""Calls with complex numbers, by what each operation says that it is of them (ops/facts.py).

An operation that says nothing refuses: no function takes a complex number for a real one. This
module loads with the first complex number.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import product
from numbers import Number
from typing import Any

import numpy as np

from gnomon.dtypes import DType, complex64, dtype_of, promote
from gnomon.errors import ArgumentError, ComplexError
from gnomon.ir.node import Arena, Node
from gnomon.ops import fitting
from gnomon.ops.registry import OPS, Op
from gnomon.tensor import (
    complex_circles,
    complex_composites,
    complex_factorizations,
    complex_folds,
    complex_math,
    complex_matrices,
    views,
)
from gnomon.tensor.calls import as_nodes
from gnomon.tensor.complex_creation import view_as_complex
from gnomon.tensor.complex_math import complex_abs, conj, plus
from gnomon.tensor.complex_tensor import (
    ADVICE,
    Complex,
    as_complex,
    cast,
    compose,
    of_array,
    parts,
    seen,
)
from gnomon.tensor.creation import full
from gnomon.tensor.functions import FUNCTIONS, as_function
from gnomon.tensor.pytree import leaves_in, tensors_in, with_leaves
from gnomon.tensor.tensor import Tensor, from_array

__all__ = ["called", "filled", "index_put", "of_array", "view_as_complex", "viewed"]

ComplexCall = Callable[..., Any]
BESIDE_OPERATIONS: dict[str, ComplexCall] = {
    "cast": cast,
    "kept_apart": lambda x: x.clone(),
    "taken_apart": lambda x: x.clone(),
}
"""Functions of nodes that are no operations."""

OPERANDS = re.compile("Node|Operand|Scalar")
"""Kinds of arguments that may be complex."""


def called(op: Any, args: Sequence[Any], kwargs: dict[str, Any] | None = None) -> Any:
    """The result of a function with complex arguments."""
    name = getattr(op, "__name__", "this function")
    found = op if isinstance(op, Op) else OPS.get(name)
    how = found.facts.complex if found is not None else ""
    if not how and name not in BESIDE_OPERATIONS:
        kind = next((x.dtype.name for x in complex_in([args, kwargs])), "a complex number")
        raise ComplexError(f"{name}: {kind} is not supported here. {ADVICE}") from None
    if found is None:
        return BESIDE_OPERATIONS[name](*args, **(kwargs or {}))
    args = with_leaves(list(args), lambda x: from_array(x) if isinstance(x, np.ndarray) else x)
    if not tensors_in([*args, *(kwargs or {}).values()]):
        raise ArgumentError(f"{name}: needs a tensor: got {fitting.brief(args)}.") from None
    fitting.refuse_numbers(name, found.function, args)
    bound = inspect.signature(found.function).bind(*args, **found.respell(kwargs or {}))
    refuse_words(name, bound)
    bound.apply_defaults()
    places = how[1:] if isinstance(how, tuple) else ()
    way = how if isinstance(how, str) else how[0]
    given, wanted = bound.args, bound.kwargs.get("dtype")
    if way != "size" and wanted is not None and not dtype_of(wanted).is_complex:
        return as_function(found)(cast(given[0], dtype_of(wanted)), *given[1:], **bound.kwargs)
    return WAYS[way](found, places, *given, **bound.kwargs)


def refuse_words(name: str, bound: inspect.BoundArguments) -> None:
    """Refuse a complex number for an argument that is no operand, such as an axis."""
    for word, value in bound.arguments.items():
        parameter = bound.signature.parameters[word]
        kind, given = str(parameter.annotation), fitting.brief(value)
        if OPERANDS.search(kind) is None and holds_complex(value):
            raise ArgumentError(f"{name}: {word} must not be complex: got {given}.") from None
        is_one = parameter.kind is not parameter.VAR_POSITIONAL and kind in ONE_OPERAND
        wanted = ONE_OPERAND[kind] if is_one else ""
        if is_one and not is_operand(value, "number" in wanted, parameter.default is None):
            raise ArgumentError(f"{name}: {word} must be {wanted}: got {given}.") from None


ONE_OPERAND = {
    **dict.fromkeys(("Node", "Node | None"), "a tensor"),
    **dict.fromkeys(("Operand", "Operand | None"), "a tensor or number"),
    **dict.fromkeys(("Scalar", "Scalar | None"), "a number or tensor"),
}
"""Annotations of parameters that take one operand, and what that must be."""


def is_operand(value: Any, number: bool, nothing: bool) -> bool:
    """Whether a value is a tensor; or a number or None if these are allowed."""
    if value is None:
        return nothing
    return isinstance(value, Tensor) or (number and isinstance(value, (Number, np.generic)))


def holds_complex(value: Any) -> bool:
    """Whether a value is complex, or contains a complex number or tensor."""
    return any(isinstance(x, (complex, np.complexfloating, Complex)) for x in leaves_in(value))


def viewed(op: Any, x: Complex, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A view of a complex tensor; a copy if the operation is more than a view.

    Of further complex arguments only the shape counts.
    """
    args = [each.real if isinstance(each, Complex) else each for each in args]
    if not isinstance(x, Complex):
        return as_function(op)(x, *args, **kwargs)
    kwargs = op.respell(kwargs) if isinstance(op, Op) and kwargs else kwargs
    made = views_of(op, x, args, kwargs)
    if made is None:
        return by_parts(op, (), x, *args, **kwargs)
    turned = isinstance(op, Op) and op.facts.complex == "turned"
    return conj(made) if turned else made


def index_put(x: Complex, indices: Sequence[Any], values: Any, accumulate: bool) -> Complex:
    """x with values at positions along its first axes."""
    values = as_complex(values, x.dtype)._pair
    return Complex((x._pair.index_put(tuple(indices), values, accumulate),))


def filled(shape: tuple[int, ...], value: Any, dtype: DType, requires_grad: bool) -> Complex:
    """A tensor of one value."""
    both = [full(shape, x or 0.0, dtype=dtype.to_real()) for x in parts(value)]
    return compose(*both).requires_grad_(requires_grad)


def complex_in(value: Any) -> list[Complex]:
    """The complex tensors among arguments."""
    return [x for x in leaves_in(value) if isinstance(x, Complex)]


def views_of(op: Callable, x: Complex, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The views as steps from a node of the tensor's shape; None for operations beyond views."""
    start = Arena().input(tuple(x.shape), x._pair.dtype)
    result = op(start, *[as_nodes(v, []) for v in args], **kwargs)
    found = [result] if isinstance(result, Node) else result
    chains = [views.chain_between(part, start) for part in found]
    if None in chains:
        return None
    made = [Complex((seen(x._pair, views.longer(chain, start.rank)),)) for chain in chains]
    return made[0] if isinstance(result, Node) else type(result)(made)


# ways to take complex numbers


def by_parts(op: Op, places: Sequence[int], *args: Any, **kwargs: Any) -> Any:
    """Call an operation on both parts; operands at these positions are converted to complex."""
    dtype = reduce(promote, [x.dtype for x in tensors_in([args[k] for k in places])], complex64)
    given = [whole(x, dtype) if k in places else x for k, x in enumerate(args)]
    if isinstance(kwargs.get("alpha"), (complex, Complex)):
        given[places[-1]] = given[places[-1]] * kwargs.pop("alpha")
    if kwargs.get("reduce") is not None:
        raise ComplexError(f"{op.__name__}: reduce is not supported with complex numbers. {ADVICE}")
    if (wanted := kwargs.pop("dtype", None)) is not None:
        given[0] = cast(given[0], dtype_of(wanted))
    function = as_function(op)
    both = [function(*part_of(given, k), **kwargs) for k in (0, 1)]
    if isinstance(both[0], Tensor):
        return compose(*both)
    if op.facts.views:  # each result is of one argument: a real one's is real
        kept = [not isinstance(x, Complex) for x in tensors_in(args)]
        return tuple(
            re if real else compose(re, im) for re, im, real in zip(*both, kept, strict=True)
        )
    return type(both[0])(map(compose, *both))


def whole(value: Any, dtype: DType) -> Any:
    """A tensor or number, or several, converted to a complex dtype."""
    return with_leaves(
        value, lambda x: as_complex(x, dtype) if isinstance(x, Tensor) else complex(x)
    )


def part_of(value: Any, k: int) -> Any:
    """Arguments with complex operands replaced by their real or imaginary parts."""
    return with_leaves(value, lambda x: parts(x)[k] if isinstance(x, (Complex, complex)) else x)


def multilinear(op: Op, places: Sequence[int], *args: Any, **kwargs: Any) -> Any:
    """A multilinear function of complex tensors, from its values on their parts."""
    function = as_function(op)
    sums: list[Any] = [None, None]
    for choice in product((0, 1), repeat=len(complex_in(args))):
        term, power = function(*picked(args, iter(choice)), **kwargs), sum(choice) % 4
        sums[power % 2] = plus(sums[power % 2], term if power < 2 else -term)
    return compose(*sums)


def picked(value: Any, choice: Iterator[int]) -> Any:
    """Arguments with one chosen part of each complex tensor."""
    return with_leaves(value, lambda x: parts(x)[next(choice)] if isinstance(x, Complex) else x)


def turned_first(op: Op, places: Sequence[int], x: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a multilinear operation with the conjugate of its first operand."""
    return multilinear(op, places, conj(x) if isinstance(x, Complex) else x, *args, **kwargs)


def of_size(op: Op, places: Sequence[int], x: Complex, *args: Any, **kwargs: Any) -> Tensor:
    """Call a function of magnitudes."""
    if kwargs.get("dtype") is not None:
        kwargs["dtype"] = dtype_of(kwargs["dtype"]).to_real()
    return as_function(op)(complex_abs(x), *args, **kwargs)


def of_truth(op: Op, places: Sequence[int], x: Complex, *args: Any, **kwargs: Any) -> Tensor:
    """Call a function of truth values; complex operands are true if they are not 0."""
    true = [each != 0 if isinstance(each, Complex) else each for each in (x, *args)]
    return as_function(op)(*true, **kwargs)


def by_formula(op: Op, places: Sequence[int], *args: Any, **kwargs: Any) -> Any:
    """Call an operation's formula for complex numbers."""
    homes = (
        *(complex_math, complex_circles, complex_folds, complex_composites),
        *(complex_matrices, complex_factorizations),
    )
    found = (getattr(home, f"complex_{op.__name__}", None) for home in homes)
    return next(filter(None, found))(*args, **kwargs)


WAYS: dict[str, ComplexCall] = {
    "formula": by_formula,
    "parts": by_parts,
    "product": multilinear,
    "size": of_size,
    "truth": of_truth,
    "turned product": turned_first,
}
METHODS: dict[str, Callable] = {
    "angle": complex_math.angle,
    "conj": conj,
    "conj_physical": conj,
    "isreal": lambda x: x.imag == 0,
    "nonzero": lambda x, *, as_tuple=False: (x != 0).nonzero(as_tuple=as_tuple),
    "resolve_conj": lambda x: x,
    "resolve_neg": lambda x: x,
}
"""Methods of real tensors that are no operations."""
for _name, _row in METHODS.items():
    setattr(Complex, _name, _row)
Complex.mH = property(lambda self: FUNCTIONS["adjoint"](self))
