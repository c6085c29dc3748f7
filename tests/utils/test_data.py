"""Loaders give what PyTorch's give, over datasets and over any iterable."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    RandomSampler,
    Subset,
    TensorDataset,
    random_split,
)


class Squares(Dataset):
    """0, 1, 4, 9, … with their names."""

    def __len__(self):
        return 5

    def __getitem__(self, index):
        return {"value": float(index**2), "name": str(index)}


def test_rows_come_in_batches_and_the_last_one_is_shorter():
    rows = TensorDataset(gn.arange(10).reshape(5, 2), gn.arange(5))
    loader = DataLoader(rows, batch_size=2)

    assert [b[1].tolist() for b in loader] == [[0, 1], [2, 3], [4]]
    assert [tuple(b[0].shape) for b in loader] == [(2, 2), (2, 2), (1, 2)]
    assert len(loader) == 3
    assert len(DataLoader(rows, batch_size=2, drop_last=True)) == 2


def test_shuffling_gives_every_row_once_and_repeats_with_its_seed():
    rows = TensorDataset(gn.arange(20))
    orders = []
    for _ in range(2):
        generator = gn.Generator().manual_seed(3)
        loader = DataLoader(rows, batch_size=6, shuffle=True, generator=generator)
        orders.append([v for (b,) in loader for v in b.tolist()])

    assert sorted(orders[0]) == list(range(20))
    assert orders[0] == orders[1] != list(range(20))


def test_dicts_numbers_and_arrays_are_put_side_by_side():
    first = next(iter(DataLoader(Squares(), batch_size=3)))

    assert first["value"].tolist() == [0, 1, 4]
    assert first["value"].dtype is gn.float64
    assert first["name"] == ["0", "1", "2"]
    (pairs,) = DataLoader([(np.ones(2), 1), (np.zeros(2), 2)], batch_size=2)
    assert pairs[0].tolist() == [[1, 1], [0, 0]]
    assert pairs[1].tolist() == [1, 2]


def test_any_iterable_is_read_in_order():
    numbers = (k for k in range(5))

    assert [b.tolist() for b in DataLoader(numbers, batch_size=2)] == [[0, 1], [2, 3], [4]]


def test_parts_and_joins_of_datasets():
    rows = TensorDataset(gn.arange(6))
    left, right = random_split(rows, [4, 2])
    joined = ConcatDataset([Subset(rows, [5, 1]), rows])

    assert sorted(int(v) for part in (left, right) for (v,) in part) == list(range(6))
    assert [int(joined[k][0]) for k in (0, 1, 2, -1)] == [5, 1, 0, 5]
    assert len(list(RandomSampler(rows, replacement=True, num_samples=9))) == 9


def test_mistakes_are_named():
    with pytest.raises(ArgumentError, match="Size mismatch"):
        TensorDataset(gn.ones(2), gn.ones(3))
    with pytest.raises(TypeError, match="speed"):
        DataLoader([1], speed=9)
