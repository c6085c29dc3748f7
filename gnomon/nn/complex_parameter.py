"""Complex tensors that a module owns: a real leaf underneath holds both parts of each number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.tensor.complex_tensor import Complex
from gnomon.tensor.tensor import Tensor

__all__ = ["Owned", "owned"]


class Owned(Complex):
    """A complex parameter or buffer; to isinstance it is of the class that it was made for."""

    __class__ = property(lambda self: vars(self).get("kind", Tensor))  # type: ignore[assignment]

    def register_post_accumulate_grad_hook(self, hook: Callable) -> Any:
        """Call hook(tensor) after its gradient was gathered."""
        return self._pair.register_post_accumulate_grad_hook(lambda _: hook(self))


def owned(kind: type[Tensor], pair: Tensor) -> Any:
    """A complex tensor of a class over a real leaf."""
    made = Owned((pair,))
    vars(made)["kind"] = kind
    return made
