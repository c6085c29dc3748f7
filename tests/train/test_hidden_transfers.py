"""A fully sharded step on the virtual clock: its transfers hide behind its computing."""

from __future__ import annotations

from functools import cache

import pytest

from gnomon.distributed.mesh import mesh_of
from gnomon.program.blocks import ProgramBlock
from gnomon.program.collectives import bytes_sent
from gnomon.program.kernel import Kernel
from gnomon.program.virtual_clock import Timeline, modelled, timeline
from gnomon.train.rank_program import rank_program
from gnomon.train.recipes import configure

pytestmark = pytest.mark.unit

AIM = 1.15
SIZES = [
    *("model.hidden_size=256", "model.intermediate_size=512", "model.num_hidden_layers=10"),
    *("model.num_attention_heads=4", "model.num_key_value_heads=4", "model.head_dim=64"),
    *("model.vocab_size=512", "model.max_position_embeddings=64", "train.batch_size=8"),
    *("train.sequence_length=64", "evaluation.stride=32"),
]


@cache
def block(mesh: str) -> ProgramBlock:
    """The kernels of a step in order; what ranks run is the same (test_rank_program.py)."""
    return rank_program(configure("tiny", SIZES), mesh_of(mesh))


def run(parts, share: float) -> Timeline:
    """The step on a network where all transfers take this share of the time of computing."""
    plain = timeline(parts)
    sent = sum(bytes_sent(k) for k in parts if isinstance(k, Kernel) and k.mesh) / 2
    each = share * plain.sum("kernel") / sent
    return timeline(parts, lambda k: bytes_sent(k) * each if k.mesh else modelled(k))


@pytest.mark.share(3)
@pytest.mark.parametrize("share", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("mesh", ["shard=2", "shard=4"])
def test_a_step_takes_little_more_than_the_longer_of_computing_and_transfers(
    mesh: str, share: float
):
    found = run(block(mesh).parts, share)

    longer = max(found.sum("kernel"), found.sum("transfer"))
    assert found.sum("transfer") == pytest.approx(share * found.sum("kernel"))
    print(f"{mesh}, transfers {share} of computing: {found.makespan / longer:.3f}")
    assert found.makespan <= AIM * longer
