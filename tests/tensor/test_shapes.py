"""Tensors of shapes alone: models of any size, in no memory."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.capture.unrun import program_for
from gnomon.dtypes import float32
from gnomon.runtime.buffer import memory
from gnomon.tensor.shapes import is_shapes_only, shapes_only, without_value
from tests.counters import settled

pytestmark = pytest.mark.unit

WIDE = 1 << 20


def test_a_model_of_terabytes_takes_none():
    before = settled().allocated
    with shapes_only():
        assert is_shapes_only()
        layers = nn.Sequential(nn.Linear(WIDE, WIDE), nn.GELU(), nn.Linear(WIDE, WIDE))
        optimizer = gn.optim.AdamW(layers.parameters())
        for p in layers.parameters():
            p.grad = without_value(p.shape, float32)
        program = program_for(gn.compile(lambda: optimizer.step()))

    assert not is_shapes_only()
    assert memory.use().allocated - before < 1 << 20
    assert [tuple(p.shape) for p in layers.parameters()] == [(WIDE, WIDE), (WIDE,)] * 2
    assert sum(x.size for x in program.graph.inputs) > 8 * WIDE * WIDE


def test_a_program_is_captured_and_not_run():
    added = gn.compile(lambda x: x + 1)
    with shapes_only():
        x = without_value((3, WIDE, WIDE), float32)
        graph = program_for(added, x).graph

    assert [y.shape for y in graph.outputs] == [(3, WIDE, WIDE)]
    assert added(gn.ones(2)).tolist() == [2.0, 2.0]
