"""Workers know themselves; what their beginning seeds is nobody else's."""

from __future__ import annotations

import random

import numpy as np
import pytest

import gnomon as gn
from gnomon.utils import data


class Asking:
    """Numbers, with the worker that was asked."""

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> tuple[int, int]:
        found = data.get_worker_info()
        return index, -1 if found is None else found.num_workers


@pytest.mark.parametrize("workers", [0, 2])
def test_a_worker_knows_how_many_there_are(workers):
    loader = data.DataLoader(Asking(), batch_size=3, num_workers=workers)

    found = [row for batch in loader for row in zip(*(x.tolist() for x in batch), strict=True)]

    assert found == [(k, workers or -1) for k in range(6)]
    assert data.get_worker_info() is None


def test_each_worker_begins_by_a_users_function_whose_seeds_stay_its_own():
    seen = []

    def begin(number: int) -> None:
        found = data.get_worker_info()
        seen.append((number, found.id, found.seed - gn.initial_seed(), found.dataset))
        gn.manual_seed(number)
        np.random.seed(number)
        random.seed(number)

    dataset = Asking()
    gn.manual_seed(3)
    np.random.seed(3)
    random.seed(3)
    drawn = gn.rand(1).item(), np.random.rand(), random.random()
    gn.manual_seed(3)
    np.random.seed(3)
    random.seed(3)
    loader = data.DataLoader(dataset, num_workers=2, worker_init_fn=begin)

    assert len(list(loader)) == 6
    assert seen == [(0, 0, 0, dataset), (1, 1, 0, dataset)]
    assert (gn.rand(1).item(), np.random.rand(), random.random()) == drawn


def test_single_items_are_converted():
    loader = data.DataLoader([np.ones(2), {"a": (np.zeros(1), "b")}], batch_size=None)

    first, second = loader

    assert isinstance(first, gn.Tensor)
    assert (second["a"][0].tolist(), second["a"][1]) == ([0.0], "b")


class Span(data.IterableDataset):
    """Numbers from one to another, or the share of a worker that asks for it."""

    def __init__(self, end: int, shared: bool = False) -> None:
        self.start, self.end, self.shared = 0, end, shared

    def __iter__(self):
        info = data.get_worker_info()
        step = (info.id, info.num_workers) if info and self.shared else (0, 1)
        return iter(range(self.start, self.end)[step[0] :: step[1]])


def read(*args, **kwargs) -> list[list[int]]:
    return [batch.tolist() for batch in data.DataLoader(*args, **kwargs)]


def test_each_worker_reads_an_iterable_dataset_whole_unless_it_asks_for_a_share():
    assert read(Span(3), batch_size=2, num_workers=2) == [[0, 1], [0, 1], [2], [2]]
    assert read(Span(7, shared=True), batch_size=2, num_workers=2) == [[0, 2], [1, 3], [4, 6], [5]]
    assert read(Span(3), batch_size=2) == [[0, 1], [2]]
    assert read(Span(3), batch_size=2, num_workers=2, drop_last=True) == [[0, 1], [0, 1]]


def test_a_worker_begins_with_a_copy_of_an_iterable_dataset():
    def begin(number: int) -> None:
        data.get_worker_info().dataset.start = 4 * number

    dataset = Span(6)

    found = read(dataset, batch_size=3, num_workers=2, worker_init_fn=begin)

    assert found == [[0, 1, 2], [4, 5], [3, 4, 5]]
    assert dataset.start == 0


def test_an_error_of_a_worker_reaches_its_reader_and_a_loop_may_end_early():
    class Broken(data.IterableDataset):
        def __iter__(self):
            yield 1
            raise OSError("no more disk")

    rows = iter(data.DataLoader(Broken(), num_workers=2))

    assert [next(rows).item(), next(rows).item()] == [1, 1]
    with pytest.raises(OSError, match="no more disk"):
        next(rows)
    assert next(iter(data.DataLoader(Span(10**9), num_workers=2))).item() == 0
