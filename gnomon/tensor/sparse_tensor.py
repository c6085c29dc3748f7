"""Sparse tensors: positions and values as two dense tensors, and a shape.

Functions of them are in sparse_calls.py, made of functions of the two; any other one refuses. The
gradient of a sparse tensor is that of its values, at the same positions.

Letters: s sparse axes, z values, *d dense axes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from gnomon.dtypes import DType, int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.tensor.creation import arange, as_tensor, empty
from gnomon.tensor.device import Device
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.operators import OPERATORS
from gnomon.tensor.size import Size
from gnomon.tensor.sparse_calls import (
    CALLS,
    SparseParts,
    known_as,
    refuse,
    sparse_coalesce,
    sparse_to_dense,
    sparse_transpose,
)
from gnomon.tensor.tensor import Tensor

__all__ = [
    "SparseTensor",
    "sparse_coo_tensor",
    "sparse_csr_tensor",
    "sparse_mask",
    "to_sparse",
    "to_sparse_coo",
    "to_sparse_csr",
]

STATE = frozenset({"_storage", "_view", "_rare", "_requires"})
"""Attributes of dense tensors, which code that knows no others reads."""
OF_VALUES = frozenset({"dtype", "device", "grad_fn", "is_cpu", "is_cuda", "is_leaf", "is_meta"})
"""Attributes that a sparse tensor takes from its values."""


class SparseTensor(SparseParts):
    """A tensor of which the values at some positions are kept, and all others are 0.

    To isinstance it is a Tensor. Made by `sparse_coo_tensor`, `to_sparse` and their like.

    >>> import gnomon as gn
    >>> x = gn.sparse_coo_tensor([[0, 1], [2, 0]], [3.0, 4.0], (2, 3))
    >>> x @ gn.ones(3, 1), x.layout
    (Tensor([[3.],
            [4.]]), 'sparse_coo')
    """

    __array_priority__ = 1000
    __class__ = property(lambda self: Tensor)  # type: ignore[assignment]
    _is_data = _overrides = True

    @classmethod
    def __torch_function__(
        cls, func: Callable, types: Sequence[type], args: Sequence = (), kwargs: Any = None
    ) -> Any:
        return call_sparse(func.__name__, *args, **(kwargs or {}))

    def __getattr__(self, name: str) -> Any:
        if name in OF_VALUES:
            return getattr(self._elements, name)
        if name in STATE:
            refuse("sparse", self)
        if (found := CALLS.get(known_as(name))) is not None:
            return partial(found, self)
        if name.startswith("_") or not hasattr(Tensor, name):
            raise AttributeError(f"'SparseTensor' object has no attribute {name!r}")
        return (
            partial(refuse, name, self) if callable(getattr(Tensor, name)) else refuse(name, self)
        )

    # about it

    @property
    def shape(self) -> Size:
        """Sizes of the axes."""
        return Size(self._sizes)

    @property
    def is_sparse(self) -> bool:
        """Whether it has coordinates for indices."""
        return self.layout == "sparse_coo"

    @property
    def is_sparse_csr(self) -> bool:
        """Whether it shows its rows by where they begin."""
        return self.layout == "sparse_csr"

    def is_coalesced(self) -> bool:
        """Whether the positions are in order, each once."""
        return self._coalesced

    def _indices(self) -> Tensor:
        return self._places.detach()

    def _values(self) -> Tensor:
        return self._elements.detach()

    def indices(self) -> Tensor:
        """The positions, (s, z)."""
        return self._ordered("indices")._places.detach()

    def values(self) -> Tensor:
        """The values at the positions, (z, *d), through which gradients flow."""
        return self._ordered("values")._elements

    def _ordered(self, name: str) -> SparseTensor:
        """The tensor, refused where a position may be in it twice."""
        if not self._coalesced:
            raise ArgumentError(
                f"{name}: cannot get {name} on an uncoalesced tensor: got {self._nnz()} values. "
                "Call .coalesce() first."
            )
        return self

    def crow_indices(self) -> Tensor:
        """The number of the value at which each row begins, and of all values."""
        rows = self._ordered("crow_indices")._places[0]
        return FUNCTIONS["searchsorted"](rows.contiguous(), arange(self._sizes[0] + 1))

    def col_indices(self) -> Tensor:
        """The column of each value."""
        return self._ordered("col_indices")._places[1]

    def __len__(self) -> int:
        return self._sizes[0]

    def __bool__(self) -> NoReturn:
        refuse("bool", self)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        refuse("numpy", self)

    def __getitem__(self, index: Any) -> Any:
        return call_sparse("__getitem__", self, index)

    def __iter__(self) -> NoReturn:
        refuse("iter", self)

    def __repr__(self) -> str:
        return Tensor.__repr__(self)  # type: ignore[arg-type]

    # gradients and copies

    @property
    def requires_grad(self) -> bool:
        """Whether backward passes reach the values."""
        return self._elements.requires_grad

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if value is not self.requires_grad:
            self._elements = self._elements.detach() if value else self._elements
            self._elements.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> SparseTensor:
        """Set whether backward passes compute gradients of the values."""
        self.requires_grad = requires_grad
        return self

    @property
    def grad(self) -> SparseTensor | None:
        """The gradient of the values, at the same positions."""
        found = self._elements.grad
        return None if found is None else self._like(found)

    @grad.setter
    def grad(self, value: SparseTensor | None) -> None:
        self._elements.grad = None if value is None else value._elements

    @property
    def data(self) -> SparseTensor:
        """The tensor without gradients."""
        return self._like(self._elements.detach())

    @property
    def T(self) -> SparseTensor:
        """The tensor with its two axes swapped."""
        return sparse_transpose(self, 0, 1)

    def copy_(self, other: SparseTensor, non_blocking: bool = False) -> SparseTensor:
        """Take another sparse tensor's positions and values."""
        if type(other) is not SparseTensor:
            refuse("copy_", self)
        taken = other.to(self.device).to(self.dtype).clone()
        self._places, self._elements, self._sizes = taken._places, taken._elements, taken._sizes
        self._coalesced = taken._coalesced
        return self

    def _dense_parts(self) -> tuple[tuple[Tensor, ...], Callable]:
        about = {"sizes": self._sizes, "is_coalesced": self._coalesced, "layout": self.layout}
        return (self._places, self._elements), partial(assembled, about)

    def _saved(self) -> tuple:
        """The parts in PyTorch's files."""
        if self.is_sparse:
            return self._places, self._elements, self.shape, self._coalesced
        return self.crow_indices(), self.col_indices(), self._elements, self.shape

    def __deepcopy__(self, memo: dict) -> SparseTensor:
        parts = (copy.deepcopy(x, memo) for x in (self._elements, self._places))
        made = memo[id(self)] = self._like(*parts)
        return made

    def __reduce_ex__(self, protocol: Any) -> tuple:
        given = (self._places, self._elements, self._sizes, self._coalesced, self.layout)
        return SparseTensor, given


