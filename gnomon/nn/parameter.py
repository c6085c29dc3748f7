"""Parameters and buffers: tensors that a module owns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.lazy import complex_parameter
from gnomon.tensor.copies import copied, twin
from gnomon.tensor.creation import zeros
from gnomon.tensor.overrides import disabled
from gnomon.tensor.tensor import Paired, Tensor, alias


def adopted(kind: type[Tensor], data: Tensor, requires_grad: bool) -> Tensor:
    """A tensor of class `kind` over the storage of another."""
    if isinstance(data, Paired):
        if kind not in (Parameter, Buffer):
            raise ArgumentError(
                f"{kind.__name__}: classes below Parameter hold real numbers: got "
                f"{data.dtype.name}. Use Parameter, or give view_as_real of it."
            )
        return complex_parameter.owned(kind, adopted(Tensor, data._pair, requires_grad))
    if data._overrides and not issubclass(kind, type(data)):
        raise ArgumentError(
            f"{kind.__name__}: needs a plain tensor, and classes below Tensor stay what they are: "
            f"got {type(data).__name__}. Register it as a buffer, or derive it from this one."
        )
    made = kind.__new__(kind)
    twin = alias(data, (), detached=True)
    made._storage, made._rare, made._requires = twin._storage, None, False
    shown = twin._view.chain or data._storage.tracked
    made._view = twin._view if shown else None
    if requires_grad:
        made.requires_grad_()
    return made


class Parameter(Tensor):
    """A tensor that its module registers and optimizers change.

    >>> Parameter(tensor([1.0, 2.0])).requires_grad
    True
    """

    __torch_function__ = staticmethod(disabled)

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        """A parameter over a tensor's storage."""
        if data is None and requires_grad is True:
            return super().__new__(cls)
        return adopted(cls, data, requires_grad)

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        if data is None:
            super().__init__()
            self._requires = requires_grad

    def __deepcopy__(self, memo: dict) -> Any:
        """A copy with the same value, and no gradient."""
        return twin(self, copied(self), memo)


class Buffer(Tensor):
    """A tensor that its module registers and optimizers do not change.

    >>> Buffer(tensor([1.0, 2.0])).requires_grad
    False
    """

    __torch_function__ = staticmethod(disabled)

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        """A buffer over a tensor's storage."""
        if data is None:
            return super().__new__(cls)
        made = adopted(cls, data, False)
        made.persistent = persistent
        return made

    def __init__(self, data: Any = None, *, persistent: bool = True) -> None:
        if data is None:
            super().__init__()
            self.persistent = persistent


def refuse_unshaped(self: Tensor) -> Any:
    """Raise an error: the parameter has no shape yet."""
    raise ArgumentError(
        f"{type(self).__name__}: a lazy layer's parameter has no shape before the first call. "
        "Call the model once first."
    )


WITHOUT_SHAPES = frozenset(
    {"bfloat16", "bool", "char", "copy_", "cpu", "cuda", "data", "double", "float"}
    | {"get_device", "half", "int", "is_complex", "is_floating_point", "long"}
    | {"requires_grad_", "short", "to", "type"}
)
"""Functions that accept a tensor without a shape."""


class UninitializedTensorMixin:
    """Base of parameters and buffers without a shape."""

    __slots__ = ()
    shape = ndim = size = numel = property(refuse_unshaped)

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Sequence[type], args: Sequence = (), kwargs: Any = None
    ) -> Any:
        """Call a function that needs no shape; refuse others."""
        name = getattr(func, "__name__", str(func))
        if name not in WITHOUT_SHAPES:
            raise ArgumentError(
                f"{name}: needs elements: got an uninitialized parameter or buffer, which has "
                "none before the lazy layer's first call. Call the model once first."
            )
        return disabled(func, types, args, kwargs)

    def materialize(
        self, shape: int | Sequence[int], device: object = None, dtype: object = None
    ) -> None:
        """Become a plain parameter or buffer of zeros with this shape."""
        size = (shape,) if isinstance(shape, int) else tuple(shape)
        self.data = zeros(size, dtype=self.dtype if dtype is None else dtype)
        self.__class__ = Parameter if isinstance(self, Parameter) else Buffer

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, copied: dict) -> Any:
        return type(self)(self.requires_grad, dtype=self.dtype)

    def __reduce_ex__(self, protocol: int) -> tuple:
        return type(self), (self.requires_grad, None, self.dtype)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape follows from the first input.

    >>> weight = UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> weight.shape, type(weight).__name__
    (Size([2, 3]), 'Parameter')
    """

    def __new__(
        cls, requires_grad: bool = True, device: object = None, dtype: object = None
    ) -> Any:
        """A parameter without a shape."""
        made = adopted(Parameter, zeros(0, dtype=dtype), requires_grad)
        made.__class__ = cls
        return made

    def __init__(self, *settings: Any, **named: Any) -> None:
        """Do nothing: `__new__` has made the parameter."""


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape follows from the first input.

    >>> mean = UninitializedBuffer()
    >>> mean.materialize((2,))
    >>> mean
    Buffer([0., 0.])
    """

    def __new__(
        cls,
        requires_grad: bool = False,
        device: object = None,
        dtype: object = None,
        persistent: bool = True,
    ) -> Any:
        """A buffer without a shape."""
        made = Buffer(zeros(0, dtype=dtype), persistent=persistent)
        made.__class__ = cls
        return made

    def __init__(self, *settings: Any, **named: Any) -> None:
        """Do nothing: `__new__` has made the buffer."""


def is_lazy(value: object) -> bool:
    """Whether a value is a parameter or buffer without a shape yet.

    >>> is_lazy(UninitializedParameter()), is_lazy(zeros(2))
    (True, False)
    """
    return isinstance(value, UninitializedTensorMixin)


def empty_parameter(*size: int) -> Parameter:
    """A parameter of zeros, to be initialized."""
    return Parameter(zeros(*size))
