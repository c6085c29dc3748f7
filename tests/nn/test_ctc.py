"""ctc_loss: the sum over every way to spread a text over time, with its gradient."""

from __future__ import annotations

from itertools import groupby, product

import numpy as np
import pytest

import gnomon as gn
import gnomon.nn.functional as F
from gnomon import nn
from gnomon.errors import ArgumentError


def by_enumeration(scores: np.ndarray, text: list[int], blank: int = 0) -> float:
    """The loss of one text by its definition: all paths that say it, repetitions and blanks out."""
    steps, classes = scores.shape
    chances = np.exp(scores - np.log(np.exp(scores).sum(-1, keepdims=True)))
    total = 0.0
    for path in product(range(classes), repeat=steps):
        if [letter for letter, _ in groupby(path) if letter != blank] == text:
            total += np.prod(chances[range(steps), path])
    return -np.log(total) if total else np.inf


@pytest.mark.parametrize("blank", [0, 2])
@pytest.mark.parametrize("letters", [[0, 1], [1, 1], [0], [1, 0, 1], []])
def test_it_is_the_sum_over_all_ways_to_say_the_text(rng, letters, blank):
    text = [(1 + blank + letter) % 3 for letter in letters]
    scores = rng.standard_normal((5, 3))

    loss = F.ctc_loss(
        gn.tensor(scores).log_softmax(-1), gn.tensor(text), [5], [len(text)], blank, "none"
    )

    np.testing.assert_allclose(loss.numpy(), by_enumeration(scores, text, blank), 1e-12)


def test_its_gradient_is_that_of_differences(rng):
    scores = rng.standard_normal((6, 2, 4))
    texts, lengths = gn.tensor([[1, 1, 3], [2, 9, 9]]), ([6, 4], [3, 1])
    x = gn.tensor(scores, requires_grad=True)

    F.ctc_loss(x.log_softmax(-1), texts, *lengths, reduction="sum").backward()

    for direction in rng.standard_normal((4, *scores.shape)):
        there, back = (
            F.ctc_loss(gn.tensor(moved).log_softmax(-1), texts, *lengths, reduction="sum").item()
            for moved in (scores + 1e-6 * direction, scores - 1e-6 * direction)
        )
        slope = (x.grad.numpy() * direction).sum()
        np.testing.assert_allclose(slope, (there - back) / 2e-6, 1e-6)


def test_a_text_longer_than_its_steps_costs_infinity_and_pulls_nothing(rng):
    scores = gn.tensor(rng.standard_normal((3, 1, 4)), requires_grad=True)
    text = gn.tensor([[2, 2]])
    module = nn.CTCLoss(reduction="sum", zero_infinity=True)

    never = F.ctc_loss(scores.log_softmax(-1), text, [2], [2], reduction="sum")
    (never + module(scores.log_softmax(-1), text, [2], [2])).backward()

    assert never.item() == np.inf
    assert not scores.grad.numpy().any()
    assert module(scores.log_softmax(-1), text, [2], [2]).item() == 0


def test_compiled_it_has_the_bits_of_eager(rng):
    scores, texts = (
        gn.tensor(rng.standard_normal((7, 2, 5), np.float32)),
        gn.tensor([[1, 4], [3, 3]]),
    )

    def loss(x):
        return F.ctc_loss(x.log_softmax(-1), texts, [7, 6], [2, 2])

    assert gn.compile(loss)(scores).item() == loss(scores).item()


def test_a_blank_that_is_no_class_is_refused():
    with pytest.raises(ArgumentError, match="blank is no class: 4 of 4"):
        F.ctc_loss(gn.zeros(3, 1, 4), gn.tensor([[1]]), [3], [1], blank=4)
