"""Tokens are drawn as often as their probabilities say, among those that may be."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.models.sampling import TokenDraw, drawn, likeliest, penalized, share_of

pytestmark = pytest.mark.unit

SCORES = np.log(np.array([0.05, 0.4, 0.15, 0.1, 0.3]))


def frequencies(draw: TokenDraw, scores: np.ndarray = SCORES) -> np.ndarray:
    """How often each token comes, over evenly spaced shares."""
    shares = (np.arange(2000) + 0.5) / 2000
    tokens = [drawn(scores, draw, share) for share in shares]
    return np.bincount(tokens, minlength=len(scores)) / 2000


@pytest.mark.parametrize(
    ("draw", "wanted"),
    [
        (TokenDraw(), [0.05, 0.4, 0.15, 0.1, 0.3]),
        (TokenDraw(top_k=2), [0, 4 / 7, 0, 0, 3 / 7]),
        (TokenDraw(top_p=0.7), [0, 4 / 7, 0, 0, 3 / 7]),
        (TokenDraw(top_p=0.71), [0, 40 / 85, 15 / 85, 0, 30 / 85]),
        (TokenDraw(top_p=1e-9), [0, 1, 0, 0, 0]),
        (TokenDraw(top_k=3, top_p=0.5), [0, 4 / 7, 0, 0, 3 / 7]),
        (TokenDraw(min_p=0.5), [0, 4 / 7, 0, 0, 3 / 7]),
        (TokenDraw(min_p=1.0), [0, 1, 0, 0, 0]),
        (TokenDraw(temperature=0.5), np.array([0.0025, 0.16, 0.0225, 0.01, 0.09]) / 0.285),
    ],
    ids=str,
)
def test_tokens_come_as_often_as_their_share_of_those_that_are_kept(draw, wanted):
    np.testing.assert_allclose(frequencies(draw), wanted, atol=1e-3)


def test_equal_scores_are_kept_in_their_order():
    assert likeliest(np.array([1.0, 3.0, 1.0, 3.0, 1.0]), 3).tolist() == [1, 3, 0]
    assert likeliest(np.zeros(4), 0).tolist() == [0, 1, 2, 3]
    assert likeliest(np.zeros(4), 9).tolist() == [0, 1, 2, 3]


def test_a_penalty_lowers_scores_of_both_signs_and_keeps_the_type():
    scores = np.array([3.0, -3.0, 1.0], np.float32)

    found = penalized(scores, np.array([True, True, False]), 1.5)

    assert found.tolist() == [2.0, -4.5, 1.0]
    assert found.dtype == np.float32


def test_shares_are_spread_and_rows_have_their_own():
    shares = np.array([share_of(7, number, row) for row in (0, 1) for number in range(1000)])

    assert len({*shares}) == 2000
    assert 0 <= shares.min() <= shares.max() < 1
    assert abs(shares.mean() - 0.5) < 0.02
