"""Datasets, orders, batches."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Subset,
    TensorDataset,
    default_collate,
    random_split,
)

Pair = namedtuple("Pair", "left right")


def numbers(count: int) -> TensorDataset:
    """0, 1, 2, ... and their tenfold."""
    x = gn.arange(count)
    return TensorDataset(x, x * 10)


def test_batches_come_in_order_and_the_last_may_be_short():
    batches = [[part.tolist() for part in batch] for batch in DataLoader(numbers(5), batch_size=2)]

    assert batches == [[[0, 1], [0, 10]], [[2, 3], [20, 30]], [[4], [40]]]
    assert len(DataLoader(numbers(5), batch_size=2)) == 3
    assert len(list(DataLoader(numbers(5), batch_size=2, drop_last=True))) == 2


def test_a_shuffled_epoch_has_every_item_once_and_follows_its_generator():
    def epoch() -> list[int]:
        loader = DataLoader(
            numbers(20), batch_size=3, shuffle=True, generator=gn.Generator().manual_seed(1)
        )
        return [k for batch, _ in loader for k in batch.tolist()]

    assert sorted(epoch()) == list(range(20)) != epoch()
    assert epoch() == epoch()


def test_any_iterable_will_do():
    assert [b.tolist() for b in DataLoader((k * k for k in range(5)), batch_size=2)] == [
        [0, 1],
        [4, 9],
        [16],
    ]
    assert list(DataLoader(iter("ab"), batch_size=None)) == ["a", "b"]


def test_items_are_put_side_by_side_part_by_part():
    items = [{"x": gn.ones(2) * k, "pair": Pair(k, "text"), "f": 0.5} for k in range(3)]

    batch = default_collate(items)

    assert batch["x"].shape == (3, 2)
    assert batch["pair"].left.tolist() == [0, 1, 2]
    assert batch["pair"].right == ["text"] * 3
    assert batch["f"].dtype is gn.float64
    assert default_collate([np.zeros(2), np.ones(2)]).tolist() == [[0, 0], [1, 1]]


def test_datasets_are_joined_and_cut():
    joined = ConcatDataset([numbers(2), numbers(3)])

    assert len(joined) == 5
    assert joined[-1][0].item() == 2
    assert [item[1].item() for item in Subset(joined, [4, 0])] == [20, 0]


def test_a_random_split_shares_everything_out():
    parts = random_split(numbers(10), [0.5, 0.3, 0.2], gn.Generator().manual_seed(0))

    assert [len(part) for part in parts] == [5, 3, 2]
    assert sorted(item[0].item() for part in parts for item in part) == list(range(10))
    with pytest.raises(ArgumentError, match="does not equal the length"):
        random_split(numbers(10), [5, 6])


def test_an_order_may_be_given():
    batches = BatchSampler([3, 1, 2], 2, drop_last=False)

    found = [x.tolist() for x, _ in DataLoader(numbers(4), batch_sampler=batches)]

    assert found == [[3, 1], [2]]
    with pytest.raises(ArgumentError, match="mutually exclusive"):
        DataLoader(numbers(4), sampler=[1], shuffle=True)
    with pytest.raises(TypeError, match="takes no argument sampel"):
        DataLoader(numbers(4), sampel=[1])
