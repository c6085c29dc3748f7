"""MPI: every collective between processes gives what threads give; run by mpiexec."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.launcher import Launch
from gnomon.distributed.ranks import connect, run_ranks
from gnomon.runtime.comm import here
from gnomon.runtime.comm.mpi import MpiBackend
from tests.runtime.comm.every_collective import every_collective

ROOT = Path(__file__).parents[3]


def mesh_of(ranks: int) -> DeviceMesh:
    """All ranks along one axis, and along two."""
    return DeviceMesh.of({"a": ranks})


@pytest.mark.parametrize("ranks", [2, 4])
def test_processes_give_the_bytes_of_threads(ranks: int, tmp_path: Path):
    command = [sys.executable, "-m", "tests.runtime.comm.test_mpi", str(tmp_path)]
    launch = Launch(tuple(command[1:]), ranks)
    arguments = launch.arguments()
    words = [*arguments[: arguments.index("-n") + 2], *command]
    environment = launch.environment() | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}

    done = subprocess.run(
        words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 0, done.stderr
    expected = run_ranks(mesh_of(ranks), lambda rank: every_collective(rank, ranks))
    for rank, arrays in enumerate(expected):
        found = np.load(tmp_path / f"{rank}.npz")
        assert {name: found[name].tobytes() for name in found.files} == {
            name: x.tobytes() for name, x in arrays.items()
        }


def main(folder: Path) -> None:
    """Run as a rank: all collectives, saved under its number."""
    backend = MpiBackend()
    here.settle(connect(mesh_of(backend.size), backend))
    np.savez(folder / f"{backend.rank}.npz", **every_collective(backend.rank, backend.size))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
