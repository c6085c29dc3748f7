"""A row chooses its tokens by scores, settings and seed, and says when it has ended."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.models.generation_config import GenerationConfig
from gnomon.models.text_row import TextRow

pytestmark = pytest.mark.unit


class Numbers:
    """A tokenizer whose texts show the numbers."""

    def decode(self, ids):
        return "".join(f"<{x}>" for x in ids)


def likely(*order: int) -> np.ndarray:
    """Scores of 10 tokens, the first of these the highest."""
    scores = np.zeros(10, np.float32)
    for number, token in enumerate(order):
        scores[token] = 9 - number
    return scores


def test_a_row_ends_at_an_end_a_stop_or_the_most_tokens():
    for given, tokens, ended, text in (
        ({}, [4, 5, 6], False, "<4><5><6>"),
        ({"eos_token_id": 5}, [4, 5], True, "<4>"),
        ({"stop_strings": "5"}, [4, 5], True, "<4><"),
    ):
        row = TextRow(GenerationConfig(**given), [1, 2], 3, tokenizer=Numbers())
        pieces = []
        for token in (4, 5, 6):
            if row.running:
                row.add(likely(token))
                pieces.append(row.piece)

        assert row.tokens == [1, 2, *tokens]
        assert (row.count, row.ended, row.running) == (len(tokens), ended, False)
        assert "".join(pieces) == text


def test_a_penalty_counts_the_prompt_and_what_was_written():
    row = TextRow(GenerationConfig(repetition_penalty=100.0), [1, 2], 9)

    for _ in range(3):
        row.add(likely(2, 3, 4, 5))

    assert row.tokens == [1, 2, 3, 4, 5]


def test_draws_depend_on_seed_number_and_step():
    def written(seed: int, number: int) -> list[int]:
        config = GenerationConfig(do_sample=True, top_k=0)
        row = TextRow(config, [1], 20, seed=seed, number=number)
        while row.running:
            row.add(np.zeros(10, np.float32))
        return row.tokens

    assert written(1, 0) == written(1, 0) != written(2, 0)
    assert written(1, 0) != written(1, 1)
    assert len({*written(1, 0)}) > 3
