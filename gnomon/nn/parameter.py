"""Parameters and buffers: tensors that a module owns."""

from __future__ import annotations

from typing import Any

from gnomon.tensor.creation import zeros
from gnomon.tensor.tensor import Tensor, alias


def adopted(kind: type[Tensor], data: Tensor, requires_grad: bool) -> Tensor:
    """A tensor of another class over the same storage."""
    made = kind.__new__(kind)
    twin = alias(data, (), detached=True)
    made._storage, made._rare, made._requires = twin._storage, None, False
    shown = twin._view.chain or data._storage.tracked
    made._view = twin._view if shown else None
    if requires_grad:
        made.requires_grad_()
    return made


class Parameter(Tensor):
    """A tensor that its module lists and optimizers change."""

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        """A parameter over a tensor's storage."""
        if data is None and requires_grad is True:
            return super().__new__(cls)
        return adopted(cls, data, requires_grad)

    def __init__(self, data: Any = None, requires_grad: bool = True) -> None:
        if data is None:
            super().__init__()
            self._requires = requires_grad


class Buffer(Tensor):
    """A tensor that its module keeps, and no optimizer changes."""

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


def empty_parameter(*size: int) -> Parameter:
    """A parameter whose values an initializer will write."""
    return Parameter(zeros(*size))