def assembled(about: dict[str, Any], parts: Sequence[Tensor]) -> SparseTensor:
    """The sparse tensor of positions and values."""
    return SparseTensor(*parts, **about)


def call_sparse(name: str, *args: Any, **kwargs: Any) -> Any:
    """The result of a function of sparse tensors, or a refusal."""
    found = CALLS.get(known_as(name))
    if found is None:
        refuse(name, *args, *kwargs.values())
    return found(*args, **kwargs)


def operator(slot: str) -> Callable:
    """An operator of Python's on sparse tensors."""
    name, is_reflected = getattr(Tensor, slot).meant
    return lambda self, *others: call_sparse(
        name, *((*others, self) if is_reflected else (self, *others))
    )


for _slot in OPERATORS:
    for _name in (_slot, f"__r{_slot[2:]}"):
        if hasattr(getattr(Tensor, _name, None), "meant"):
            setattr(SparseTensor, _name, operator(_name))
SparseTensor.__hash__ = object.__hash__  # type: ignore[method-assign]


# made of dense tensors


def sparse_coo_tensor(
    indices: Any,
    values: Any = None,
    size: Sequence[int] | None = None,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    **options: bool | None,
) -> SparseTensor:
    """A sparse tensor of positions and values; values at one position are summed.

    Shapes: indices (s, z), values (z, *d) -> (*d)

    options: `requires_grad`, for gradients of the values; `is_coalesced`, that the positions are in
    order, each once; `check_invariants` and `pin_memory` are PyTorch's.

    Errors: ShapeError if the parts do not fit each other.

    >>> import gnomon as gn
    >>> sparse_coo_tensor([[0, 1, 1], [2, 0, 0]], [3.0, 4.0, 5.0], (2, 3)).to_dense()
    Tensor([[0., 0., 3.],
            [9., 0., 0.]])
    """
    if values is None:  # sizes alone
        size = tuple(indices)
        indices, values = empty(len(size), 0, dtype=int64), empty(0)
    places = as_tensor(indices, dtype=int64, device=device)
    elements = as_tensor(values, dtype=dtype, device=device)
    if places.ndim != 2 or not elements.ndim or places.shape[1] != elements.shape[0]:
        raise ShapeError(
            "sparse_coo_tensor: needs indices (sparse axes, values) and values (values, ...): got "
            f"{tuple(places.shape)} and {tuple(elements.shape)}."
        )
    if size is None:
        most = (places.max(1)[0] + 1).tolist() if places.shape[1] else [0] * places.shape[0]
        size = (*most, *elements.shape[1:])
    inner = tuple(elements.shape[1:])
    if len(size) != places.shape[0] + len(inner) or tuple(size[places.shape[0] :]) != inner:
        raise ShapeError(
            f"sparse_coo_tensor: size {tuple(size)} has not the {places.shape[0]} axes of indices "
            f"and the axes {inner} of a value."
        )
    made = SparseTensor(places, elements, size, bool(options.get("is_coalesced")))
    return made.detach().requires_grad_() if options.get("requires_grad") else made


