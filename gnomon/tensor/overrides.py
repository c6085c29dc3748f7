"""Classes that take functions of tensors over: PyTorch's `__torch_function__`.

A function whose arguments have an object of such a class is given to that class, which computes it
in its own way or gives NotImplemented. Subclasses of Tensor have the protocol from Tensor: what
comes out is of their class. Whoever else defines the method takes part, a tensor or not. Nothing is
asked where no such object is: the functions of the registry find it on their way to nodes, and the
methods of a subclass are made when the class is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from types import FunctionType
from typing import Any

from gnomon.errors import DtypeError
from gnomon.lazy import out
from gnomon.settings import holding
from gnomon.tensor.pytree import with_leaves
from gnomon.tensor.tensor import Paired, Tensor, alias

__all__ = [
    "DisableTorchFunctionSubclass",
    "Overridden",
    "as_subclass",
    "asked",
    "disabled",
    "handle_torch_function",
    "has_torch_function",
    "is_overriding",
    "is_tensor_like",
    "overridable",
    "overriding",
    "public",
    "taken_over",
]

public: dict[str, Callable] = {}
"""The functions of the registry's operations, by name."""
EMPTY: Mapping[str, Any] = {}
OWN = frozenset(
    {"__array_function__", "__array_namespace__", "__array_priority__", "__array_ufunc__"}
    | {"__deepcopy__", "__format__", "__hash__", "__init__", "__init_subclass__", "__reduce_ex__"}
    | {"__repr__", "__torch_function__", "as_subclass"}
)
"""Methods that no class takes over."""
SHOWING = ("H", "T", "data", "imag", "mH", "mT", "real")
"""Attributes that are tensors, and the class's own."""

_open: ContextVar[bool] = ContextVar("gnomon_torch_function", default=True)
"""Whether subclasses of Tensor are asked."""
_asked: ContextVar[tuple] = ContextVar("gnomon_asked", default=())
"""The calls that classes are computing: each a function, and what its arguments are."""

watching: ContextVar[Callable[..., Any] | None] = ContextVar("gnomon_watching", default=None)
"""The function that temporarily intercepts functions in Python, creation functions included."""


class Overridden(Exception):
    """Raised if an argument's class overrides the function."""


class DisableTorchFunctionSubclass(holding[bool]):
    """A block in which subclasses of Tensor are tensors like others.

    >>> import gnomon as gn
    >>> class Length(gn.Tensor):
    ...     pass
    >>> x = gn.ones(2).as_subclass(Length)
    >>> with DisableTorchFunctionSubclass():
    ...     type(x + 1).__name__
    'Tensor'
    >>> type(x + 1).__name__
    'Length'
    """

    def __init__(self) -> None:
        super().__init__(_open, False)


def disabled(function: Callable, types: Any, args: Sequence = (), kwargs: Any = None) -> Any:
    """The `__torch_function__` of a class that overrides nothing."""
    with DisableTorchFunctionSubclass():
        return function(*args, **(kwargs or {}))


def is_overriding(value: Any) -> bool:
    """Whether a value's class overrides functions at present."""
    kind = type(value)
    if issubclass(kind, Tensor):
        return kind._overrides and _open.get()
    return hasattr(kind, "__torch_function__")


def is_met(value: Any) -> bool:
    """Whether a value contains an object whose class overrides functions."""
    if type(value) in (tuple, list):
        return any(map(is_overriding, value))
    return is_overriding(value)


def is_tensor_like(inp: Any) -> bool:
    """Whether a value is a tensor, or of a class that takes functions of tensors over.

    >>> import gnomon as gn
    >>> is_tensor_like(gn.ones(2)), is_tensor_like(2.0)
    (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


def overriding(values: Iterable[Any]) -> list[Any]:
    """The values whose classes override, one of each class, subclasses first."""
    found: list[Any] = []
    for value in values:
        for each in filter(is_overriding, value if isinstance(value, (list, tuple)) else (value,)):
            kind = type(each)
            if all(kind is not type(x) for x in found):
                above = (k for k, x in enumerate(found) if issubclass(kind, type(x)))
                found.insert(next(above, len(found)), each)
    return found


def has_torch_function(values: Iterable[Any]) -> bool:
    """Whether a class of one of the values takes functions over.

    >>> import gnomon as gn
    >>> has_torch_function((gn.ones(2), 1.0))
    False
    """
    return bool(overriding(values))


def handle_torch_function(
    function: Callable, relevant: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """A function as the classes of the relevant arguments compute it.

    Errors: DtypeError where each of them gives NotImplemented.

    >>> import gnomon as gn
    >>> class Metres:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return func.__name__, len(args)
    >>> handle_torch_function(gn.ones, (Metres(),), Metres(), 2)
    ('ones', 2)
    """
    found = overriding(relevant)
    types = tuple(map(type, found))
    call = (function, *map(id, (*args, *kwargs.values())))
    if call in _asked.get():
        raise DtypeError(
            f"{function.__name__}: {types[0].__module__}.{types[0].__name__} gives the call back. "
            "Convert its objects to tensors first: gn.from_dlpack(x), or gn.tensor(x)."
        )
    with holding(_asked, (*_asked.get(), call)):
        for each in found:
            made = each.__torch_function__(function, types, args, kwargs)
            if made is not NotImplemented:
                return made
    name, kinds = function.__name__, ", ".join(kind.__name__ for kind in types)
    raise DtypeError(
        f"{name}: no implementation found on types that implement __torch_function__: got "
        f"{kinds}. Have one of them take {name} over."
    )


def taken_over(function: Callable, args: Sequence, kwargs: Mapping[str, Any] = EMPTY) -> Any:
    """The result of a function by the overrides of its arguments' classes."""
    return handle_torch_function(function, (*args, *kwargs.values()), *args, **kwargs)


