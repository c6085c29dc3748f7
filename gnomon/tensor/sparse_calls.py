"""Functions of sparse tensors, each made of functions of their positions and values.

Sums at one position, and products' sums over columns, are `index_add`: their order is that of the
values, and bits depend on nothing else.

Letters: n rows, m columns, k columns of the right factor, s sparse axes, z values, *d dense axes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, NoReturn

from gnomon.dtypes import bool_, int32
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ops.registry import OPS
from gnomon.tensor.creation import arange
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.selection import unique
from gnomon.tensor.tensor import Tensor

__all__ = [
    "CALLS",
    "SparseParts",
    "is_sparse",
    "known_as",
    "refuse",
    "shares",
    "sparse_coalesce",
    "sparse_sum",
    "sparse_to_dense",
    "sparse_transpose",
]


class SparseParts:
    """The positions and the values of a sparse tensor, and its sizes."""

    _places: Tensor
    _elements: Tensor

    def __init__(
        self,
        places: Tensor,
        elements: Tensor,
        sizes: Iterable[int],
        is_coalesced: bool = False,
        layout: str = "sparse_coo",
    ) -> None:
        self._places, self._elements, self._sizes = places, elements, tuple(sizes)
        self._coalesced, self.layout = is_coalesced, layout

    def sparse_dim(self) -> int:
        """Number of axes that indices have a row for."""
        return self._places.shape[0]

    def dense_dim(self) -> int:
        """Number of axes that each value has."""
        return self._elements.ndim - 1

    def _nnz(self) -> int:
        return self._elements.shape[0]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._sizes)

    def _like(self, elements: Tensor, places: Tensor | None = None) -> Any:
        """A tensor of other values at the same positions."""
        places = self._places if places is None else places
        return type(self)(places, elements, self._sizes, self._coalesced, self.layout)


def is_sparse(value: Any) -> bool:
    """Whether a value is a sparse tensor."""
    return issubclass(type(value), SparseParts)


def known_as(name: str) -> str:
    """A function's name in the table of those of sparse tensors."""
    return OPS[name].__name__ if name in OPS else name


def refuse(name: str, *args: Any, **_: Any) -> NoReturn:
    """Refuse a function that sparse tensors do not have."""
    flat = [x for each in args for x in (each if isinstance(each, (list, tuple)) else (each,))]
    x = next(filter(is_sparse, flat))
    raise ArgumentError(
        f"{name}: a sparse tensor does not fit: got size {tuple(x._sizes)}, {x._nnz()} values. "
        "Call .to_dense() first."
    )


def sum_rows(count: int, at: Tensor, rows: Tensor) -> Tensor:
    """Sums of rows by number, in the order of the rows, (count, *d)."""
    if rows.dtype is bool_:
        return sum_rows(count, at, rows.to(int32)) != 0
    return rows.new_zeros((count, *rows.shape[1:])).index_add(0, at, rows)


def numbers(x: SparseParts, axes: Iterable[int] | None = None) -> Tensor:
    """The number of each position along some sparse axes, or all, (z).

    Errors: IndexOutOfBounds of a position outside its axis.
    """
    made = x._places.new_zeros(x._nnz())
    for k in range(x.sparse_dim()) if axes is None else axes:
        known = arange(x._sizes[k], device=x._places.device)
        made = made * x._sizes[k] + known.index_select(0, x._places[k])
    return made


def positions(found: Tensor, sizes: Sequence[int]) -> Tensor:
    """The positions of numbers among all, (s, z)."""
    parts: list[Tensor] = []
    for size in reversed(sizes):
        parts.insert(0, found % max(size, 1))
        found = found // max(size, 1)
    return FUNCTIONS["stack"](parts)


