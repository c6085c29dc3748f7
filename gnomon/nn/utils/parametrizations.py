"""torch.nn.utils.parametrizations: weight norm, spectral norm, orthogonal weights."""

from __future__ import annotations

from gnomon.nn.convolution import ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from gnomon.nn.functional import normalize
from gnomon.nn.module import Module
from gnomon.nn.utils.parametrize import register_parametrization
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.composites import norm_except_dim
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.random import randn
from gnomon.tensor.tensor import Tensor

TRANSPOSED = (ConvTranspose1d, ConvTranspose2d, ConvTranspose3d)


class WeightNorm(Module):
    """The parametrization of a weight as norms times directions."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        """The weight of norms and directions."""
        return weight_v * (weight_g / norm_except_dim(weight_v, dim=self.dim))

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        """The norms of a weight, and the weight itself as directions."""
        return norm_except_dim(weight, dim=self.dim), weight


class SpectralNorm(Module):
    """The parametrization of a weight divided by its largest singular value, by power iteration."""

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        self.n_power_iterations, self.dim, self.eps = n_power_iterations, dim, eps
        if weight.ndim > 1:
            matrix = as_matrix(weight.detach(), dim)
            for name, size in zip(("_u", "_v"), matrix.shape, strict=True):
                start = randn(size, dtype=weight.dtype)
                self.register_buffer(name, normalize(start, dim=0, eps=eps))
            self._iterate(matrix, 15)

    def _iterate(self, matrix: Tensor, count: int) -> None:
        """Update both singular vectors by `count` power iterations."""
        with no_grad():
            u, v = self._u, self._v
            for _ in range(count):
                u = normalize(FUNCTIONS["mv"](matrix, v), dim=0, eps=self.eps)
                v = normalize(FUNCTIONS["mv"](matrix.mT, u), dim=0, eps=self.eps)
            self._u.copy_(u)
            self._v.copy_(v)

    def forward(self, weight: Tensor) -> Tensor:
        """The weight divided by its largest singular value; iterates in training."""
        if weight.ndim == 1:
            return normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._iterate(matrix.detach(), self.n_power_iterations)
        return weight / gain(matrix, self._u.clone(), self._v.clone())

    def right_inverse(self, value: Tensor) -> Tensor:
        """The weight itself."""
        return value


def gain(matrix: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """The product uᵀ · matrix · v, an estimate of the largest singular value."""
    return FUNCTIONS["dot"](u, FUNCTIONS["mv"](matrix, v))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """A weight as a matrix, with one axis as rows and all others as columns."""
    moved = weight.movedim(dim, 0) if dim else weight
    return moved.reshape(moved.shape[0], -1)


def rows_of(module: Module, dim: int | None) -> int:
    """The axis of a module's outputs in its weight, or the given axis."""
    return int(isinstance(module, TRANSPOSED)) if dim is None else dim


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Parametrize a module's weight as norms times directions."""
    return register_parametrization(module, name, WeightNorm(dim), unsafe=True)


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
) -> Module:
    """Parametrize a module's weight to have a largest singular value of 1."""
    weight, rows = getattr(module, name), rows_of(module, dim)
    return register_parametrization(
        module, name, SpectralNorm(weight, n_power_iterations, rows, eps)
    )
