"""What native code calls: copies go in, results are checked, errors wait for the end of the run."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from gnomon.errors import ShapeError
from gnomon.ops.external import EXTERNALS, ExternalOp
from gnomon.program.entries import ENTRY, ExternalEntry
from gnomon.program.saved import ExternalCall

pytestmark = pytest.mark.unit

KIND = ((3,), "float32")
CALL = ExternalCall("a::b@1", "()", (KIND,), (KIND,))


def called(entry: ExternalEntry, made: np.ndarray, given: np.ndarray) -> None:
    """Call an entry as native code does."""
    words = (ctypes.c_int64 * 2)(made.ctypes.data, given.ctypes.data)
    ENTRY(entry.address)(ctypes.addressof(words))


def test_operands_are_copies_and_results_are_copied(monkeypatch: pytest.MonkeyPatch):
    seen = []
    told = ExternalOp("a::b", lambda said, xs: [seen.append(xs[0]) or xs[0] + 1])
    monkeypatch.setitem(EXTERNALS, CALL.key, told)
    entry, made, given = ExternalEntry(CALL), np.zeros(3, np.float32), np.ones(3, np.float32)

    called(entry, made, given)
    given[:] = 7

    assert made.tolist() == [2, 2, 2]
    assert seen[0].tolist() == [1, 1, 1]
    entry.check()


def test_an_error_is_raised_once_by_the_check(monkeypatch: pytest.MonkeyPatch):
    told = ExternalOp("a::b", lambda said, xs: [xs[0].astype(np.float64)])
    monkeypatch.setitem(EXTERNALS, CALL.key, told)
    entry = ExternalEntry(CALL)

    called(entry, np.zeros(3, np.float32), np.ones(3, np.float32))

    with pytest.raises(ShapeError, match=r"a::b: a call gave float64\[3\] where its fake gave"):
        entry.check()
    entry.check()
