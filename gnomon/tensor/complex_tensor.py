"""Complex: a tensor of complex numbers, kept as a real tensor whose last axis holds both parts.

No program knows complex numbers: each function of them is one of real ones, and has their kernels,
gradients and bits. A gradient is that of the pair, dL/dre + i dL/dim, as in PyTorch. What functions
there are is in complex_calls.py; one that is not there refuses.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator
from types import MethodType
from typing import Any

import numpy as np

from gnomon.dtypes import DType, bool_, default_float, float32, float64
from gnomon.errors import ArgumentError, ComplexError, DtypeError, GradientError
from gnomon.ops.registry import operations
from gnomon.tensor.creation import full_like, tensor
from gnomon.tensor.device import Device
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.operators import COMPARISONS, OPERATORS, write_result
from gnomon.tensor.show import prints_number, values_as_text
from gnomon.tensor.state import grads, state
from gnomon.tensor.tensor import Paired, Size, Tensor, alias, from_array
from gnomon.tensor.views import Chain

__all__ = ["Complex", "as_complex", "cast", "compose", "of_array", "parts", "seen"]

ADVICE = "Take view_as_real(x), or x.real and x.imag."
STATE = frozenset({"_storage", "_view", "_rare", "_requires"})
"""Attributes of real tensors, which code that knows no others asks for."""


class Complex(Paired):
    """A tensor of complex numbers; to isinstance it is a Tensor, whose methods it has."""

    __array_priority__ = 1000
    __class__ = property(lambda self: Tensor)  # type: ignore[assignment]
    __hash__ = object.__hash__

    @property
    def shape(self) -> Size:
        """Sizes of the axes."""
        return Size(self._pair.shape[:-1])

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._pair.dtype.to_complex()

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return self._pair.ndim - 1

    @property
    def device(self) -> Device:
        """The device of the elements."""
        return self._pair.device

    def __getattr__(self, name: str) -> Any:
        if name in STATE:
            raise ComplexError(
                f"complex: a function of real numbers met {self.dtype.name}. {ADVICE}"
            )
        found = getattr(Tensor, name)
        if not callable(found) and hasattr(found, "__get__"):  # a property, or like one
            return found.__get__(self, Tensor)
        if name.endswith("_") and not name.startswith("_") and hasattr(Tensor, name[:-1]):
            return in_place(self, name)
        return MethodType(found, self)

    # parts and numbers

    @property
    def real(self) -> Tensor:
        """The real parts: a view."""
        return FUNCTIONS["select"](self._pair, -1, 0)

    @property
    def imag(self) -> Tensor:
        """The imaginary parts: a view."""
        return FUNCTIONS["select"](self._pair, -1, 1)

    @real.setter
    def real(self, value: Any) -> None:
        self.real.copy_(parts(value)[0])

    @imag.setter
    def imag(self, value: Any) -> None:
        self.imag.copy_(parts(value)[0])

    def numpy(self, *, force: bool = False) -> np.ndarray:
        """The tensor's memory as a numpy array."""
        array = self._pair.numpy(force=force)
        if array.strides[-1] != array.itemsize:
            array = np.ascontiguousarray(array)
        return array.view(self.dtype.numpy)[..., 0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        array = self.numpy()
        array = array if dtype is None else array.astype(dtype, copy=False)
        return array.copy() if copy else array

    def item(self) -> complex:
        """The one element, as a Python number."""
        if self.numel() != 1:
            raise ArgumentError(
                f"item: a Tensor with {self.numel()} elements cannot be converted to Scalar. "
                "Use tolist()."
            )
        return complex(*(self._pair.reshape(2)[k].item() for k in (0, 1)))

    __complex__ = item

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        return self.numpy(force=True).tolist()

    def __bool__(self) -> bool:
        return bool((self != 0).reshape(()) if self.numel() == 1 else self != 0)

    def __float__(self) -> float:
        value = self.item()
        if value.imag:
            raise ArgumentError(f"float: {value} has an imaginary part. Take x.real or abs(x).")
        return value.real

    def __int__(self) -> int:
        return int(float(self))

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a 0-d tensor")
        return self.shape[0]

    def __iter__(self) -> Iterator[Complex]:
        return iter([self[k] for k in range(len(self))])

    def __contains__(self, element: Any) -> bool:
        return bool((self == element).any())

    def __repr__(self) -> str:
        if state.recorder.hides_values:
            return f"Tensor(traced, shape={tuple(self.shape)}, dtype={self.dtype})"
        notes = [f"size={tuple(self.shape)}"] if not self.numel() else []
        notes += [f"dtype={self.dtype}"] if self.dtype.bits != 64 else []
        notes += ["requires_grad=True"] if self.is_leaf and self.requires_grad else []
        notes += [] if self.is_leaf else [f"grad_fn={self._pair.grad_fn}"]
        shown = ", ".join([values_as_text(self.numpy(force=True), 7), *notes])
        return f"{self.__class__.__name__}({shown})"

    def __format__(self, spec: str) -> str:
        alone = not self.ndim and (spec or prints_number(self))
        return format(self.item() if alone else str(self), spec)

    def numel(self) -> int:
        """Number of elements."""
        return self._pair.numel() // 2

    def stride(self, dim: int | None = None) -> Any:
        """The number of elements between neighbours along each axis, or along one."""
        steps = tuple(step // 2 for step in self._pair.stride()[:-1])
        return steps if dim is None else steps[dim]

    def storage_offset(self) -> int:
        """The place of the first element in its storage."""
        return self._pair.storage_offset() // 2

    # parts of it, and writes

    def __getitem__(self, index: Any) -> Complex:
        return Complex((self._pair[with_parts(index)],))

    def __setitem__(self, index: Any, value: Any) -> None:
        single = isinstance(index, (Tensor, np.ndarray)) and index.dtype in (bool_, np.dtype(bool))
        alone = single and index.ndim <= self.ndim  # one mask is written by without being counted
        self._pair[index if alone else with_parts(index)] = as_complex(value, self.dtype)._pair

    def copy_(self, other: Any, non_blocking: bool = False) -> Complex:
        """Copy another tensor's values into this one."""
        self._pair.copy_(as_complex(other, self.dtype)._pair)
        return self

    def fill_(self, value: Any) -> Complex:
        """Set all elements to a value."""
        return self.copy_(as_complex(value, self.dtype))

    def zero_(self) -> Complex:
        """Set all elements to 0."""
        self._pair.zero_()
        return self

    def clone(self, *, memory_format: object = None) -> Complex:
        """A copy, through which gradients flow."""
        return Complex((self._pair.clone(),))

    def __copy__(self) -> Complex:
        return self._like(copy.copy(self._pair))

    def __deepcopy__(self, memo: dict) -> Complex:
        made = memo[id(self)] = self._like(copy.deepcopy(self._pair, memo))
        return made

    def __reduce_ex__(self, protocol: int) -> tuple:
        return (Complex, ((self._pair,),), vars(self) or None)

    def _like(self, pair: Tensor) -> Any:
        """A tensor over a pair, with this tensor's class and attributes."""
        made = Complex((pair,))
        vars(made).update(vars(self))
        return made

    # gradients

    @property
    def requires_grad(self) -> bool:
        """Whether backward passes reach this tensor."""
        return self._pair.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._pair.requires_grad = value

    @property
    def grad(self) -> Complex | None:
        """The gradient that backward passes have gathered here."""
        found = self._pair.grad
        return None if found is None else Complex((found,))

    @grad.setter
    def grad(self, value: Complex | None) -> None:
        self._pair.grad = None if value is None else as_complex(value, self.dtype)._pair

    def requires_grad_(self, requires_grad: bool = True) -> Complex:
        """Set whether backward passes compute a gradient for this leaf."""
        self._pair.requires_grad = requires_grad
        return self

    def detach(self) -> Complex:
        """A tensor of the same storage through which no gradients flow."""
        return Complex((self._pair.detach(),))

    def detach_(self) -> Complex:
        """Cut this tensor off from its history, in place."""
        self._pair.detach_()
        return self

    def register_hook(self, hook: Callable) -> Any:
        """Call a function with each gradient; a returned one replaces it."""

        def on_pair(gradient: Tensor) -> Tensor | None:
            answer = hook(Complex((gradient,)))
            return None if answer is None else as_complex(answer, self.dtype)._pair

        return self._pair.register_hook(on_pair)

    def backward(self, gradient: Any = None, *options: Any, **named: Any) -> None:
        """Gather the gradients of this tensor in the leaves that it depends on."""
        if gradient is None:
            raise GradientError(
                "backward: grad can be implicitly created only for real scalar outputs: got "
                f"{self.dtype.name}. Take abs() or real of it, or give a gradient."
            )
        self._pair.backward(as_complex(gradient, self.dtype)._pair, *options, **named)


Complex.plain = Complex
DATA = ("data", "data_ptr", "is_leaf", "grad_fn", "retain_grad", "retains_grad")
"""Attributes that a complex tensor takes from its pair."""


def of_pair(name: str) -> property:
    """A property that reads an attribute of the underlying pair."""

    def read(self: Complex) -> Any:
        found = getattr(self._pair, name)
        return Complex((found,)) if isinstance(found, Tensor) else found

    def put(self: Complex, value: Any) -> None:
        setattr(self._pair, name, value._pair)

    return property(read, put)


for _name in DATA:
    setattr(Complex, _name, of_pair(_name))


# between real and complex


def parts(value: Any) -> tuple[Any, Any]:
    """The real and the imaginary part of a tensor or number; None for a missing part."""
    if isinstance(value, (Complex, complex, np.complexfloating)):
        return value.real, value.imag
    return value, None


def compose(re: Any, im: Any = None) -> Complex:
    """The complex tensor of two parts; one may be a number or None."""
    if not isinstance(re, Tensor):
        re = full_like(im, re)
    if not isinstance(im, Tensor):
        im = full_like(re, im or 0.0, dtype=None if re.dtype.is_floating_point else default_float())
    kind = float64 if float64 in (re.dtype, im.dtype) else float32
    both = FUNCTIONS["broadcast_tensors"](re.to(kind), im.to(kind))
    return Complex((FUNCTIONS["stack"](both, -1),))


def as_complex(value: Any, dtype: DType) -> Complex:
    """A tensor, array or number as complex numbers of a dtype."""
    if isinstance(value, (bool, int, float, complex, list, np.generic)):
        return tensor(value, dtype)
    value = from_array(value) if isinstance(value, np.ndarray) else value
    made = value if isinstance(value, Complex) else compose(value.to(dtype.to_real()))
    kept = made._pair.dtype is dtype.to_real()
    return made if kept else Complex((made._pair.to(dtype.to_real()),))


def cast(x: Any, dtype: DType) -> Tensor | Complex:
    """A tensor in another dtype; a cast from complex to real keeps the real part."""
    if dtype.is_complex:
        return as_complex(x, dtype)
    if dtype is bool_:
        return x != 0
    warnings.warn("to: the imaginary part of complex values is discarded", stacklevel=4)
    return x.real.to(dtype)


def of_array(array: np.ndarray) -> Complex:
    """A tensor over the memory of an array."""
    if array.dtype.itemsize > 16:
        raise DtypeError(f"from_numpy: no tensor holds {array.dtype}. Use astype(complex128).")
    kind = np.float32 if array.dtype.itemsize == 8 else np.float64
    return Complex((from_array(array.reshape(*array.shape, 1).view(kind)),))


# views and writes


def seen(pair: Tensor, chain: Chain) -> Tensor:
    """A complex view by these steps."""
    return alias(pair, chain, not grads.get() and pair.requires_grad)


def with_parts(index: Any) -> tuple:
    """An index for the pair of a complex tensor that keeps both parts."""
    items = index if isinstance(index, tuple) else (index,)
    whole = any(item is Ellipsis for item in items)
    return (*items, slice(None)) if whole else (*items, Ellipsis, slice(None))


def in_place(x: Complex, name: str) -> Callable:
    """A method that stores the result of a function in the tensor."""

    def method(*args: Any, **kwargs: Any) -> Complex:
        made = getattr(x, name[:-1])(*args, **kwargs)
        if name in METADATA:
            x._pair = made._pair
            return x
        return stored(x, made, name)

    return method


METADATA = frozenset(f"{name}_" for op in operations() for name in op.facts.reshapes)
"""Methods that change what a tensor shows."""


def stored(x: Complex, made: Any, name: str) -> Complex:
    """A tensor after a result's values were stored in it."""
    write_result(x._pair, as_complex(made, made.dtype.to_complex())._pair, name)
    return x


def writing(slot: str) -> Callable:
    """The in-place operator of a tensor on the left."""
    function = getattr(Tensor, slot)

    def method(self: Complex, other: Any) -> Any:
        made = function(self, other)
        return made if made is NotImplemented else stored(self, made, f"{slot[2:-2]}_")

    return method


for _slot in ("__array_ufunc__", "__array_function__"):
    setattr(Complex, _slot, getattr(Tensor, _slot))
for _slot in OPERATORS:
    setattr(Complex, _slot, getattr(Tensor, _slot))
    if hasattr(Tensor, f"__r{_slot[2:]}") and _slot not in COMPARISONS:
        setattr(Complex, f"__r{_slot[2:]}", getattr(Tensor, f"__r{_slot[2:]}"))
        setattr(Complex, f"__i{_slot[2:]}", writing(_slot))
Complex.__pos__ = lambda self: self