def sparse_csr_tensor(
    crow_indices: Any,
    col_indices: Any,
    values: Any,
    size: Sequence[int] | None = None,
    **options: Any,
) -> SparseTensor:
    """A sparse matrix of the values of each row, one row behind the other.

    Shapes: crow_indices (r), col_indices (z), values (z) -> (n, m)

    Errors: ShapeError if the parts do not fit each other.

    >>> sparse_csr_tensor([0, 1, 3], [2, 0, 1], [3.0, 4.0, 5.0], (2, 3)).to_dense()
    Tensor([[0., 0., 3.],
            [4., 5., 0.]])
    """
    ends, columns = as_tensor(crow_indices, dtype=int64), as_tensor(col_indices, dtype=int64)
    rows = FUNCTIONS["searchsorted"](ends[1:].contiguous(), arange(columns.shape[0]), right=True)
    if size is None:
        size = (ends.shape[0] - 1, int(columns.max()) + 1 if columns.shape[0] else 0)
    places = FUNCTIONS["stack"]([rows, columns])
    made = sparse_coo_tensor(places, values, size, is_coalesced=True, **options)
    made.layout = "sparse_csr"
    return made


def to_sparse(input: Tensor, sparse_dim: Any = None, **form: Any) -> Any:
    """The values that are not zero, with their positions along the first axes, or all.

    >>> import gnomon as gn
    >>> to_sparse(gn.tensor([0, 5, 0, 7])).indices()
    Tensor([[1, 3]])
    """
    asked = form.get("layout") or (sparse_dim if isinstance(sparse_dim, str) else "sparse_coo")
    if asked not in ("sparse_coo", "sparse_csr"):
        raise ArgumentError(f"to_sparse: no layout {asked!r}. Take 'sparse_coo' or 'sparse_csr'.")
    made: Any = input
    if type(input) is not SparseTensor:
        count = sparse_dim if isinstance(sparse_dim, int) else input.ndim
        inner = tuple(range(count, input.ndim))
        there = (input != 0).any(inner) if inner else input != 0
        places = there.nonzero(as_tuple=True)
        made = SparseTensor(FUNCTIONS["stack"](places), input[places], input.shape, True)
    if made.layout == asked:
        return made
    if made.ndim != 2 or made.dense_dim():
        raise ShapeError(f"to_sparse_csr: needs a matrix: got {tuple(made.shape)}.")
    made = sparse_coalesce(made)
    return SparseTensor(made._places, made._elements, made._sizes, True, asked)


to_sparse_coo = to_sparse


def to_sparse_csr(input: Any, dense_dim: int | None = None) -> SparseTensor:
    """The values of a matrix that are not zero, row by row.

    >>> import gnomon as gn
    >>> to_sparse_csr(gn.tensor([[0, 5], [7, 0]])).crow_indices()
    Tensor([0, 1, 2])
    """
    return to_sparse(input, layout="sparse_csr")


def sparse_mask(input: Tensor, mask: SparseTensor) -> SparseTensor:
    """The values of a dense tensor at a sparse one's positions.

    >>> import gnomon as gn
    >>> sparse_mask(gn.tensor([3, 4]), gn.tensor([0, 1]).to_sparse()).values()
    Tensor([4])
    """
    return mask._like(input[tuple(mask._places)])


CALLS |= {
    "sparse_mask": lambda x, mask: sparse_mask(sparse_to_dense(x), mask),
    **{name: to_sparse for name in ("to_sparse", "to_sparse_coo")},
    "to_sparse_csr": to_sparse_csr,
}
