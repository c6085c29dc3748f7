"""Datasets made of others: side by side, one after another."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.utils import data


class Stream(data.IterableDataset):
    """Numbers in order."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self):
        return iter(range(self.count))

    def __len__(self) -> int:
        return self.count


def rows(count: int) -> data.TensorDataset:
    return data.TensorDataset(gn.arange(count))


def test_datasets_lie_side_by_side_by_place_or_by_name():
    pair, named = data.StackDataset(rows(3), rows(3)), data.StackDataset(a=rows(2), b=rows(2))

    assert (len(pair), len(named)) == (3, 2)
    assert [x.item() for (x,) in pair[1]] == [1, 1]
    assert named[1]["b"][0].item() == 1
    for wrong in (lambda: data.StackDataset(), lambda: data.StackDataset(rows(1), a=rows(1))):
        with pytest.raises(ArgumentError, match="by place, or all by name"):
            wrong()
    with pytest.raises(ArgumentError, match=r"Size mismatch between datasets: \[1, 2\]"):
        data.StackDataset(rows(1), rows(2))


def test_streams_are_read_one_after_another():
    both = Stream(2) + Stream(3)

    assert isinstance(both, data.ChainDataset)
    assert (list(both), len(both)) == ([0, 1, 0, 1, 2], 5)
    assert [x.tolist() for x in data.DataLoader(both, batch_size=4)] == [[0, 1, 0, 1], [2]]


def test_a_loader_of_a_stream_counts_batches():
    assert len(data.DataLoader(Stream(5), batch_size=2)) == 3
    assert len(data.DataLoader(Stream(5), batch_size=2, drop_last=True)) == 2
    assert len(data.DataLoader(Stream(5), batch_size=None)) == 5


def test_kinds_annotate_with_what_they_hold():
    class Pairs(data.Dataset[tuple[int, int]]):
        def __getitem__(self, index: int) -> tuple[int, int]:
            return index, index

    assert issubclass(Pairs, data.Dataset)
    assert data.DataLoader[int].__origin__ is data.DataLoader
    assert data.Sampler[int].__args__ == (int,)


def test_datasets_with_numbers_and_those_read_in_order_are_not_mixed():
    with pytest.raises(ArgumentError, match="Use ChainDataset"):
        data.ConcatDataset([rows(2), Stream(2)])
    with pytest.raises(ArgumentError, match="Use ConcatDataset"):
        list(Stream(2) + rows(2))
