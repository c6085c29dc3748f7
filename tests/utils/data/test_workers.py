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
