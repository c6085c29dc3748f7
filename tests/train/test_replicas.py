"""Replicas that do not have the same bits are found, and the one that is wrong is named."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np
import pytest

import gnomon as gn
from gnomon.distributed.environment import Environment, standing
from gnomon.distributed.mesh import Mesh
from gnomon.errors import GnomonError
from gnomon.runtime.comm.groups import of_rank
from gnomon.runtime.comm.threads import World
from gnomon.tensor.random import own_stream
from gnomon.train.checkpoint import checkpoints
from gnomon.train.loop import Trainer
from gnomon.train.progress import Progress
from gnomon.train.replicas import Replicas, checksum
from gnomon.train.team import Team


def test_every_bit_changes_the_checksum(rng: np.random.Generator):
    arrays = [rng.standard_normal(11).astype(np.float32), np.arange(3, dtype=np.int8), np.zeros(0)]
    before = checksum(arrays)

    for array in arrays[:2]:
        flat = array.view(np.uint8)
        for place in range(flat.size):
            for bit in range(8):
                flat[place] ^= 1 << bit
                assert checksum(arrays) != before
                flat[place] ^= 1 << bit
    assert checksum(arrays) == before
    assert checksum(arrays[::-1]) != before


class Alone:
    """A team whose machines have names."""

    def gather(self, told: object) -> list[str]:
        return [f"host {rank}" for rank in range(8)]


def replicas(*axes: tuple[str, int]) -> Replicas:
    """Replicas over a mesh."""
    return Replicas(gn.nn.Linear(1, 1), Mesh(axes), Alone())


def test_equal_replicas_and_unequal_parts_are_as_they_should_be():
    told = [[[[], 5], [["tensor"], 7 + rank % 2]] for rank in range(4)]

    replicas(("data", 2), ("tensor", 2)).check(3, told, list)


@pytest.mark.parametrize("wrong", range(3))
def test_of_three_the_minority_is_named(wrong: int):
    told = [[[[], 5 + (rank == wrong)]] for rank in range(3)]

    with pytest.raises(
        GnomonError, match=rf"after step 3 .*: rank {wrong} on host {wrong} differs"
    ):
        replicas(("data", 3)).check(3, told, list)


def test_of_two_both_are_named():
    told = [[[[], 1], [["tensor"], rank // 2]] for rank in range(4)]

    with pytest.raises(GnomonError, match=r"rank 0 on host 0, .*rank 3 on host 3 differ from each"):
        replicas(("data", 2), ("tensor", 2)).check(3, told, list)


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_bit_that_turns_in_a_run_stops_it_before_the_next_checkpoint(config, tmp_path, ranks):
    """Of three ranks the one that changed is named; the checkpoint before stays the last."""
    train = dataclasses.replace(config.train, batch_size=6, compare_replicas_every=5)
    changed = dataclasses.replace(config, train=train)

    class Faulty(Trainer):
        def take(self, step: int, metrics) -> None:
            super().take(step, metrics)
            if step == 2 and self.team.rank == 1:
                p = next(iter(self.model.parameters()))
                value = p.detach().numpy().copy()
                value.view(np.uint32).reshape(-1)[5] ^= 1
                p.data.copy_(gn.from_numpy(value))

    world = World(ranks, 60.0)

    def work(rank: int) -> str:
        standing_at = Environment(rank, ranks, rank, ranks, "threads of a test")
        own = of_rank(world.backend(rank))
        with standing(standing_at), own, own_stream(), Team(f"data={ranks}") as team:
            run = Faulty(changed, tmp_path / "run", Progress(), team=team)
            run.prepare()
            with pytest.raises(GnomonError) as told:
                run.run()
            return str(told.value)

    (tmp_path / "run").mkdir()
    with ThreadPoolExecutor(ranks) as pool:
        futures = [pool.submit(copy_context().run, work, rank) for rank in range(ranks)]
        found = [each.result() for each in futures]

    assert len({*found}) == 1
    assert "after step 4 replicas" in found[0]
    assert "rank 1 on" in found[0]
    assert ("rank 0 on" in found[0]) is (ranks == 2)
    assert [path.name for path in checkpoints(tmp_path / "run")] == ["step-00000002"]
