"""Checkpoints of a few small tensors, saved as a run saves them. Not a test."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import numpy as np

from gnomon.distributed.checkpoint.parts import owned
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.models.config import Qwen3Config
from gnomon.train.checkpoint import TRAINER, sealed
from gnomon.train.checkpoint_contents import CheckpointContents
from gnomon.train.checkpoint_writer import CheckpointWriter
from gnomon.train.team import Team


def arrays_at(step: int, rng: np.random.Generator) -> dict[str, dict[str, np.ndarray]]:
    """Parameters and the state of an optimizer."""
    model = {f"w{n}": rng.standard_normal((3, n + 1)).astype(np.float32) for n in range(4)}
    state = {f"{name}.exp_avg": array * 2 for name, array in model.items()}
    return {"model": model, "optimizer": state | {"w0.step": np.asarray(step, np.float32)}}


def contents(
    step: int,
    arrays: Mapping[str, Mapping[str, np.ndarray]],
    place: tuple[int, int] = (0, 1),
    **more: object,
) -> CheckpointContents:
    """What one of several ranks saves of arrays that all have."""
    told = {"model": Qwen3Config(), "tokenizer": '{"version": "1.0"}'}
    told |= {"trainer": {"data_hash": "x"}} | more
    rank, mesh = place[0], DeviceMesh.of({"data": place[1]})
    tensors = {
        group: {name: owned(x, x.shape, (), mesh, rank) for name, x in listed.items()}
        for group, listed in arrays.items()
    }
    return CheckpointContents(step, tensors, **told)


class TeamOfThreads:
    """One of several ranks that are threads and talk as ranks do: all at once, of plain things."""

    def __init__(self, rank: int, barrier: threading.Barrier, told: list[bytes]) -> None:
        self.rank, self.leads, self.barrier, self.told = rank, rank == 0, barrier, told
        self.mesh = DeviceMesh.of({"data": len(told)})

    def gather(self, told: object) -> list:
        """Plain values of every rank, on all ranks."""
        self.told[self.rank] = msgspec.msgpack.encode(told)
        self.barrier.wait(60)
        found = [msgspec.msgpack.decode(x) for x in self.told]
        self.barrier.wait(60)
        return found

    def share(self, told: object) -> object:
        """A plain value of the first rank, on all ranks."""
        return self.gather(told)[0]


def together(ranks: int, work: Callable[[TeamOfThreads], object]) -> list:
    """The results of work that so many ranks do."""
    with ThreadPoolExecutor(ranks) as pool:
        return [x.result(120) for x in [pool.submit(work, team) for team in teams(ranks)]]


def teams(ranks: int) -> list[TeamOfThreads]:
    """So many ranks that are threads."""
    barrier, told = threading.Barrier(ranks), [b""] * ranks
    return [TeamOfThreads(rank, barrier, told) for rank in range(ranks)]


def save(run: Path, saved: CheckpointContents, keep: int) -> Path:
    """Save, wait, and raise what went wrong; the folder."""
    writer = CheckpointWriter(run, keep, Team(), print)
    writer.begin(saved)
    writer.wait()
    if writer.failure:
        raise writer.failure
    return run / "checkpoints" / f"step-{saved.step:08d}"


def reseal(folder: Path) -> None:
    """Give every description and header the sum that it has now, as whoever changes one can."""
    path = folder / TRAINER
    trainer = json.loads(path.read_bytes())
    for name in trainer["sha256"]:
        trainer["sha256"][name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    for name in trainer["headers"]:
        content = (folder / name).read_bytes()
        header = content[8 : 8 + int.from_bytes(content[:8], "little")]
        trainer["headers"][name] = hashlib.sha256(header).hexdigest()
    path.write_bytes(sealed(trainer))
