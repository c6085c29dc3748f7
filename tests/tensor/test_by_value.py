"""Operations that know some of their arguments by value."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, OutOfMemory, TraceError
from gnomon.runtime.buffer import check_size

CALLS = [
    (gn.quantile, gn.tensor([0.0, 10.0]), gn.tensor([0.5])),
    (gn.repeat, gn.tensor([0.0, 10.0]), gn.tensor([1, 2])),
]


@pytest.mark.parametrize(("call", "x", "read"), CALLS)
def test_what_is_read_is_a_value_of_the_call_and_must_be_known_to_a_program(call, x, read):
    given = call(x, read)

    assert call(x, read.tolist()).tolist() == given.tolist()
    assert gn.compile(lambda x: call(x, read))(x).tolist() == given.tolist()
    with pytest.raises(TraceError, match="not known yet"):
        gn.compile(call, breaks="error")(x, read)


@pytest.mark.parametrize(("call", "x", "read"), CALLS)
def test_what_is_wrong_with_the_rest_of_a_call_is_told_by_the_operation(call, x, read):
    name = call.__name__

    with pytest.raises(TypeError, match=rf"{name}\(\) too many positional arguments"):
        call(x, read, 0, 1, 2, 3)
    with pytest.raises(TypeError, match=rf"{name}\(\) missing a required argument"):
        call(x, axis=0) if name == "quantile" else call()
    with pytest.raises(ArgumentError, match=f"{name}: no argument 'foo'"):
        call(x, read, foo=1)


def test_sizes_that_no_memory_holds_are_refused():
    check_size("here", 10, 8)
    with pytest.raises(OutOfMemory, match="here: 1000000000000 elements need 8e"):
        check_size("here", 10**12, 8)


def test_a_stretch_begins_and_ends_where_tensors_say():
    x, one, two = gn.arange(6), gn.tensor(1), gn.tensor(2)

    assert x.narrow(0, one, two).tolist() == x.narrow(0, 1, length=two).tolist() == [1, 2]
