"""Stages of a pipeline: where they stand, and what they keep of a step."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.distributed.pipeline_stages import PipelineStage, StepOfStage
from tests.distributed.on_threads import on_threads

pytestmark = pytest.mark.unit


def test_ranks_have_stages_in_turn():
    def work(rank: int, ranks: int) -> list:
        stages = [PipelineStage(nn.ReLU(), k, 4, "cpu") for k in range(rank, 4, ranks)]
        return [(x.is_first, x.is_last, x.beside(1), x.beside(-1)) for x in stages]

    first, second = on_threads(work, 2)

    assert first == [(True, False, 1, 1), (False, False, 1, 1)]
    assert second == [(False, False, 0, 0), (False, True, 0, 0)]


def test_a_stage_keeps_what_gradients_read_until_they_are_computed():
    def work(rank: int, ranks: int) -> list[int]:
        layer, x = nn.Linear(2, 2), gn.ones(4, 2)
        part = StepOfStage(PipelineStage(layer, 0, 1, "cpu"), [(x,), (x,)], [{}, {}])
        counts = []
        for number in range(2):
            part.losses[number] = part.forward(number).sum()
            counts.append(len(part.waiting))
        for number in range(2):
            part.backward(number)
            counts.append(len(part.waiting))
        part.end()
        assert not part.losses[0].requires_grad
        assert layer.bias.grad.tolist() == [8.0, 8.0]
        return counts

    assert on_threads(work, 1) == [[1, 2, 1, 0]]
