"""Embedding and EmbeddingBag."""

from __future__ import annotations

from typing import Any

from gnomon.errors import ArgumentError, ShapeError
from gnomon.nn import functional as F
from gnomon.nn import init
from gnomon.nn.module import Module
from gnomon.nn.module_texts import unusual
from gnomon.nn.parameter import Parameter, empty_parameter
from gnomon.tensor.autograd.engine import no_grad
from gnomon.tensor.tensor import Tensor


class Embedding(Module):
    """A table of vectors, looked up by position.

    Shapes: input (*s) -> (*s, embedding_dim)

    >>> Embedding(5, 3)(tensor([[1, 4]])).shape
    Size([1, 2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__()
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ArgumentError("Embedding: Padding_idx must be within num_embeddings")
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.max_norm, self.norm_type, self.sparse = max_norm, norm_type, sparse
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.weight = (
            empty_parameter(num_embeddings, embedding_dim)
            if _weight is None
            else table_of(_weight, (num_embeddings, embedding_dim), _freeze)
        )
        if _weight is None:
            self.reset_parameters()
        if dtype is not None:
            self.to(dtype)

    def reset_parameters(self) -> None:
        """Initialize the table at random; the row at padding_idx is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        **options: Any,
    ) -> Embedding:
        """An Embedding of a given table; options: further arguments of Embedding."""
        made = cls(*embeddings.shape, padding_idx=padding_idx, _weight=embeddings, **options)
        made.weight.requires_grad_(not freeze)
        return made

    def forward(self, input: Tensor) -> Tensor:
        """The rows at the positions."""
        norms = (self.max_norm, self.norm_type, self.scale_grad_by_freq)
        return F.embedding(input, self.weight, self.padding_idx, *norms)

    def extra_repr(self) -> str:
        """The sizes as text, and the settings that differ from the defaults."""
        padding = unusual(self, padding_idx=None)
        return f"{self.num_embeddings}, {self.embedding_dim}{padding}{self._norms()}" + unusual(
            self, sparse=False
        )

    def _norms(self) -> str:
        """The text of settings that limit or scale rows, if they are not the defaults."""
        return unusual(self, max_norm=None, norm_type=2.0, scale_grad_by_freq=False)


def table_of(weight: Tensor, shape: tuple[int, int], frozen: bool) -> Parameter:
    """A given table as a parameter, its shape checked."""
    if tuple(weight.shape) != shape:
        raise ShapeError(f"Embedding: the table is {tuple(weight.shape)} in place of {shape}.")
    return Parameter(weight, weight.dtype.is_floating_point and not frozen)


class EmbeddingBag(Embedding):
    """Sums, means or maxima of rows of a table, one per bag of positions.

    Shapes: input (b, k) -> (b, embedding_dim)

    >>> EmbeddingBag(5, 3)(tensor([[1, 4], [0, 2]])).shape
    Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: object = None,
        dtype: object = None,
    ) -> None:
        rest = (max_norm, norm_type, scale_grad_by_freq, sparse, _weight, False, device, dtype)
        super().__init__(num_embeddings, embedding_dim, padding_idx, *rest)
        self.mode, self.include_last_offset = mode, include_last_offset

    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor:
        """The reduced rows of each bag."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            mode=self.mode,
            per_sample_weights=per_sample_weights,
            include_last_offset=self.include_last_offset,
            padding_idx=self.padding_idx,
        )

    def extra_repr(self) -> str:
        """The sizes and the mode as text."""
        sizes = f"{self.num_embeddings}, {self.embedding_dim}{self._norms()}"
        return f"{sizes}, mode={self.mode!r}{unusual(self, padding_idx=None)}"
