"""Sequences of several lengths side by side, and back."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError
from gnomon.nn.utils import rnn
from gnomon.nn.utils.rnn import pad_sequence, unpad_sequence


def test_shorter_sequences_are_filled_up_and_cut_again():
    sequences = [gn.tensor([1.0, 2.0, 3.0]), gn.tensor([4.0])]

    padded = pad_sequence(sequences, batch_first=True, padding_value=-1.0)
    back = unpad_sequence(padded, gn.tensor([3, 1]), batch_first=True)

    assert padded.tolist() == [[1.0, 2.0, 3.0], [4.0, -1.0, -1.0]]
    assert pad_sequence(sequences).shape == (3, 2)
    assert pad_sequence(sequences, True, 0.0, "left")[1].tolist() == [0.0, 0.0, 4.0]
    assert [x.tolist() for x in back] == [[1.0, 2.0, 3.0], [4.0]]


def test_packed_sequences_lie_step_by_step_longest_first():
    x = gn.arange(6).reshape(2, 3)

    packed = rnn.pack_padded_sequence(x, [2, 3], batch_first=True, enforce_sorted=False)

    assert packed.data.tolist() == [3, 0, 4, 1, 5]
    assert packed.batch_sizes.tolist() == [2, 2, 1]
    padded, lengths = rnn.pad_packed_sequence(packed, batch_first=True, padding_value=-1)
    assert padded.tolist() == [[0, 1, -1], [3, 4, 5]]
    assert lengths.tolist() == [2, 3]
    assert rnn.pad_packed_sequence(packed, total_length=4)[0].shape == (4, 2)
    with pytest.raises(ArgumentError, match="lengths must descend"):
        rnn.pack_padded_sequence(x, [2, 3], batch_first=True)


def test_sequences_are_packed_and_unpacked():
    given = [gn.tensor([1.0, 2.0, 3.0]), gn.tensor([4.0])]

    assert [x.tolist() for x in rnn.unpack_sequence(rnn.pack_sequence(given))] == [[1, 2, 3], [4]]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_a_packed_sequence_goes_on_for_as_long_as_it_is(kind: str):
    gn.manual_seed(0)
    layer = getattr(nn, kind)(3, 2, num_layers=2, bidirectional=True)
    sequences = [gn.rand(4, 3), gn.rand(2, 3), gn.rand(3, 3)]

    shown, last = layer(rnn.pack_sequence(sequences, enforce_sorted=False))

    last = last[0] if kind == "LSTM" else last
    for place, (x, y) in enumerate(zip(sequences, rnn.unpack_sequence(shown), strict=True)):
        alone, its_last = layer(x)
        its_last = its_last[0] if kind == "LSTM" else its_last
        np.testing.assert_allclose(y.tolist(), alone.tolist(), atol=1e-6)
        np.testing.assert_allclose(last[:, place].tolist(), its_last.tolist(), atol=1e-6)


def test_packed_sequences_are_cast_as_tensors_are():
    packed = rnn.pack_sequence([gn.ones(2), gn.zeros(1)])

    assert packed.double().data.dtype == gn.float64
    assert packed.double().batch_sizes.tolist() == [2, 1]
    assert packed.float() is packed.to("cpu") is packed.cpu() is packed
    assert not packed.is_cuda
