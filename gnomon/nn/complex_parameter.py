"""Complex parameters and buffers, each over a real leaf that holds both parts of each number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.tensor.complex_tensor import Complex
from gnomon.tensor.tensor import Tensor

__all__ = ["Owned", "owned"]


class Owned(Complex):
    """A complex parameter or buffer, which isinstance() takes for one of class `kind`."""

    __slots__ = ("kind",)
    __class__ = property(lambda self: self.kind)  # type: ignore[assignment]
    kind: type[Tensor]

    def register_post_accumulate_grad_hook(self, hook: Callable) -> Any:
        """Call hook(tensor) after its gradient was accumulated."""
        return self._pair.register_post_accumulate_grad_hook(lambda _: hook(self))

    def _like(self, pair: Tensor) -> Owned:
        made = owned(self.kind, pair)
        vars(made).update(vars(self))
        return made

    def __deepcopy__(self, memo: dict) -> Any:
        made = super().__deepcopy__(memo)
        made.grad = None  # as a real parameter's
        return made

    def __reduce_ex__(self, protocol: int) -> tuple:
        return (owned, (self.kind, self._pair), vars(self) or None)


def owned(kind: type[Tensor], pair: Tensor) -> Owned:
    """A complex parameter or buffer of a class, over a real leaf."""
    made = Owned((pair,))
    made.kind = kind
    return made