def overridable(function: Callable) -> Callable:
    """A decorator of Python functions that argument classes may override."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if "out" in kwargs:
            return out.into(call, args, kwargs)
        if (seen := watching.get()) is not None:
            return seen(call, args, kwargs)
        for value in args:
            if type(value) is not Tensor and is_met(value):
                return taken_over(call, args, kwargs)
        if kwargs and any(map(is_met, kwargs.values())):
            return taken_over(call, args, kwargs)
        return function(*args, **kwargs)

    return call


# subclasses of Tensor


def as_subclass(tensor: Tensor, cls: type[Tensor]) -> Tensor:
    """The tensor, its memory and its gradients, as an object of a class below Tensor.

    >>> import gnomon as gn
    >>> class Length(gn.Tensor):
    ...     unit = "m"
    >>> x = gn.ones(2).as_subclass(Length)
    >>> (x + x).unit, type(x.sum()).__name__
    ('m', 'Length')
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise DtypeError(f"as_subclass: needs a class below Tensor: got {cls!r}.")
    if isinstance(tensor, Paired):
        raise DtypeError("as_subclass: complex tensors have no subclasses. Take view_as_real(x).")
    shown = alias(tensor, ()) if tensor._requires or tensor._view else tensor
    made = Tensor.__new__(cls)
    made._storage, made._view, made._rare, made._requires = shown._storage, shown._view, None, False
    return made


def _make_subclass(cls: type[Tensor], data: Tensor, require_grad: bool = False) -> Tensor:
    """A leaf of the class over a tensor's memory."""
    return as_subclass(data.detach(), cls).requires_grad_(require_grad)


def as_kind(made: Any, cls: type[Tensor]) -> Any:
    """A function's result, with tensors converted to the class."""

    def of(x: Any) -> Any:
        other = issubclass(type(x), Tensor) and not isinstance(x, cls)
        return as_subclass(x, cls) if other else x

    return with_leaves(made, of)


def __torch_function__(
    cls: type[Tensor], func: Callable, types: Sequence[type], args: Any = (), kwargs: Any = None
) -> Any:
    """Call a function on tensors, and convert its results to the class."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    if not _open.get():  # a function of another library, which does not see that this is closed
        raise DtypeError(
            f"{getattr(func, '__name__', func)}: a function of {module_of(func)} was given a "
            "tensor of gnomon. Call gnomon's, or convert the tensor first, by from_dlpack(x)."
        )
    return as_kind(disabled(func, types, args, kwargs), cls)


def module_of(function: Callable) -> str:
    """The library that a function belongs to, if it is known."""
    home = getattr(function, "__module__", None) or getattr(function, "__self__", None)
    return (home if isinstance(home, str) else type(home).__module__).partition(".")[0]


def __init_subclass__(cls: type[Tensor], **named: Any) -> None:
    """Make the methods of a class with __torch_function__ call it."""
    super(Tensor, cls).__init_subclass__(**named)
    held = cls.__torch_function__
    cls._overrides = getattr(held, "__func__", held) is not disabled
    if not cls._overrides or any(base._overrides for base in cls.__mro__[1:] if is_kind(base)):
        return
    for name, method in list(vars(Tensor).items()):
        if getattr(cls, name, None) is not method or name in OWN:
            continue
        if isinstance(method, FunctionType):
            setattr(cls, name, asking(method, name))
        elif name in SHOWING:
            setattr(cls, name, property(asking(method.fget, name), method.fset))


def is_kind(base: type) -> bool:
    """Whether a class derives from Tensor."""
    return issubclass(base, Tensor)


def asking(method: Callable, name: str) -> Callable:
    """A method of Tensor that classes of arguments may override."""

    @functools.wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return asked(method, *args, **kwargs) if _open.get() else method(*args, **kwargs)

    call.__name__ = name
    return call


def asked(method: Callable, *args: Any, **kwargs: Any) -> Any:
    """The result of a Tensor method by the overrides of its arguments' classes.

    An operator of Python's is the function of its operands, in their order.
    """
    meant, is_reflected = getattr(method, "meant", ("", False))
    if not meant:
        return taken_over(method, args, kwargs)
    return taken_over(public[meant], args[::-1] if is_reflected else args)


Tensor._overrides = Paired._overrides = False
Tensor.__torch_function__ = classmethod(__torch_function__)
Tensor.__init_subclass__ = classmethod(__init_subclass__)
Tensor.as_subclass, Tensor._make_subclass = as_subclass, staticmethod(_make_subclass)
