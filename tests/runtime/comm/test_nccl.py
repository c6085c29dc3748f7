"""NCCL's versions, what each has, and what is said where it is asked for."""

from __future__ import annotations

import ctypes
from typing import Any

import pytest

from gnomon.dtypes import ALL
from gnomon.errors import CollectiveError
from gnomon.ops.group_folds import FOLDS, refusal_of
from gnomon.runtime.comm.capabilities import FOLDING, MOVING, table_of
from gnomon.runtime.comm.nccl import FEATURES, NATIVE, examined, refuse, version_of

pytestmark = pytest.mark.unit


CALLED = ("ncclAllGather", "ncclRecv", "ncclSend")


class Library:
    """A library that says which version it is and has these functions."""

    def __init__(self, code: int, symbols: frozenset[str] | None = None, failure: int = 0) -> None:
        self.code, self.failure = code, failure
        known = {feature.symbol for feature in FEATURES.values()} if symbols is None else symbols
        for symbol in (*known, *CALLED):
            setattr(self, symbol, None)

    def ncclGetVersion(self, place: Any) -> int:
        """Writes the version's number."""
        ctypes.cast(place, ctypes.POINTER(ctypes.c_int)).contents.value = self.code
        return self.failure


@pytest.mark.parametrize(
    ("code", "version"),
    [
        (2000, (2, 0, 0)),
        (2408, (2, 4, 8)),
        (2708, (2, 7, 8)),
        (2804, (2, 8, 4)),
        (20906, (2, 9, 6)),
        (21003, (2, 10, 3)),
        (22203, (2, 22, 3)),
        (22304, (2, 23, 4)),
        (22703, (2, 27, 3)),
        (23004, (2, 30, 4)),
        (30000, (3, 0, 0)),
    ],
)
def test_a_number_stands_for_a_version(code: int, version: tuple[int, int, int]):
    assert version_of(code) == version


@pytest.mark.parametrize(
    ("code", "off"),
    [
        (22304, {"shrinking", "registered windows", "gather to one rank"}),
        (22703, {"gather to one rank"}),
        (22802, {"gather to one rank"}),
        (22803, set()),
        (23004, set()),
    ],
)
def test_a_version_has_what_came_before_it(code: int, off: set[str]):
    assert {name for name, why in examined(Library(code)).items() if why} == off


def test_what_a_library_does_not_export_is_off():
    found = examined(Library(23004, frozenset({"ncclCommSplit"})))

    assert found["splitting"] == ""
    assert found["shrinking"] == "ncclCommShrink is missing"
    assert examined(Library(22304))["shrinking"] == "needs 2.27.0: this is 2.23.4"


@pytest.mark.parametrize("code", [2804, 21805, 22203])
def test_what_is_too_old_is_refused(code: int):
    version = ".".join(map(str, version_of(code)))
    with pytest.raises(CollectiveError, match=rf"expected version 2.23.0 or newer: got {version}"):
        refuse(lambda name: Library(code))


def test_a_library_that_fails_is_refused():
    with pytest.raises(CollectiveError, match="got error 3"):
        examined(Library(23004, failure=3))


def test_a_library_without_its_functions_is_refused():
    broken = Library(23004)
    del broken.ncclSend

    with pytest.raises(CollectiveError, match=r"libnccl.so.2 has no ncclSend. Install it anew"):
        examined(broken)


def test_what_is_missing_is_said():
    def nowhere(name: str) -> Any:
        raise OSError(f"{name}: no such file")

    with pytest.raises(CollectiveError, match=r"libnccl.so.2 does not load: .*no such file"):
        refuse(nowhere)
    with pytest.raises(CollectiveError, match="no runtime for GPUs is"):
        refuse(lambda name: Library(23004))
    with pytest.raises(CollectiveError, match=r"is there; off: gather to one rank \(needs 2.28.3"):
        refuse(lambda name: Library(22703))


def test_its_table_is_that_of_what_moves_bytes():
    table = table_of(NATIVE)

    assert table["all_gather", "bfloat16", ""] == ("native", "ncclAllGather")
    assert table["all_reduce", "float32", "SUM"].how == "emulated"
    assert {key[0] for key in table} == {*MOVING, *FOLDING}
    for dtype in ALL:
        for op in FOLDS.values():
            how = table["reduce_scatter", dtype.name, op.name].how
            assert (how == "unsupported") == bool(refusal_of(op, dtype))
