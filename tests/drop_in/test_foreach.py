"""Functions of lists of tensors: one call each, in place where the name says so."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.drop_in.foreach import foreach, group_tensors
from gnomon.errors import ArgumentError


def pair():
    return [gn.tensor([1.0, 4.0]), gn.tensor([9.0])]


def test_lists_give_one_value_to_each_and_numbers_are_everyones():
    assert [x.tolist() for x in gn._foreach_sqrt(pair())] == [[1, 2], [3]]
    assert [x.tolist() for x in gn._foreach_add(pair(), pair(), alpha=2)] == [[3, 12], [27]]
    assert [x.tolist() for x in gn._foreach_mul(pair(), [2, 3])] == [[2, 8], [27]]
    assert [x.tolist() for x in gn._foreach_pow(2.0, pair())] == [[2, 16], [512]]
    assert [x.item() for x in gn._foreach_norm(pair(), 1)] == [5, 9]


def test_results_are_stored_where_the_name_says_so():
    tensors = pair()

    assert gn._foreach_addcmul_(tensors, pair(), pair(), value=-1)[0] is tensors[0]
    assert gn._foreach_zero_(tensors[1:])[0] is tensors[1]
    assert [x.tolist() for x in tensors] == [[0, -12], [0]]


def test_lists_of_other_lengths_are_refused():
    with pytest.raises(ValueError, match=r"got \[1, 2\]"):
        gn._foreach_add(pair(), [1.0])


def test_other_names_are_none():
    assert foreach("_foreach_") is None
    assert foreach("_foreach_shape") is None
    assert not hasattr(gn, "_foreach_nothing")


def test_a_tensor_of_factors_has_one_for_each():
    found = gn._foreach_addcmul(pair(), pair(), pair(), gn.tensor([1.0, 2.0]))

    assert [x.tolist() for x in found] == [[2, 20], [171]]


def test_tensors_are_grouped_by_device_and_dtype():
    a, b, c = gn.ones(1), gn.ones(1).double(), gn.ones(2)
    counts = [gn.tensor(k) for k in range(3)]

    found = group_tensors([[a, b, c], counts, []], with_indices=True)

    assert [(key[1], len(lists[0]), numbers) for key, (lists, numbers) in found.items()] == [
        (gn.float32, 2, [0, 2]),
        (gn.float64, 1, [1]),
    ]
    ((first, second, empty), _) = found[a.device, gn.float32]
    assert (first[1] is c, second[1] is counts[2], empty) == (True, True, [])
    with pytest.raises(ArgumentError, match="foreach: the first list has a tensor"):
        group_tensors([[None]])


def test_norms_take_their_order_by_name():
    found = foreach("_foreach_norm")([gn.tensor([3.0, -4.0]), gn.tensor([-2.0])], ord=float("inf"))

    assert [x.item() for x in found] == [4.0, 2.0]
