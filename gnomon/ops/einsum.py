"""Einstein sums of any number of tensors: contracted from left to right, two at a time.

Repeated letters in one operand are diagonals, of axes of one size. A size of 1 broadcasts against
another operand's. "..." is any leading axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gnomon.errors import ArgumentError, ShapeError
from gnomon.ir.node import Node
from gnomon.ops import fitting
from gnomon.ops.arguments import listed
from gnomon.ops.diagonals import diagonal_of
from gnomon.ops.linalg import alike
from gnomon.ops.primitives import contract, reduce, reshape
from gnomon.ops.registry import op
from gnomon.ops.view_primitives import permute

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def read(spec: str | object, xs: Sequence[Node]) -> tuple[list[str], str]:
    """Parse the letters of each operand and of the result; dots become letters of their own."""
    if not isinstance(spec, str):
        kind = type(spec).__name__
        raise ArgumentError(f'einsum: expected letters like "ij,jk->ik" first: got {kind}.')
    left, arrow, out = spec.replace(" ", "").partition("->")
    terms = left.split(",")
    if len(terms) != len(xs):
        raise ArgumentError(f"einsum: {spec!r} names {len(terms)} operands: got {len(xs)}.")
    free = [c for c in LETTERS if c not in spec]
    extra = max(
        (x.rank - len(t) + 3 for t, x in zip(terms, xs, strict=True) if "..." in t), default=0
    )
    dots = "".join(free[:extra])
    if not arrow:
        seen = "".join(terms).replace(".", "")
        out = "..." + "".join(sorted(c for c in set(seen) if seen.count(c) == 1))
    named = [named_axes(spec, term, x, dots) for term, x in zip(terms, xs, strict=True)]
    result = out.replace("...", dots)
    if "." in result or set(result) - set("".join(named)) or len(set(result)) < len(result):
        raise ArgumentError(f"einsum: {spec!r} asks for a result that its operands do not give.")
    return named, result


def spelled(*given: Any) -> tuple[str, list[Node]]:
    """The letters and operands of a call in which each operand is followed by numbers of axes."""
    count = len(given) // 2
    xs, lists = list(given[0 : 2 * count : 2]), list(given[1 : 2 * count : 2])
    terms = [letters_of(each) for each in [*lists, *given[2 * count :]]]
    return ",".join(terms[:count]) + "".join(f"->{x}" for x in terms[count:]), xs


def letters_of(numbers: Any) -> str:
    """The letters for numbers of axes; ... becomes three dots."""
    letters = {**dict(enumerate(LETTERS)), ...: "..."}
    try:
        return "".join([letters[item] for item in numbers])
    except (KeyError, TypeError):
        raise ArgumentError(
            "einsum: each tensor is followed by a list of axes, numbers from 0 to 51 or ...: got "
            f"{fitting.brief(numbers)}."
        ) from None


def named_axes(spec: str, term: str, x: Node, dots: str) -> str:
    """The letters of an operand, one per axis."""
    count = x.rank - len(term.replace("...", ""))
    named = term.replace("...", dots[len(dots) - count :]) if "..." in term else term
    if len(named) != x.rank or "." in named:
        raise ShapeError(f"einsum: {term!r} of {spec!r} does not name the axes of {x.shape}.")
    return named


def sizes_of(named: Sequence[str], xs: Sequence[Node]) -> dict[str, int]:
    """Letter -> its size; a size of 1 broadcasts."""
    size: dict[str, int] = {}
    for letters, x in zip(named, xs, strict=True):
        own: dict[str, int] = {}
        for c, n in zip(letters, x.shape, strict=True):
            if own.setdefault(c, n) != n:
                raise ShapeError(f"einsum: axis {c} differs within x {x.shape}: {own[c]} and {n}.")
            if size.setdefault(c, n) == 1:
                size[c] = n
            elif n not in (1, size[c]):
                raise ShapeError(f"einsum: axis {c} differs: {size[c]} and {n}.")
    return size


def plain_operand(x: Node, letters: str, size: dict[str, int]) -> tuple[Node, str]:
    """An operand with diagonals taken of repeated letters, and without broadcast axes."""
    for c in dict.fromkeys(letters):
        while letters.count(c) > 1:
            first = letters.index(c)
            second = letters.index(c, first + 1)
            x = diagonal_of(x, 0, first, second)
            letters = letters[:first] + letters[first + 1 : second] + letters[second + 1 :] + c
    kept = [k for k, c in enumerate(letters) if x.shape[k] == size[c]]
    return reshape(x, tuple(x.shape[k] for k in kept)), "".join(letters[k] for k in kept)


def contract_pair(a: tuple[Node, str], b: tuple[Node, str], needed: str) -> tuple[Node, str]:
    """Contract two operands, and keep the letters that are needed later."""
    (x, left), (y, right) = a, b
    out = "".join(c for c in dict.fromkeys(left + right) if c in needed)
    return contract(f"{left},{right}->{out}", x, y), out


def np_einsum(spec: str, *xs: np.ndarray) -> Any:
    """Compute einsum with numpy."""
    return np.einsum(spec.replace(" ", ""), *xs)


@op(reference=np_einsum, autocast="narrow", views=True, complex="product")
def einsum(spec: str | Node, *xs: Node | Sequence[Any]) -> Node:
    """Sums of products by Einstein's notation: letters missing from the result are summed.

    Without letters, each tensor is followed by a list of numbers of its axes, 0 to 51, and the
    result's list comes last.

    Shapes: xs (?) -> (?)

    >>> einsum("ij,j->i", tensor([[1, 2], [3, 4]]), tensor([1, 10]))
    Tensor([21, 43])
    >>> einsum(tensor([[1, 2], [3, 4]]), [0, 1], tensor([1, 10]), [1], [0])
    Tensor([21, 43])
    >>> einsum("ij,jk->ik", ones(2, 3), ones(4, 5))
    Traceback (most recent call last):
    gnomon.errors.ShapeError: einsum: axis j differs: 3 and 4.
    """
    letters, operands = spelled(spec, *xs) if isinstance(spec, Node) else (spec, xs)
    operands = listed("einsum", operands)
    named, out = read(letters, operands)
    size = sizes_of(named, operands)
    parts = [
        plain_operand(x, letters, size)
        for x, letters in zip(alike("einsum", *operands), named, strict=True)
    ]
    done = parts[0]
    for k, part in enumerate(parts[1:], 2):
        later = "".join(letters for _, letters in parts[k:])
        # the last contraction writes the result's own order of axes
        done = contract_pair(done, part, later + out) if k < len(parts) else last(done, part, out)
    x, letters = done
    gone = tuple(k for k, c in enumerate(letters) if c not in out)
    x, letters = reduce("add", x, gone), "".join(c for c in letters if c in out)
    return permute(x, tuple(letters.index(c) for c in out))


def last(a: tuple[Node, str], b: tuple[Node, str], out: str) -> tuple[Node, str]:
    """The last contraction of an einsum, with the letters of the result."""
    return contract(f"{a[1]},{b[1]}->{out}", a[0], b[0]), out
