"""Sequences of several lengths side by side, and back."""

from __future__ import annotations

import gnomon as gn
from gnomon.nn.utils.rnn import pad_sequence, unpad_sequence


def test_shorter_sequences_are_filled_up_and_cut_again():
    sequences = [gn.tensor([1.0, 2.0, 3.0]), gn.tensor([4.0])]

    padded = pad_sequence(sequences, batch_first=True, padding_value=-1.0)
    back = unpad_sequence(padded, gn.tensor([3, 1]), batch_first=True)

    assert padded.tolist() == [[1.0, 2.0, 3.0], [4.0, -1.0, -1.0]]
    assert pad_sequence(sequences).shape == (3, 2)
    assert pad_sequence(sequences, True, 0.0, "left")[1].tolist() == [0.0, 0.0, 4.0]
    assert [x.tolist() for x in back] == [[1.0, 2.0, 3.0], [4.0]]
