"""One rank's program from shapes alone is the one that training runs."""

from __future__ import annotations

import pytest

from gnomon.distributed.mesh import ALONE, mesh_of
from gnomon.distributed.ranks import run_ranks
from gnomon.program.collectives import is_transfer
from gnomon.settings import override
from gnomon.train.rank_program import rank_program, step_graph
from gnomon.train.recipes import configure
from tests.train.curves import config_of, stepped

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("mesh", ["", "shard=2", "data=2,tensor=2"])
def test_it_is_the_program_of_a_step(mesh: str):
    config, found = config_of("six heads"), mesh_of(mesh)
    steps = run_ranks(found, lambda rank: stepped(config, found, rank, 1)[0], 120.0)

    assert step_graph(config, found).key == steps[0].captured.graph.key


def test_a_world_of_thousands_of_ranks_has_a_program():
    sizes = ["model.hidden_size=1024", "model.num_hidden_layers=1", "train.batch_size=8192"]
    config = configure("tiny", sizes)
    with override(numerics="fast"):
        parts = rank_program(config, mesh_of("data=16,shard=512")).parts

    gathered = [x for p in parts if is_transfer(p) for x in p.nodes if "phase" in x.params]
    assert gathered
    assert all(x.params["ranks"] == 512 for x in gathered)
    assert not any(map(is_transfer, rank_program(config, ALONE).parts))
