"""The order of the text depends on seed, step and place alone, and a pass reads all of it once."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.train.order import batch_at, windows

pytestmark = pytest.mark.unit

TOKENS = np.arange(101, dtype=np.int32)


def test_a_batch_is_windows_of_consecutive_tokens():
    batch = batch_at(TOKENS, (3, 5), seed=7, step=2)

    assert batch.shape == (3, 6)
    assert (np.diff(batch, axis=1) == 1).all()
    assert (batch[:, 0] % 5 == 0).all()


def test_a_pass_reads_every_window_once_and_the_next_in_another_order():
    starts = [batch_at(TOKENS, (4, 5), seed=1, step=step)[:, 0] // 5 for step in range(10)]
    first, second = np.concatenate(starts[:5]), np.concatenate(starts[5:])

    assert windows(len(TOKENS), 5) == 20
    assert sorted(first) == sorted(second) == list(range(20))
    assert (first != second).any()


def test_the_order_does_not_remember_what_was_asked_before():
    late = batch_at(TOKENS, (3, 5), seed=3, step=11)
    for step in range(11):
        batch_at(TOKENS, (3, 5), seed=4, step=step)

    np.testing.assert_array_equal(batch_at(TOKENS, (3, 5), seed=3, step=11), late)


def test_seeds_differ_and_the_order_is_what_it_was_on_the_first_day():
    one = batch_at(TOKENS, (4, 5), seed=0, step=0)[:, 0]
    two = batch_at(TOKENS, (4, 5), seed=1, step=0)[:, 0]

    assert (one != two).any()
    assert one.tolist() == FIRST_DAY


FIRST_DAY = [10, 20, 30, 90]
