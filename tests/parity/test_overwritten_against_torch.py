"""A tensor is written over between a call and its backward pass, under both libraries.

Gnomon refuses no pass that PyTorch takes, and a pass that PyTorch alone refuses has the gradients
of the values as they were. Which tensor is written over is each that a sample gives or gets.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from tests.parity.operator_database import (
    call_of,
    is_tracked,
    leaves,
    mapped,
    ours_of,
    samples,
    theirs_of,
    torch,
)
from tests.parity.test_operator_database import ENTRIES, PASSING

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]

REFUSED = {
    "__rdiv__": "PyTorch divides as a product with a reciprocal",
    "div_no_rounding_mode": "a quotient's gradient reads it here, in PyTorch what was divided",
    "expm1": "its gradient reads the operand here, in PyTorch the result",
    "ldexp": "PyTorch's power of two is a copy",
    "masked_normalize": "as quotients",
    "nn_functional_scaled_dot_product_attention": "PyTorch saves scaled copies",
    "true_divide": "as quotients",
}
"""Entries of which Gnomon refuses more."""
COMPARED = [name for name in PASSING if is_tracked(ENTRIES[name]) and name not in REFUSED]


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of either library."""
    return isinstance(value, (torch.Tensor, gn.Tensor))


class Pass:
    """A call on results, and the tensors that it was given and gives."""

    def __init__(self, call: Any, sample: Any, change: Any) -> None:
        self.leaves = mapped((sample.input, tuple(sample.args), sample.kwargs), change)
        given = mapped(self.leaves, lambda x: x * 1 if is_tensor(x) and x.requires_grad else x)
        answer = sample.output_process_fn_grad(call(given[0], *given[1], **given[2]))
        self.results = [x for x in leaves(answer) if is_tensor(x)]
        self.places = [*filter(is_tensor, leaves(given)), *self.results]

    def slopes(self, lib: Any, place: int | None) -> list[Any] | None:
        """The leaves' gradients once a place is written over; None where they are refused."""
        if place is not None:
            with lib.no_grad():
                self.places[place].copy_(self.places[place].clone() * 0)
        roots = [x for x in self.results if x.requires_grad]
        try:
            lib.autograd.backward(roots, [lib.ones_like(x) for x in roots])
        except RuntimeError as error:
            if "modified by an inplace" in str(error):
                return None
            raise
        return [x.grad for x in leaves(self.leaves) if is_tensor(x) and x.requires_grad]


def refuses(entry: Any, sample: Any, place: int) -> bool | None:
    """Whether PyTorch refuses; None where the write itself, or the pass, is none of its."""
    try:
        return Pass(entry.op, sample, theirs_of).slopes(torch, place) is None
    except RuntimeError:
        return None


@pytest.mark.share(8)
@pytest.mark.parametrize("name", COMPARED)
def test_a_pass_is_refused_as_torchs_or_right(name: str):
    entry, call = ENTRIES[name], call_of(ENTRIES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (sample, *_) = samples(entry)
    if not any(x.requires_grad for x in Pass(call, sample, ours_of).results):
        return
    plain = Pass(call, sample, ours_of).slopes(gn, None)
    for place in range(len(Pass(entry.op, sample, theirs_of).places)):
        theirs = refuses(entry, sample, place)
        if theirs is None or place >= len(Pass(call, sample, ours_of).places):
            continue
        ours = Pass(call, sample, ours_of).slopes(gn, place)
        assert ours is not None or theirs, f"place {place} is refused here alone"
        if ours is None or not theirs:
            continue
        for found, right in zip(ours, plain, strict=True):
            assert (found is None) == (right is None)
            if found is not None:
                np.testing.assert_array_equal(found.numpy(), right.numpy())
