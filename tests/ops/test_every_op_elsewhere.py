"""Every operation by its public name, on a device whose memory the host may not read.

What reads a value past the gate faults here; values are the interpreter's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gnomon as gn
from gnomon.ops.interpret import interpret
from gnomon.ops.registry import OPS
from gnomon.tensor.functions import FUNCTIONS
from tests.ops.samples import SAMPLES
from tests.ops.test_every_op import Called

OTHER_WORDS = {"bernoulli", "max", "min", "svd"}
"""Operations whose public functions take other arguments."""
NAMES = sorted(name for name in SAMPLES.keys() & OPS.keys() - OTHER_WORDS)


def moved(value: Any) -> Any:
    """A sample's argument with tensors for arrays."""
    if isinstance(value, np.ndarray):
        return gn.tensor(value, device="reference")
    if isinstance(value, dict):
        return {k: moved(x) for k, x in value.items()}
    return type(value)(map(moved, value)) if type(value) in (list, tuple) else value


def tensors(value: Any) -> Iterator[gn.Tensor]:
    """The tensors of a result."""
    if isinstance(value, gn.Tensor):
        yield value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from tensors(each)


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_is_computed_where_its_operands_are(name):
    sample = SAMPLES[name][0]
    function = getattr(gn, name, None) or FUNCTIONS[name]
    called = Called(name, sample)

    made = [*tensors(function(*moved(sample.args), **moved(sample.kwargs)))]

    for x, wanted in zip(made, interpret(called.results, called.feeds), strict=True):
        assert x.device == "reference" or not called.feeds
        np.testing.assert_array_equal(x.cpu().numpy(), wanted)
