"""PyTorch's functions that come down to a few methods of Tensor, and the methods of their names.

Each is written over tensors, so that views, writes and gradients are those of what it calls. This
file loads when one of its names is first used.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

from gnomon.dtypes import accumulator, bool_, int64
from gnomon.errors import ArgumentError, ShapeError
from gnomon.ops.grids import BORDERS, MODES
from gnomon.ops.histories import unmoved
from gnomon.ops.sorting import one_of
from gnomon.tensor.creation import full, full_like, get_default_dtype, tensor
from gnomon.tensor.functions import FUNCTIONS, Values, apply
from gnomon.tensor.tensor import Tensor

Axes = int | Sequence[int] | None

# products, sums


def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1, alpha: float = 1
) -> Tensor:
    """beta · input + alpha · Σ batch1[k] @ batch2[k].

    >>> import gnomon as gn
    >>> addbmm(gn.ones(1, 1), gn.ones(2, 1, 3), gn.ones(2, 3, 1))
    Tensor([[7.]])
    """
    if batch1.ndim != 3 or batch2.ndim != 3:
        raise ShapeError(
            f"addbmm: needs two batches of matrices: got {tuple(batch1.shape)} and "
            f"{tuple(batch2.shape)}."
        )
    product = FUNCTIONS["einsum"]("bnk,bkm->nm", batch1, batch2)
    if not any(x.is_floating_point() or x.is_complex() for x in (input, product)):
        beta, alpha = (int(v) if isinstance(v, float) else v for v in (beta, alpha))
    product = product * alpha
    return product if beta == 0 else input * beta + product


def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, *, dx: float = 1.0, dim: int = -1
) -> Tensor:
    """The area under y up to each place, by straight lines between places x, or dx apart.

    >>> import gnomon as gn
    >>> cumulative_trapezoid(gn.tensor([0.0, 1.0, 4.0]))
    Tensor([0.5, 3. ])
    """
    rows = y.movedim(dim, -1)
    widths = dx if x is None else (x if x.ndim == 1 else x.movedim(dim, -1)).diff()
    return ((rows[..., 1:] + rows[..., :-1]) * 0.5 * widths).cumsum(-1).movedim(-1, dim)


def gradient(
    input: Tensor, *, spacing: Any = 1, dim: Axes = None, edge_order: int = 1
) -> tuple[Tensor, ...]:
    """The slopes along each axis: central differences, and one-sided ones at the ends.

    spacing: a distance for all axes or one each, or the places along each.

    >>> import gnomon as gn
    >>> gradient(gn.tensor([1.0, 2.0, 4.0, 8.0]))
    (Tensor([1. , 1.5, 3. , 4. ]),)
    """
    axes = builtins.range(input.ndim) if dim is None else (dim,) if isinstance(dim, int) else dim
    spacing = 1 if spacing is None else spacing
    one = isinstance(spacing, (int, float)) or (isinstance(spacing, Tensor) and not spacing.ndim)
    gaps = [spacing] * len(axes) if one else list(spacing)
    if edge_order not in (1, 2) or len(gaps) != len(axes):
        raise ArgumentError(
            f"gradient: needs a spacing for each of {len(axes)} axes and edge_order 1 or 2: got "
            f"{len(gaps)} and {edge_order}."
        )
    return tuple(slopes(input, k, gap, edge_order) for k, gap in zip(axes, gaps, strict=True))


def slopes(x: Tensor, axis: int, gap: Any, order: int) -> Tensor:
    """The slopes along one axis; inside by parabolas through three neighbours."""
    rows, count = x.movedim(axis, -1), x.shape[axis]
    if count <= order:
        raise ShapeError(f"gradient: needs more than {order} elements: got {tuple(x.shape)}.")
    even = not isinstance(gap, Tensor) or not gap.ndim
    steps = full((count - 1,), 1.0, dtype=x.dtype) * gap if even else gap.diff()
    each = (rows[..., 1:] - rows[..., :-1]) / steps
    before, after = steps[:-1], steps[1:]
    middle = (each[..., :-1] * after + each[..., 1:] * before) / (before + after)
    if even:  # the element itself has no part in it, be it NaN or infinite
        middle = (rows[..., 2:] - rows[..., :-2]) / (2 * gap)
    first, last = each[..., :1], each[..., -1:]
    if order == 2:
        bend = (each[..., 1:] - each[..., :-1]) / (before + after)
        first, last = first - bend[..., :1] * steps[:1], last + bend[..., -1:] * steps[-1:]
    return FUNCTIONS["cat"]([first, middle, last], -1).movedim(-1, axis)


def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """The slices along an axis, those whose p-norm is above maxnorm brought down to it.

    >>> import gnomon as gn
    >>> renorm(gn.tensor([[3.0, 4.0], [0.1, 0.0]]), 2, 0, 1.0)
    Tensor([[0.6, 0.8],
            [0.1, 0. ]])
    """
    rest = tuple(k for k in builtins.range(input.ndim) if k != dim % input.ndim)
    norms = FUNCTIONS["vector_norm"](input, p, rest, True)
    return input * FUNCTIONS["where"](norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


def frobenius_norm(input: Tensor, dim: Axes = None, keepdim: bool = False) -> Tensor:
    """The root of the sum of squares, of all elements or over axes.

    >>> import gnomon as gn
    >>> frobenius_norm(gn.tensor([[3.0, 4.0]]))
    Tensor(5.)
    """
    return FUNCTIONS["vector_norm"](input, 2, dim or None, keepdim)


def nuclear_norm(input: Tensor, dim: Any = (-2, -1), keepdim: bool = False) -> Tensor:
    """The sum of the singular values of a matrix.

    >>> import gnomon as gn
    >>> nuclear_norm(gn.tensor([[3.0, 0.0], [0.0, 4.0]]))
    Tensor(7.)
    """
    return FUNCTIONS["matrix_norm"](input, "nuc", dim, keepdim)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int | None = 0) -> Tensor:
    """The p-norms of the slices along an axis, that axis kept; of all for -1 or None.

    >>> import gnomon as gn
    >>> norm_except_dim(gn.tensor([[3.0, 4.0], [0.0, 1.0]]))
    Tensor([[5.],
            [1.]])
    """
    if dim in (None, -1):
        return FUNCTIONS["vector_norm"](v, pow)
    rest = tuple(k for k in builtins.range(v.ndim) if k != dim % v.ndim)
    return FUNCTIONS["vector_norm"](v, pow, rest, True) if rest else v.abs()


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """conv1d of sequences whose steps are the first axis, whose channels are the last.

    Shapes: input (t, b, c), weight (k, c, o), bias (o) -> (p, b, o); p = t + pad * 2 - k + 1

    >>> import gnomon as gn
    >>> conv_tbc(gn.ones(5, 1, 2), gn.ones(3, 2, 4), gn.zeros(4)).shape
    Size([3, 1, 4])
    """
    made = FUNCTIONS["conv1d"](input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, 1, pad)
    return made.permute(2, 0, 1)


# images


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """affine_grid, by another name."""
    return FUNCTIONS["affine_grid"](theta, size, align_corners)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """grid_sample with numbers in place of its mode names."""
    words = MODES[interpolation_mode], BORDERS[padding_mode]
    return FUNCTIONS["grid_sample"](input, grid, *words, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def max_pool1d_with_indices(input: Tensor, *sizes: Any, **options: Any) -> tuple[Tensor, Tensor]:
    """max_pool1d, with the indices of the maxima."""
    return FUNCTIONS["max_pool1d"](input, *sizes, return_indices=True, **options)


# single elements


def rsub(input: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """other − alpha · input.

    >>> import gnomon as gn
    >>> rsub(gn.tensor([1, 2]), 10)
    Tensor([9, 8])
    """
    return FUNCTIONS["subtract"](other, input, alpha=alpha)


def ldexp(input: Tensor, other: Tensor) -> Tensor:
    """input · 2^other.

    >>> import gnomon as gn
    >>> ldexp(gn.tensor([1.5]), gn.tensor([4]))
    Tensor([24.])
    """
    if other.dtype.kind == "float":
        return input * FUNCTIONS["pow"](2.0, other)
    kind = input.dtype if input.dtype.kind == "float" else get_default_dtype()
    wide = accumulator(kind)
    half = other // 2  # a power may be too large where what it multiplies is not
    powers = [FUNCTIONS["pow"](2.0, part.to(wide)) for part in (half, other - half)]
    return (input.to(wide) * powers[0] * powers[1]).to(kind)


def logaddexp2(input: Tensor, other: Tensor) -> Tensor:
    """The logarithm to base 2 of 2^input + 2^other.

    >>> import gnomon as gn
    >>> logaddexp2(gn.tensor([3.0]), gn.tensor([3.0]))
    Tensor([4.])
    """
    base = math.log(2)
    return FUNCTIONS["logaddexp"](input * base, other * base) / base


def angle(input: Tensor) -> Tensor:
    """The angle of a number in the complex plane; of a real one 0, or π below 0.

    >>> import gnomon as gn
    >>> angle(gn.tensor([2.0, -2.0]))
    Tensor([0.    , 3.1416])
    """
    if input.is_complex():
        return input.angle()
    x = input if input.dtype.is_floating_point else input.to(get_default_dtype())
    return FUNCTIONS["where"](x.isnan(), x, (x < 0).to(x.dtype) * math.pi)


def isreal(input: Tensor) -> Tensor:
    """Whether elements have no imaginary part: all real ones.

    >>> import gnomon as gn
    >>> isreal(gn.tensor([1.0, 2.0]))
    Tensor([ True,  True])
    """
    return input.imag == 0 if input.is_complex() else full_like(input, True, dtype=bool_)


def conj(input: Tensor) -> Tensor:
    """The numbers with the opposite imaginary parts; a real tensor itself.

    >>> import gnomon as gn
    >>> conj(gn.tensor([1.0]))
    Tensor([1.])
    """
    return input.conj() if input.is_complex() else input


def real(input: Tensor) -> Tensor:
    """The real parts, as a view; a real tensor itself.

    >>> import gnomon as gn
    >>> real(gn.tensor([1 + 2j]))
    Tensor([1.])
    """
    return input.real if input.is_complex() else input


def resolve_conj(input: Tensor) -> Tensor:
    """Return the tensor: conjugations and signs are never pending."""
    return input


conj_physical, resolve_neg = conj, resolve_conj


def fill(input: Tensor, value: Any) -> Tensor:
    """One value in the shape and dtype of a tensor.

    >>> import gnomon as gn
    >>> fill(gn.zeros(2), 5)
    Tensor([5., 5.])
    """
    return apply(unmoved, (input.detach().clone().fill_(value), input))


# order


def msort(input: Tensor) -> Tensor:
    """The tensor sorted along its first axis.

    >>> import gnomon as gn
    >>> msort(gn.tensor([3, 1, 2]))
    Tensor([1, 2, 3])
    """
    return input.sort(dim=0).values


def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median of what is not NaN; along an axis with its positions.

    >>> import gnomon as gn
    >>> nanmedian(gn.tensor([gn.nan, 3.0, 1.0]))
    Tensor(1.)
    """
    if dim is None and not input.numel() and input.dtype.kind == "float":
        return full((), float("nan"), dtype=input.dtype)
    axis = 0 if dim is None else dim
    found = input.reshape(-1).sort(dim=0) if dim is None or not input.ndim else input.sort(dim=dim)
    count = (~found.values.isnan()).sum(axis, keepdim=True)
    place = ((count - 1) // 2).clamp(0)
    pair = [part.gather(axis, place) for part in (found.values, found.indices)]
    kept = keepdim and dim is not None and input.ndim
    pair = pair if kept else [part.squeeze(axis) for part in pair]
    return apply(one_of, (input, pair[0])) if dim is None else Values(*pair)


def nanquantile(
    input: Tensor,
    q: Any,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The quantile of what is not NaN in every row; NaN, where there is nothing else.

    >>> import gnomon as gn
    >>> nanquantile(gn.tensor([gn.nan, 0.0, 10.0]), 0.5)
    Tensor(5.)
    """
    choices: dict[str, Callable[[Tensor], Tensor]] = {
        "linear": lambda place: place,
        "lower": lambda place: place.floor(),
        "higher": lambda place: place.ceil(),
        "nearest": lambda place: place.round(),
        "midpoint": lambda place: (place.floor() + place.ceil()) * 0.5,
    }
    dim = dim if input.ndim else None
    shares = q if isinstance(q, Tensor) else tensor(q, dtype=input.dtype)
    if interpolation not in choices or not bool(((shares >= 0) & (shares <= 1)).all()):
        raise ArgumentError(
            f"nanquantile: shares lie in [0, 1], interpolation is one of {', '.join(choices)}: "
            f"got {q} and {interpolation!r}."
        )
    rows = (input.reshape(-1) if dim is None else input.movedim(dim, -1)).sort(dim=-1).values
    count = (~rows.isnan()).sum(-1, keepdim=True)
    exact = choices[interpolation](
        ((count - 1).clamp(0).to(input.dtype) * shares.reshape(-1)).expand(
            *rows.shape[:-1], shares.numel()
        )
    )
    low, high = (rows.gather(-1, place.to(int64)) for place in (exact.floor(), exact.ceil()))
    # from an infinity there is no way to go
    stays = (exact == exact.floor()) | (low == math.inf) | ((low == -math.inf) & (high < math.inf))
    made = FUNCTIONS["lerp"](low, high, exact - exact.floor())
    made = FUNCTIONS["where"](stays, low, made).movedim(-1, 0)
    lead = () if not shares.ndim else (shares.numel(),)
    made = made.reshape((*lead, *rows.shape[:-1]))
    if not keepdim:
        return made
    whole = len(lead) + (0 if dim is None else dim % input.ndim)
    return made.unsqueeze(whole) if dim is not None else made.reshape((*lead, *[1] * input.ndim))
