"""Draws of positions, with chances in proportion to numbers."""

from __future__ import annotations

import numpy as np

from gnomon.errors import ArgumentError, DtypeError, ShapeError, brief
from gnomon.tensor.evaluate import evaluate
from gnomon.tensor.random import Generator, draw, rand
from gnomon.tensor.state import is_capturing
from gnomon.tensor.tensor import Tensor, array_of, raw

__all__ = ["multinomial"]


def multinomial(
    input: Tensor,
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Generator | None = None,
) -> Tensor:
    """Positions along the last axis, drawn with chances in proportion to the elements."""
    if not isinstance(input, Tensor):
        raise ArgumentError(f"multinomial: input must be a tensor: got {brief(input)}.")
    if not input.dtype.is_floating_point:
        raise DtypeError(f"multinomial: chances are floats: got {input.dtype.name}. Use float().")
    check_rows(input, num_samples, replacement)
    logits = input.log()
    if num_samples == 1:
        drawn = draw("random_choice", (logits.unsqueeze(-2),), generator)
    elif replacement:
        shape = (*input.shape[:-1], num_samples, input.shape[-1])
        drawn = draw("random_choice", (logits.unsqueeze(-2).expand(shape),), generator)
    else:
        options = {"generator": generator, "dtype": input.dtype, "device": input.device}
        noise = -(-(rand(input.shape, **options) + 2.0**-25).log()).log()
        drawn = (logits + noise).topk(num_samples, dim=-1).indices
    if not is_capturing():  # values are not known yet there
        check_chances(input.detach(), drawn)
    return drawn


def check_rows(input: Tensor, count: int, replacement: bool) -> None:
    """Refuse inputs without rows, or with too few outcomes for draws without replacement."""
    if input.ndim not in (1, 2) or not input.shape[-1]:
        raise ShapeError(
            f"multinomial: chances are a vector or rows of a matrix: got {tuple(input.shape)}."
        )
    if not hasattr(count, "__index__"):
        raise ArgumentError(f"multinomial: num_samples is an integer: got {count!r}.")
    if count < 1 or (count > input.shape[-1] and not replacement):
        raise ArgumentError(
            f"multinomial: can't draw {count} of {input.shape[-1]} positions"
            f"{'' if replacement else ' without replacement'}."
        )


def check_chances(input: Tensor, drawn: Tensor) -> None:
    """Refuse rows that are no distributions; the check and the draws are one program."""
    evaluate([raw(input), raw(drawn)])
    chances = array_of(input).astype(np.float64)
    good = np.isfinite(chances) & (chances >= 0)
    if not good.all():
        raise ArgumentError(
            f"multinomial: chances are finite and not negative: got {chances[~good][0]}."
        )
    if not (chances.sum(-1) > 0).all():
        raise ArgumentError("multinomial: the chances of a row are all 0.")
