"""Methods by which programs ask for sparse tensors: every tensor is dense, and tells its places."""

from __future__ import annotations

from typing import Any

from gnomon.tensor.tensor import Tensor

__all__ = ["coalesce", "indices", "to_sparse", "values"]


def to_sparse(input: Tensor, *sparse_dim: int, **form: Any) -> Tensor:
    """A copy that is dense, as every tensor is; which form is asked for does not matter.

    >>> import gnomon as gn
    >>> to_sparse(gn.tensor([0, 5, 0, 7])).indices()
    Tensor([[1, 3]])
    """
    return input.clone()


def coalesce(input: Tensor) -> Tensor:
    """The tensor itself: no place of it has two values.

    >>> import gnomon as gn
    >>> coalesce(gn.tensor([0, 5]))
    Tensor([0, 5])
    """
    return input


def indices(input: Tensor) -> Tensor:
    """The places of what is not zero, a column for each.

    >>> import gnomon as gn
    >>> indices(gn.tensor([[0, 5], [7, 0]]))
    Tensor([[0, 1],
            [1, 0]])
    """
    return input.nonzero().T


def values(input: Tensor) -> Tensor:
    """The elements that are not zero, in the order of their places.

    >>> import gnomon as gn
    >>> values(gn.tensor([[0, 5], [7, 0]]))
    Tensor([5, 7])
    """
    return input[input.nonzero(as_tuple=True)]
