"""Datasets, samplers and loaders: order, shapes, copies, threads."""

from __future__ import annotations

from collections import OrderedDict, UserDict, UserList, namedtuple

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.utils import data

Pair = namedtuple("Pair", ["x", "y"])


class Squares(data.Dataset):
    """The number n and its square."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[gn.Tensor, int]:
        return gn.tensor([float(index)]), index**2


class Stream(data.IterableDataset):
    """Numbers in order."""

    def __iter__(self):
        return iter(range(5))


def rows(count: int = 10) -> data.TensorDataset:
    """Numbered rows with labels."""
    return data.TensorDataset(gn.arange(2 * count).reshape(count, 2), gn.arange(count))


def test_batches_come_in_order_and_the_last_may_be_short():
    loader = data.DataLoader(rows(), batch_size=4)

    shapes = [tuple(x.shape) for x, _ in loader]
    labels = [y.tolist() for _, y in loader]

    assert shapes == [(4, 2), (4, 2), (2, 2)]
    assert labels == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(loader) == 3
    assert len(data.DataLoader(rows(), batch_size=4, drop_last=True)) == 2


def test_a_shuffled_epoch_holds_every_item_once_and_repeats_with_its_seed():
    def epoch(seed: int) -> list[int]:
        generator = gn.Generator().manual_seed(seed)
        loader = data.DataLoader(rows(), batch_size=3, shuffle=True, generator=generator)
        return [label for _, y in loader for label in y.tolist()]

    assert sorted(epoch(0)) == list(range(10))
    assert epoch(0) == epoch(0)
    assert epoch(0) != epoch(1)


def test_writing_to_a_batch_leaves_the_data_alone():
    dataset = rows()
    (x, _) = next(iter(data.DataLoader(dataset, batch_size=4)))

    x.zero_()

    assert dataset.tensors[0][1].tolist() == [2, 3]


def test_items_are_collated_part_by_part():
    batch = [
        {"x": gn.ones(2), "n": 1, "f": 0.5, "s": "a", "b": True, "p": Pair(np.ones(3), 1)},
        {"x": gn.zeros(2), "n": 2, "f": 1.5, "s": "b", "b": False, "p": Pair(np.zeros(3), 2)},
    ]

    made = data.default_collate(batch)

    assert made["x"].tolist() == [[1.0, 1.0], [0.0, 0.0]]
    assert (made["n"].dtype, made["f"].dtype, made["b"].dtype) == (gn.int64, gn.float64, gn.bool)
    assert made["s"] == ["a", "b"]
    assert isinstance(made["p"], Pair)
    assert made["p"].x.shape == (2, 3)


def test_items_are_collated_as_asked():
    loader = data.DataLoader(Squares(5), batch_size=2, collate_fn=lambda items: len(items))

    assert list(loader) == [2, 2, 1]
    x, squares = next(iter(data.DataLoader(Squares(5), batch_size=5)))
    assert x.shape == (5, 1)
    assert squares.tolist() == [0, 1, 4, 9, 16]


def test_threads_give_the_same_batches_in_the_same_order():
    alone = [y.tolist() for _, y in data.DataLoader(Squares(23), batch_size=2)]

    shared = [y.tolist() for _, y in data.DataLoader(Squares(23), batch_size=2, num_workers=3)]

    assert shared == alone


def test_an_error_in_a_thread_reaches_the_loop():
    loader = data.DataLoader([gn.ones(2), gn.ones(3)], batch_size=2, num_workers=1)

    with pytest.raises(ValueError, match="same shape"):
        list(loader)


def test_streams_are_read_in_order():
    assert [x.tolist() for x in data.DataLoader(Stream(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert list(data.DataLoader(Stream(), batch_size=None)) == [0, 1, 2, 3, 4]
    with pytest.raises(ArgumentError, match="IterableDataset"):
        data.DataLoader(Stream(), shuffle=True)


def test_any_iterable_or_sequence_is_a_dataset():
    assert [x.tolist() for x in data.DataLoader([1, 2, 3], batch_size=2)] == [[1, 2], [3]]
    assert [x.tolist() for x in data.DataLoader((n for n in (5, 6)), batch_size=1)] == [[5], [6]]


def test_parts_of_datasets_and_datasets_of_parts():
    both = data.ConcatDataset([Squares(3), Squares(2)])
    part = data.Subset(Squares(9), [7, 1])
    pieces = data.random_split(Squares(10), [0.75, 0.25], gn.Generator().manual_seed(0))

    assert [both[k][1] for k in (0, 2, 3, -1)] == [0, 4, 0, 1]
    assert len(Squares(1) + Squares(2)) == 3
    assert [part[k][1] for k in range(2)] == [49, 1]
    assert [len(piece) for piece in pieces] == [8, 2]
    assert sorted(k for piece in pieces for k in piece.indices) == list(range(10))
    with pytest.raises(ArgumentError, match="does not equal the length"):
        data.random_split(Squares(10), [3, 3])


def test_samplers_choose_items():
    gn.manual_seed(0)
    often = list(data.WeightedRandomSampler([0.0, 1.0, 3.0], 300))
    some = data.SubsetRandomSampler([4, 7, 9])
    drawn = data.RandomSampler(range(3), replacement=True, num_samples=8)

    assert 0 not in often
    assert often.count(2) > 1.5 * often.count(1)
    assert sorted(some) == [4, 7, 9]
    assert len(list(drawn)) == 8
    assert set(drawn) <= {0, 1, 2}


def test_orders_that_exclude_each_other_are_refused():
    with pytest.raises(ArgumentError, match="mutually exclusive with shuffle"):
        data.DataLoader(Squares(3), shuffle=True, sampler=[0])
    with pytest.raises(ArgumentError, match="mutually exclusive with batch_size"):
        data.DataLoader(Squares(3), batch_size=2, batch_sampler=[[0]])
    with pytest.raises(ArgumentError, match="Size mismatch"):
        data.TensorDataset(gn.ones(2), gn.ones(3))
    with pytest.raises(TypeError, match="takes no argument speed"):
        data.DataLoader(Squares(3), speed=9)


def test_more_samples_than_items_are_drawn_in_rounds():
    drawn = list(data.RandomSampler(range(5), num_samples=13))

    assert [sorted(drawn[k : k + 5]) for k in (0, 5)] == [[0, 1, 2, 3, 4]] * 2
    assert len(drawn) == 13
    assert len(set(drawn[10:])) == 3
    assert list(data.RandomSampler([], num_samples=3)) == []


def test_a_loader_shows_what_it_was_given_as_pytorchs_does():
    plain = data.DataLoader([1, 2, 3], batch_size=2)
    ahead = data.DataLoader([1, 2, 3], num_workers=2, persistent_workers=True)

    assert (plain.prefetch_factor, plain.timeout, plain.in_order) == (None, 0, True)
    assert (plain.persistent_workers, plain.pin_memory_device) == (False, "")
    assert (plain.batch_size, plain.drop_last) == (2, False)
    assert (ahead.prefetch_factor, ahead.persistent_workers) == (2, True)


def test_a_loader_of_given_batches_has_no_batch_size():
    loader = data.DataLoader([1, 2, 3], batch_sampler=[[0, 2], [1]])

    assert loader.batch_size is None
    assert loader.drop_last is False
    assert [batch.tolist() for batch in loader] == [[1, 3], [2]]


def test_places_with_replacement_are_drawn_as_they_are_needed():
    sampler = data.RandomSampler([1, 2, 3], replacement=True, num_samples=10**10)

    places = [place for place, _ in zip(sampler, range(70_000), strict=False)]

    assert len(sampler) == 10**10
    assert set(places) == {0, 1, 2}


def test_a_sampler_follows_the_length_of_its_data():
    items = [1, 2, 3]
    sampler, short = data.RandomSampler(items), data.RandomSampler(items, True, 2)

    items.append(4)

    assert sorted(sampler) == [0, 1, 2, 3]
    assert len(list(short)) == 2


def test_batches_are_of_the_classes_of_their_items():
    class Labelled(UserDict):
        pass

    items = [OrderedDict(b=1, a=UserList([1.0, 2])), OrderedDict(b=2, a=UserList([3.0, 4]))]

    made = data.default_collate(items)
    converted = data.default_convert(Labelled(a=np.ones(2, np.complex64)))

    assert type(made) is OrderedDict
    assert list(made) == ["b", "a"]
    assert type(made["a"]) is UserList
    assert [part.tolist() for part in made["a"]] == [[1.0, 3.0], [2, 4]]
    assert type(converted) is Labelled
    assert converted["a"].dtype is gn.complex64


def test_tensors_of_two_dtypes_are_stacked_as_they_meet():
    made = data.default_collate([gn.ones(2), gn.arange(2)])

    assert made.dtype is gn.float32
    assert made.tolist() == [[1.0, 1.0], [0.0, 1.0]]
    assert data.default_collate([gn.tensor(1j), gn.tensor(2j)]).tolist() == [1j, 2j]


def test_single_items_are_shuffled():
    loader = data.DataLoader(list(range(20)), batch_size=None, shuffle=True)

    gn.manual_seed(0)
    first, second = list(loader), list(loader)

    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second
    with pytest.raises(ArgumentError, match=r"disables auto-batching.*drop_last"):
        data.DataLoader(list(range(20)), batch_size=None, drop_last=True)


def test_what_an_order_was_made_from_is_not_set_afterwards():
    loader = data.DataLoader([1, 2, 3])

    for name in ("batch_size", "sampler", "batch_sampler", "drop_last", "dataset"):
        with pytest.raises(ValueError, match=f"{name} attribute should not be set"):
            setattr(loader, name, 2)
    loader.prefetch_factor = 4
    assert loader.prefetch_factor == 4


def test_a_sampler_draws_when_its_first_place_is_asked_for():
    for sampler in (
        data.RandomSampler(range(9)),
        data.SubsetRandomSampler(range(9)),
        data.WeightedRandomSampler([1.0] * 9, 9, replacement=False),
    ):
        drawn = []
        for places in [iter(sampler), iter(sampler)]:
            gn.manual_seed(0)
            drawn.append(list(places))
        assert drawn[0] == drawn[1]
