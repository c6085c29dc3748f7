"""PyTorch's oldest constructors."""

from __future__ import annotations

from typing import get_args

import numpy as np

import gnomon as gn
from gnomon import nn


def test_numbers_are_sizes_and_sequences_are_values():
    assert gn.Tensor(2, 3).shape == (2, 3)
    assert gn.Tensor([2, 3]).tolist() == [2.0, 3.0]
    assert gn.Tensor(gn.ones(2, 3).shape).shape == (2, 3)
    assert gn.Tensor(np.ones(2)).dtype is gn.get_default_dtype()
    assert gn.Tensor().shape == (0,)


def test_a_typed_constructor_stands_for_its_dtype():
    x = gn.LongTensor([1, 2])

    assert x.dtype is gn.int64
    assert isinstance(x, gn.LongTensor)
    assert not isinstance(x, gn.FloatTensor)
    assert x.type(gn.FloatTensor).dtype is gn.float32
    assert gn.ByteTensor(2).tolist() == [0, 0]


def test_a_parameter_over_nothing_is_empty():
    assert nn.Parameter().shape == (0,)
    assert nn.Parameter().requires_grad
    assert nn.Parameter(gn.Tensor(2, 3)).shape == (2, 3)
    assert nn.Buffer().shape == (0,)


def test_a_constructor_annotates_beside_none():
    either = gn.FloatTensor | None

    assert get_args(either) == (gn.FloatTensor, type(None))
    assert None | gn.FloatTensor == either