def sizes_of(x: SparseParts) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes of the sparse and of the dense axes."""
    return x._sizes[: x.sparse_dim()], x._sizes[x.sparse_dim() :]


def sparse_coalesce(x: SparseParts) -> Any:
    """The tensor with its positions in order, each once."""
    if x._coalesced:
        return x
    outer, _ = sizes_of(x)
    found, at = unique(numbers(x), return_inverse=True)
    elements = sum_rows(found.shape[0], at, x._elements)
    return type(x)(positions(found, outer), elements, x._sizes, True)


def sparse_to_dense(x: SparseParts, dtype: Any = None, **_: Any) -> Tensor:
    """The dense tensor."""
    outer, inner = sizes_of(x)
    made = sum_rows(prod(outer), numbers(x), x._elements).reshape((*outer, *inner))
    return made if dtype is None else made.to(dtype)


def sparse_transpose(x: SparseParts, dim0: int, dim1: int) -> Any:
    """The tensor with two sparse axes swapped."""
    order = list(range(x.ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    count = x.sparse_dim()
    if order[count:] != list(range(count, x.ndim)):
        refuse("transpose", x)
    places = FUNCTIONS["stack"]([x._places[k] for k in order[:count]])
    return type(x)(places, x._elements, [x._sizes[k] for k in order])


# products


def sparse_matmul(a: Any, b: Any) -> Any:
    """The product of matrices, or of a matrix and a vector, one of which is sparse, or both."""
    if not is_sparse(a):
        return sparse_matmul(sparse_transpose(b, 0, 1), a.T if a.ndim > 1 else a).T
    if a.ndim != 2 or a.dense_dim() or b.ndim not in (1, 2) or a.shape[1] != b.shape[0]:
        raise ShapeError(
            "matmul: needs matrices, or a matrix and a vector, with columns and rows that fit: got "
            f"{tuple(a.shape)} and {tuple(b.shape)}."
        )
    if is_sparse(b):
        return product_of_sparse(a, sparse_coalesce(b))
    elements = a._elements if b.ndim == 1 else a._elements.unsqueeze(1)
    return sum_rows(a.shape[0], a._places[0], b.index_select(0, a._places[1]) * elements)


def product_of_sparse(a: SparseParts, b: SparseParts) -> Any:
    """The sparse product of two sparse matrices: a value meets all those of its column's row."""
    starts = FUNCTIONS["searchsorted"](b._places[0].contiguous(), arange(b.shape[0] + 1))
    first = starts.index_select(0, a._places[1])
    counts = starts.index_select(0, a._places[1] + 1) - first
    which = FUNCTIONS["repeat_interleave"](arange(a._nnz()), counts)
    within = arange(which.shape[0]) - (counts.cumsum(0) - counts).index_select(0, which)
    other = first.index_select(0, which) + within
    rows = a._places[0].index_select(0, which), b._places[1].index_select(0, other)
    elements = a._elements.index_select(0, which) * b._elements.index_select(0, other)
    places = FUNCTIONS["stack"](rows)
    return sparse_coalesce(type(a)(places, elements, (a.shape[0], b.shape[1])))


