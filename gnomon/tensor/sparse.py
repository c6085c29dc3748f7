"""PyTorch's torch.sparse: functions of sparse tensors, and its oldest constructors of them.

Letters: n rows, m columns, k columns of the right factor.
"""

from __future__ import annotations

from typing import Any

from gnomon.tensor import legacy, sparse_calls
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.sparse_tensor import SparseTensor, sparse_coo_tensor
from gnomon.tensor.tensor import Tensor

__all__ = ["addmm", "log_softmax", "mm", "softmax", "spmm", "sum"]


def mm(sparse: Any, dense: Any) -> Any:
    """The product of two matrices, of which the first is sparse, or both, whose product is sparse.

    Shapes: sparse (n, m), dense (m, k) -> (n, k)

    Errors: ShapeError if columns and rows differ.

    >>> import gnomon as gn
    >>> mm(gn.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse(), gn.ones(2, 1))
    Tensor([[2.],
            [3.]])
    """
    return FUNCTIONS["matmul"](sparse, dense)


spmm = mm


def addmm(mat: Tensor, mat1: Any, mat2: Any, *, beta: float = 1, alpha: float = 1) -> Any:
    """beta * mat + alpha * the product of a sparse matrix and a dense one.

    Shapes: mat (n, k), mat1 (n, m), mat2 (m, k) -> (n, k)

    Errors: ShapeError if columns and rows differ.

    >>> import gnomon as gn
    >>> addmm(gn.ones(2, 1), gn.eye(2).to_sparse(), gn.ones(2, 1), alpha=3)
    Tensor([[4.],
            [4.]])
    """
    return FUNCTIONS["addmm"](mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input: SparseTensor, dim: Any = None, dtype: Any = None) -> Any:
    """The sum of all elements, or along some axes: sparse, unless no sparse axis is left.

    >>> import gnomon as gn
    >>> sum(gn.tensor([[0, 2], [3, 4]]).to_sparse(), 1).to_dense()
    Tensor([2, 7])
    """
    return sparse_calls.sparse_sum(input, dim, dtype=dtype)


def softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """exp(x) as shares of their sum along an axis, where a position without a value has -inf.

    >>> import gnomon as gn
    >>> softmax(gn.tensor([[0.0, 2.0], [3.0, 3.0]]).to_sparse(), 1).values()
    Tensor([1. , 0.5, 0.5])
    """
    return sparse_calls.shares(input, dim, dtype, lambda x, total: x.exp() / total)


def log_softmax(input: SparseTensor, dim: int, *, dtype: Any = None) -> SparseTensor:
    """The logarithms of `softmax`.

    >>> import gnomon as gn
    >>> log_softmax(gn.tensor([[0.0, 2.0]]).to_sparse(), 1).values()
    Tensor([0.])
    """
    return sparse_calls.shares(input, dim, dtype, lambda x, total: x - total.log())


class SparseConstructor(legacy.Constructor):
    """A constructor of sparse tensors of one dtype: of indices, values and sizes, or sizes alone.

    >>> LongTensor([[1]], [5], (3,)).to_dense()
    Tensor([0, 5, 0])
    """

    def __call__(self, *args: Any, device: object = None, **named: Any) -> Any:
        """A sparse tensor of these parts, or of these sizes."""
        given = dict(zip(("indices", "values", "size"), args, strict=False)) | named
        if not given or isinstance(args and args[0], int):
            return sparse_coo_tensor(args or (0,), dtype=self.dtype)
        return sparse_coo_tensor(**given, dtype=self.dtype, device=device)

    def __instancecheck__(self, value: object) -> bool:
        return type(value) is SparseTensor and value.dtype is self.dtype

    def __repr__(self) -> str:
        return f"gnomon.sparse.{self.__name__}"


globals().update({x.__name__: SparseConstructor(x.__name__, x.dtype) for x in legacy.CONSTRUCTORS})
