"""Parts of attention's kernels of teams: where a tile is in shared memory."""

from __future__ import annotations

import re

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels.attention_parts import BLOCK_KEYS
from gnomon.codegen.kernels.team_attention import TeamAttention
from gnomon.codegen.machine import CARD
from tests.codegen.kernels.heads import Sizes, spec_of

MOST = 48 << 10
"""Bytes of shared memory that a text may name, on every card."""


def written(**sizes: int) -> tuple[TeamAttention, str]:
    """A writer, and its text."""
    module = LLVMModule()
    writer = TeamAttention(module, "attention", spec_of(Sizes(**sizes), causal=False), CARD)
    writer.write()
    return writer, module.text()


def test_shared_memory_has_room_for_buffers_and_a_tile():
    for width in (8, 64, 128):
        writer, text = written(d=width, e=width)
        (size,) = map(int, re.findall(r"\[(\d+) x i8\]", text))
        buffers = 2 * max(writer.scores.buffer_bytes, writer.values.buffer_bytes)

        assert buffers + BLOCK_KEYS * writer.pitch < size <= MOST


def test_rows_of_a_tile_are_aligned_for_the_widest_load():
    writer, _ = written()

    assert writer.pitch % 16 == 0
    assert writer.values.sides[0].pitch == writer.pitch


def test_a_head_has_groups_for_all_of_its_queries():
    assert written(t=1)[0].groups == 4
    assert written(t=129)[0].groups == 8
