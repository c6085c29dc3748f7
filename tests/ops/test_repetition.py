"""Elements several times, by a number and by a number for each."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError, OutOfMemory


def test_elements_are_repeated_as_often_as_a_tensor_says():
    x, times = gn.tensor([[1, 2], [3, 4]]), gn.tensor([0, 2])

    assert gn.repeat(x, times, axis=1).tolist() == [[2, 2], [4, 4]]
    assert gn.repeat_interleave(x, times, dim=0).tolist() == [[3, 4], [3, 4]]
    assert x.repeat_interleave(gn.tensor([2]), 0).shape == (4, 2)
    assert gn.repeat_interleave(times).tolist() == [1, 1]
    assert gn.repeat_interleave(x, times, 0, output_size=2).tolist() == [[3, 4], [3, 4]]
    assert gn.repeat(x, [2, 1], 0).tolist() == [[1, 2], [1, 2], [3, 4]]
    assert gn.repeat_interleave(input=x, repeats=2).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]


def test_copies_stand_side_by_side():
    x = gn.tensor([[1, 2]])

    assert x.repeat(2, 2).tolist() == gn.tile(x, (2, 2)).tolist() == [[1, 2, 1, 2]] * 2
    assert x.repeat(2, 1, 1).shape == (2, 1, 2)


@pytest.mark.parametrize("name", ["repeat", "repeat_interleave"])
@pytest.mark.parametrize(
    ("repeats", "message"),
    [
        ([1, 2, 3], "repeats are integers, one or 2: got 3 of int64"),
        (gn.tensor([1.5]), "repeats are integers, one or 2: got 1 of float32"),
        ([1, -1], "repeats are not negative"),
        ([[1], [2, 3]], "arguments do not fit each other: x a tensor"),
    ],
)
def test_repeats_that_do_not_fit_are_told(name, repeats, message):
    with pytest.raises(ArgumentError, match=message):
        getattr(gn, name)(gn.ones(2), repeats)


def test_more_elements_than_memory_holds_are_refused_at_once():
    with pytest.raises(OutOfMemory, match="repeat_interleave: 9223372036854775808 elements need"):
        gn.repeat(gn.ones(2), [2**62, 2**62])


def test_gradients_of_what_comes_several_times_are_summed():
    x = gn.tensor([1.0, 2.0, 3.0], requires_grad=True)

    gn.repeat(x, gn.tensor([1, 2, 0])).sum().backward()

    assert x.grad.tolist() == [1, 2, 0]
