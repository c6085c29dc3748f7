"""Arguments of samplers, loaders and splits that mean nothing."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.utils import data

SIX = data.TensorDataset(gn.arange(6))
CALLS = {
    "batch_size": lambda: data.DataLoader(SIX, batch_size=0),
    "a share of a batch": lambda: data.DataLoader(SIX, batch_size=2.5),
    "num_workers": lambda: data.DataLoader(SIX, num_workers=-1),
    "prefetch_factor": lambda: data.DataLoader(SIX, prefetch_factor=2),
    "persistent_workers": lambda: data.DataLoader(SIX, persistent_workers=True),
    "drop_last without batches": lambda: data.DataLoader(SIX, batch_size=None, drop_last=True),
    "num_samples": lambda: data.RandomSampler(SIX, num_samples=0),
    "weights": lambda: data.WeightedRandomSampler([[1.0]], 1),
    "drop_last": lambda: data.BatchSampler(range(3), 2, "yes"),
    "shares": lambda: data.random_split(SIX, [0.5, 0.6]),
    "a negative length": lambda: data.random_split(SIX, [-1, 7]),
    "nothing in a row": lambda: data.ConcatDataset([]),
    "items of several sizes": lambda: data.default_collate([(1, 2), (1,)]),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_argument_without_meaning_is_refused(name):
    with pytest.raises(ArgumentError):
        CALLS[name]()


def test_arguments_of_other_kinds_are_refused():
    with pytest.raises(TypeError, match="multiprocessing_context option should be a valid"):
        data.DataLoader(SIX, num_workers=1, multiprocessing_context=object())
    with pytest.raises(TypeError, match="batch must contain tensors, numpy arrays, numbers"):
        data.default_collate([None, None])
