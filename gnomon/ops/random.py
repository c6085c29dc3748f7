"""Random numbers as a function of a key and of each element's global position: nothing is stored.

A key is two 32-bit words. Every element is a hash of the key and its position in the whole tensor
(threefry.py), so a shard or a thread computes the same values as one process would. New keys come
from old ones by `fold_in`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from gnomon.dtypes import DType, bool_, dtype_of, float32, float64, int64, uint32, uint64
from gnomon.errors import ArgumentError, DtypeError, ShapeError
from gnomon.ir.node import Node, Shape
from gnomon.ir.operators import cast, constant, elementwise
from gnomon.ops.arguments import floats_only, one_axis
from gnomon.ops.joining import stack
from gnomon.ops.lookup_primitives import sort_positions
from gnomon.ops.primitives import expand, reshape
from gnomon.ops.reductions import argmax
from gnomon.ops.registry import op
from gnomon.ops.scalars import where
from gnomon.ops.view_primitives import slice_


def words_of(key: Node) -> tuple[Node, Node]:
    """The two words of a key; raises DtypeError if it is not one."""
    if key.shape != (2,) or key.dtype is not uint32:
        raise DtypeError(f"random: a key is two uint32 words: got {key.dtype.name} {key.shape}.")
    first, second = (reshape(slice_(key, ((k, k + 1, 1),)), ()) for k in (0, 1))
    return first, second


def hashed(key: Node, counter: Node) -> Node:
    """The hash of a key and a counter, as uint64."""
    return key.arena.node("map", (*words_of(key), counter), f="threefry")


def halves(noise: Node) -> tuple[Node, Node]:
    """The two words of a uint64, the lower one first."""
    return cast(noise, uint32), cast(elementwise("shift_right", noise, 32), uint32)


def positions(key: Node, shape: Shape) -> Node:
    """The position of each element in the flattened tensor."""
    total = math.prod(shape)
    kind = uint32 if total < 2**32 else uint64
    return cast(reshape(key.arena.node("iota", (), size=total, dtype=kind), shape), uint64)


@op
def fold_in(key: Node, number: Node | int) -> Node:
    """Derive a new key, practically independent, from a key and a number.

    Shapes: key (2) -> (2)

    >>> key = tensor([0, 1], dtype="uint32")
    >>> all(fold_in(key, 1) == fold_in(key, 2))
    Tensor(False)
    """
    if not isinstance(number, Node):
        number = constant(key.arena, number % 2**32, uint32)
    word = cast(reshape(cast(number, uint32), ()), uint64)
    return stack(list(halves(hashed(key, word))), 0)


@op
def random_bits(key: Node, shape: Sequence[int]) -> tuple[Node, Node]:
    """Two random uint32 words per element.

    Shapes: key (2) -> (*shape), (*shape)

    >>> random_bits(tensor([0, 1], dtype="uint32"), (2,))[0].dtype
    gnomon.uint32
    """
    return noise(key, tuple(shape))


def noise(key: Node, shape: Shape) -> tuple[Node, Node]:
    """Two random words for each element."""
    first, second = halves(hashed(key, positions(key, shape)))
    return expand(first, shape), expand(second, shape)


def fraction(words: tuple[Node, Node], kind: DType) -> Node:
    """Random numbers in [0, 1), multiples of 2^-24, or of 2^-53 in float64."""
    if kind is not float64:
        top = elementwise("shift_right", words[0], 8)
        # through int32, whose conversion every machine has
        return cast(cast(cast(top, dtype_of("int32")), float32) * 2.0**-24, kind)
    high = cast(cast(elementwise("shift_right", words[0], 5), int64), float64)
    low = cast(cast(elementwise("shift_right", words[1], 6), int64), float64)
    return (high * 2.0**26 + low) * 2.0**-53


def floating_kind(name: str, dtype: object) -> DType:
    """The dtype; raises DtypeError if it is not a float."""
    kind = dtype_of(dtype)
    if not kind.is_floating_point:
        raise DtypeError(f"{name}: gives floats: got {kind.name}.")
    return kind


@op
def random_uniform(
    key: Node,
    shape: Sequence[int],
    low: float = 0.0,
    high: float = 1.0,
    *,
    dtype: object = float32,
) -> Node:
    """Uniformly distributed numbers in [low, high).

    Shapes: key (2) -> (*shape)

    >>> random_uniform(tensor([0, 1], dtype="uint32"), (3,))
    Tensor([0.1182, 0.2586, 0.4561])
    """
    kind = floating_kind("random_uniform", dtype)
    work = float64 if kind is float64 else float32
    share = fraction(noise(key, tuple(shape)), work)
    if (low, high) != (0.0, 1.0):
        share = share * (float(high) - float(low)) + float(low)
    return cast(share, kind)


@op
def random_normal(
    key: Node,
    shape: Sequence[int],
    mean: float = 0.0,
    std: float = 1.0,
    *,
    dtype: object = float32,
) -> Node:
    """Normally distributed numbers, by the Box–Muller transform.

    Shapes: key (2) -> (*shape)

    >>> random_normal(tensor([0, 1], dtype="uint32"), (3,))
    Tensor([-0.4557,  0.0384, -0.8047])
    """
    kind = floating_kind("random_normal", dtype)
    work = float64 if kind is float64 else float32
    first, second = noise(key, tuple(shape))
    if work is float64:
        key_two = fold_in(key, 1)
        share = fraction((first, second), work)
        angle = fraction(noise(key_two, tuple(shape)), work)
    else:
        share, angle = fraction((first, second), work), fraction((second, first), work)
    # 1 - share is in (0, 1], so the logarithm is finite
    radius = elementwise("sqrt", elementwise("log", 1.0 - share) * -2.0)
    value = radius * elementwise("cos", angle * (2 * math.pi))
    value = value if std == 1 else value * float(std)
    return cast(value if mean == 0 else value + float(mean), kind)


@op
def random_integers(
    key: Node, low: int, high: int, shape: Sequence[int], *, dtype: object = int64
) -> Node:
    """Uniform integers in [low, high); the bias is below (high − low) / 2^64.

    Shapes: key (2) -> (*shape)

    >>> random_integers(tensor([0, 1], dtype="uint32"), 1, 7, (5,))
    Tensor([1, 2, 3, 6, 6])
    >>> random_integers(tensor([0, 1], dtype="uint32"), 3, 3, (2,))
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: random_integers: no integer is in [3, 3).
    """
    if high <= low:
        raise ArgumentError(f"random_integers: no integer is in [{low}, {high}).")
    first, second = (cast(v, uint64) for v in noise(key, tuple(shape)))
    wide = elementwise("or", elementwise("shift_left", first, 32), second)
    place = wide
    if high - low < 2**64:
        count = expand(constant(key.arena, high - low, wide.dtype), wide.shape)
        place = elementwise("mul_high", wide, count)
    return cast(cast(place, int64) + low, dtype_of(dtype))


@op
def random_permutation(key: Node, size: int, *, dtype: object = int64) -> Node:
    """A random permutation of 0 … size − 1.

    Shapes: key (2) -> (size)

    >>> random_permutation(tensor([0, 1], dtype="uint32"), 5)
    Tensor([0, 1, 2, 4, 3])
    """
    words = [cast(v, uint64) for v in noise(key, (size,))]
    wide = elementwise("or", elementwise("shift_left", words[0], 32), words[1])
    # the sign bit is dropped: signed and unsigned order agree
    return cast(
        sort_positions(cast(elementwise("shift_right", wide, 1), int64), 0), dtype_of(dtype)
    )


@op
def bernoulli(key: Node, p: Node | float, shape: Sequence[int] | None = None) -> Node:
    """True with probability p, for each element of p or of a shape.

    Shapes: key (2), p (*s) -> (*s) if shape is None else (*shape)

    >>> bernoulli(tensor([0.0, 1.0, 1.0]))
    Tensor([0., 1., 1.])
    >>> zeros(2).bernoulli_(1.5)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: bernoulli: a probability is between 0 and 1: got 1.5.
    """
    if isinstance(p, Node):
        floats_only("bernoulli", p)
        return elementwise("lt", fraction(noise(key, p.shape), p.dtype), p)
    if shape is None:
        raise ShapeError("bernoulli: a probability that is a number needs a shape.")
    if not 0 <= p <= 1:
        raise ArgumentError(f"bernoulli: a probability is between 0 and 1: got {p}.")
    return below(key, p, tuple(shape))


def below(key: Node, p: float, shape: Shape) -> Node:
    """A mask that is True with probability p."""
    bound = round(p * 2**32)
    if bound in (0, 2**32):
        return expand(constant(key.arena, bound > 0, bool_), shape)
    return elementwise("lt", noise(key, shape)[0], bound)


def dropout_gradient(g: Node, y: Node, x: Node, key: Node, p: float = 0.5):
    """The gradient of dropout: the same mask, recomputed from the key, applied to g."""
    return dropout(g, key, p), None


@op(gradient=dropout_gradient)
def dropout(x: Node, key: Node, p: float = 0.5) -> Node:
    """Set each element to 0 with probability p, and divide the others by 1 − p.

    Shapes: x (...), key (2) -> (...)

    Kept elements are x / (1 − p), so that the mean stays (Srivastava et al. 2014).

    >>> sum(dropout(ones(1000), tensor([0, 1], dtype="uint32"), 0.5) == 2.0)
    Tensor(494)
    >>> dropout(ones(8), tensor([0, 1], dtype="uint32"), 1.5)
    Traceback (most recent call last):
    gnomon.errors.ArgumentError: dropout: a probability is between 0 and 1: got 1.5.
    """
    floats_only("dropout", x)
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout: a probability is between 0 and 1: got {p}.")
    if p == 1:
        return x * 0.0
    return where(below(key, 1 - p, x.shape), x * (1 / (1 - p)), 0.0)


@op
def random_choice(key: Node, logits: Node, axis: int = -1) -> Node:
    """An index along an axis, drawn with probabilities softmax(logits).

    Shapes: key (2), logits (*a, n, *b) -> (*a, *b)

    >>> random_choice(tensor([0, 1], dtype="uint32"), tensor([0.0, 100.0, 0.0]))
    Tensor(1)
    """
    axis = one_axis("random_choice", axis, logits.rank)
    kind = float64 if logits.dtype is float64 else float32
    share = fraction(noise(key, logits.shape), kind)
    # the largest of logits plus Gumbel noise falls on each with its chance
    gumbel = -elementwise("log", -elementwise("log", share + 2.0**-25))
    return argmax(cast(logits, kind) + gumbel, axis)