def sparse_addmm(input: Tensor, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """beta * input + alpha * the product of two matrices."""
    return sparse_add(input if beta == 1 else input * beta, sparse_matmul(mat1, mat2), alpha=alpha)


def sparse_linear(x: Any, weight: Any, bias: Tensor | None = None) -> Any:
    """x @ weight.T + bias."""
    made = sparse_matmul(x, weight.T)
    return made if bias is None else sparse_add(made, bias)


# element by element


def sparse_add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """The sum of two tensors: a dense one if one is dense."""
    other = other if alpha == 1 else other * alpha
    if not (is_sparse(input) and is_sparse(other)):
        if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
            refuse("add", input, other)
        return dense(input) + dense(other)
    if input._sizes != other._sizes or input.sparse_dim() != other.sparse_dim():
        raise ShapeError(f"add: sizes differ: got {tuple(input.shape)} and {tuple(other.shape)}.")
    places = FUNCTIONS["cat"]([input._places, other._places], 1)
    made = type(input)(places, FUNCTIONS["cat"]([input._elements, other._elements]), input._sizes)
    return sparse_coalesce(made) if input._coalesced and other._coalesced else made


def sparse_subtract(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """The difference of two tensors."""
    return sparse_add(input, other, alpha=-alpha)


def dense(x: Any) -> Tensor:
    """A tensor, made dense."""
    return sparse_to_dense(x) if is_sparse(x) else x


def sparse_multiply(input: Any, other: Any) -> Any:
    """The products of a sparse tensor's values and a number or the values of another tensor."""
    x, y = (input, other) if is_sparse(input) else (other, input)
    if is_sparse(y):
        x, y = sparse_coalesce(x), sparse_coalesce(y)
        both = FUNCTIONS["isin"](numbers(x), numbers(y))
        elements = x._elements[both] * at_places(sparse_to_dense(y), x._places[:, both])
        return type(x)(x._places[:, both], elements, x._sizes, True)
    if isinstance(y, Tensor) and y.ndim:
        y = at_places(y.expand(x._sizes), x._places)
    return x._like(x._elements * y)


def at_places(x: Tensor, places: Tensor) -> Tensor:
    """The elements of a dense tensor at positions, (z, *d)."""
    return x[tuple(places[k] for k in range(places.shape[0]))]


def sparse_divide(input: Any, other: Any, **named: Any) -> Any:
    """The values divided by a number."""
    if not is_sparse(input) or (isinstance(other, Tensor) and other.ndim):
        refuse("div", input, other)
    return input._like(FUNCTIONS["div"](input._elements, other, **named))


def in_place(function: str) -> Callable:
    """A method that changes the values by a number."""

    def call(x: SparseParts, other: Any) -> Any:
        if isinstance(other, Tensor) and other.ndim:
            refuse(function, x)
        getattr(x._elements, function)(other)
        return x

    return call


def mapped(name: str, is_linear: bool) -> Callable:
    """A function that leaves 0 as it is, of the values."""

    def call(x: SparseParts, *args: Any, **kwargs: Any) -> Any:
        x = x if is_linear else sparse_coalesce(x)
        made = getattr(x._elements, name)(*args, **kwargs)
        if not isinstance(made, Tensor):
            refuse(name, x)
        return x._like(made, x._places.to(made.device))

    return call


def sparse_clone(x: SparseParts, **_: Any) -> Any:
    """A copy."""
    return x._like(x._elements.clone(), x._places.clone())


def sparse_zeros_like(x: SparseParts, **named: Any) -> Any:
    """A sparse tensor of the same size without values."""
    elements = FUNCTIONS["zeros_like"](x._elements[:0], **named)
    return type(x)(x._places[:, :0], elements, x._sizes, False)


def sparse_cat(tensors: Sequence[Any], dim: int = 0, **named: Any) -> Any:
    """Sparse tensors one behind the other along a sparse axis."""
    first, dim = tensors[0], named.get("axis", dim) % tensors[0].ndim
    if not all(map(is_sparse, tensors)) or dim >= first.sparse_dim():
        refuse("cat", *tensors)
    start, places = 0, []
    for x in tensors:
        shift = [[start if k == dim else 0] for k in range(first.sparse_dim())]
        places.append(x._places + x._places.new_tensor(shift))
        start += x._sizes[dim]
    sizes = (*first._sizes[:dim], start, *first._sizes[dim + 1 :])
    elements = FUNCTIONS["cat"]([x._elements for x in tensors])
    return type(first)(FUNCTIONS["cat"](places, 1), elements, sizes)


# folds


def sparse_sum(input: SparseParts, dim: Any = None, keepdim: bool = False, **named: Any) -> Any:
    """The sum of all elements, or along some axes: sparse, unless no sparse axis is left."""
    dim, keepdim = named.get("axis", dim), named.get("keepdims", keepdim)
    dtype = named.get("dtype")
    elements = input._elements if dtype is None else input._elements.to(dtype)
    if dim is None:
        return elements.sum()
    count, sizes = input.sparse_dim(), input._sizes
    dims = {k % input.ndim for k in ((dim,) if isinstance(dim, int) else dim)}
    if inner := [k - count + 1 for k in dims if k >= count]:
        elements = elements.sum(inner, keepdim)
    left = [k for k in range(count) if keepdim or k not in dims]
    if not left:
        return elements.sum(0)
    shape = [1 if k in dims else size for k, size in enumerate(sizes) if keepdim or k not in dims]
    places = FUNCTIONS["stack"]([input._places[k] * int(k not in dims) for k in left])
    is_same = input._coalesced and not any(k < count for k in dims)
    return sparse_coalesce(type(input)(places, elements, shape, is_same))


def shares(x: SparseParts, dim: int, dtype: Any, share: Callable[[Tensor, Tensor], Tensor]) -> Any:
    """The shares of exp(x) within the values that differ in one axis alone."""
    x = sparse_coalesce(x if dtype is None else x.to(dtype))
    (outer, _), dim = sizes_of(x), dim % x.ndim
    if dim >= len(outer):
        axis = dim - len(outer) + 1
        less = x._elements - x._elements.detach().amax(axis, True)
        return x._like(share(less, less.exp().sum(axis, True)))
    rest = [k for k in range(len(outer)) if k != dim]
    group, count = numbers(x, rest), prod(outer[k] for k in rest)
    least = x._elements.new_full((count, *x._elements.shape[1:]), float("-inf"))
    most = least.index_reduce(0, group, x._elements.detach(), "amax")
    less = x._elements - most.index_select(0, group)
    total = sum_rows(count, group, less.exp())
    return x._like(share(less, total.index_select(0, group)))


def sparse_t(x: SparseParts) -> Any:
    """The tensor with its two axes swapped, or one of fewer axes."""
    return sparse_transpose(x, 0, 1) if x.ndim > 1 else x


def sparse_type(x: SparseParts, dtype: Any = None) -> Any:
    """The tensor in another dtype; without one, the name of its dtype's tensor class."""
    if dtype is not None:
        return x._like(x._elements.type(dtype))
    package, _, name = x._elements.type().rpartition(".")
    return f"{package}.sparse.{name}"


def sparse_numel(x: SparseParts) -> int:
    """Number of positions, with those that have no value."""
    return prod(x._sizes)


def sparse_size(x: SparseParts, dim: int | None = None) -> Any:
    """The sizes of the axes, or that of one."""
    return x.shape if dim is None else x.shape[dim]


LINEAR = "bfloat16 bool cpu cuda detach double float half int long negative short to"
ZERO_STAYS = (
    "abs arcsin arctan asinh atanh ceil erf expm1 floor isinf isnan log1p pow relu round sign sin "
    "sinh sqrt square tan tanh trunc"
)
"""Functions whose value at 0 is 0."""
MULTIPLYING = "matmul mm mv"
OWN = (
    *(sparse_add, sparse_addmm, sparse_cat, sparse_clone, sparse_coalesce, sparse_divide),
    *(
        sparse_linear,
        sparse_multiply,
        sparse_numel,
        sparse_size,
        sparse_subtract,
        sparse_sum,
        sparse_t,
    ),
    *(sparse_to_dense, sparse_transpose, sparse_type, sparse_zeros_like),
)
CALLS: dict[str, Callable] = {
    **{call.__name__.removeprefix("sparse_"): call for call in OWN},
    **dict.fromkeys(MULTIPLYING.split(), sparse_matmul),
    **{name: in_place(name) for name in ("div_", "mul_")},
    "dim": lambda x: x.ndim,
    "is_complex": lambda x: x.dtype.is_complex,
    "is_floating_point": lambda x: x.dtype.is_floating_point,
    **{known_as(name): mapped(name, True) for name in LINEAR.split()},
    **{known_as(name): mapped(name, False) for name in ZERO_STAYS.split()},
}
"""Functions that sparse tensors have, by name."""
