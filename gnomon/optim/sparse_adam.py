"""SparseAdam's name: it needs sparse gradients, and all gradients here are dense."""

from __future__ import annotations

from gnomon.errors import ArgumentError
from gnomon.optim.adam import Adam
from gnomon.optim.optimizer import Groups
from gnomon.tensor.tensor import Tensor


class SparseAdam(Adam):
    """Adam for sparse gradients; dense ones are refused, as in PyTorch."""

    def __init__(
        self,
        params: Groups,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, maximize=maximize)

    def _step_group(self, number: int, only_if: Tensor | None) -> None:
        """Raise an error if a parameter has a gradient, since all gradients here are dense."""
        if any(p.grad is not None for p in self.param_groups[number]["params"]):
            raise ArgumentError(
                "SparseAdam: needs sparse gradients: got a dense one, as all gradients are here. "
                "Use Adam."
            )
