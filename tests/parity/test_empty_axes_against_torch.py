"""Every row of table/ with each of its sizes set to 0, under torch and under Gnomon.

Also random programs (tests/fuzz_empty.py), whose axes have no elements as often as one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gnomon
from gnomon.errors import GnomonError
from tests.fenced import fenced, judged, near
from tests.fuzz_empty import check, lawful
from tests.parity.fuzz_empty import NEEDED, PLAIN
from tests.parity.record import Record
from tests.parity.table import RECORDS
from tests.parity.test_ops_against_torch import (
    differentiable,
    gradients,
    leaves,
    plain,
    samples,
    tensors,
)

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")

APART = {
    "squeeze one axis": "refuses an axis that is not of size 1, as the array API says",
    "index_add": "torch looks at no position where nothing is added",
    "index_fill": "torch has no storage for it",
    "attention with shared keys": "torch divides by the number of key heads, and ends the process",
    "F.multi_margin_loss": "torch gives what lay in its memory",
    "F.multilabel_margin_loss": "the same",
    "F.cross_entropy of chances": "torch divides by the number of classes twice",
    "F.group_norm": "torch's weight gradient of nothing is NaN: a sum of nothing is 0",
    "F.pixel_unshuffle": "torch forgets to rearrange",
    "F.batch_norm at rest": "torch looks at the first channel",
    "pdist": "torch's gradient of no pair reads memory that is not there, and ends the process",
    "F.pdist": "the same",
    "resize_": "torch gives what lay in its memory",
    "conv_tbc": "torch takes sequences of nothing whose conv1d it refuses",
    "F.conv": "torch gives as many channels as it is given, if none, whatever the weights say",
}
"""Rows by how their names begin, and why torch is no judge of them."""


def emptied(arrays: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """The arrays with all axes of one size empty, for each size."""
    for size in sorted({n for x in arrays for n in x.shape if n}):
        shapes = [tuple(0 if n == size else n for n in x.shape) for x in arrays]
        yield [
            x if x.shape == shape else np.zeros(shape, x.dtype)
            for x, shape in zip(arrays, shapes, strict=True)
        ]


def answer(lib: Any, record: Record, arrays: list[np.ndarray], errors: type) -> Any:
    """Values and gradients, or the words of an error."""
    try:
        found = [plain(x) for x in leaves(record.call(lib, *tensors(lib, arrays, False)))]
        tracked = differentiable(record) and any(x.dtype.kind == "f" for x in found)
        return found + (gradients(lib, record, arrays) if tracked and found else [])
    except errors as error:
        return f"{type(error).__name__}: {error}"


def same(x: Any, y: Any) -> bool:
    """Whether two values agree; no gradient is one of zeros."""
    if x is None or y is None:
        return not np.any(x if y is None else y)
    x, y = np.asarray(x), np.asarray(y)
    return x.shape == y.shape and (x.dtype.kind in "US" or near(x, y))


ROWS = [
    pytest.param(record, id=record.name)
    for record in RECORDS
    if not record.name.startswith(tuple(APART))
]


@pytest.mark.share(3)
@pytest.mark.parametrize("record", ROWS)
def test_what_is_empty_gives_what_torch_gives(record: Record):
    for arrays in emptied(samples(record, "float32")):
        with fenced(), judged(lawful):
            ours = answer(gnomon, record, arrays, GnomonError)
        theirs = answer(torch, record, arrays, Exception)

        shapes = [x.shape for x in arrays]
        if isinstance(theirs, str):
            needed = bool(NEEDED.search(theirs))
            assert isinstance(ours, str) or not needed, f"{shapes}: {ours} where torch: {theirs}"
        else:
            assert not isinstance(ours, str), f"{shapes}: {ours} where torch: {theirs}"
            pairs = zip(ours, theirs, strict=True)
            assert all(same(*pair) for pair in pairs), f"{shapes}: {ours} where torch: {theirs}"


@pytest.mark.share(6)
@pytest.mark.parametrize("block", range(8))
def test_random_programs_give_what_torch_gives(block: int):
    with fenced(), judged(lawful):
        runs = sum(check(seed, [PLAIN]) for seed in range(1000 * block, 1000 * block + 40))

    assert runs > 300
