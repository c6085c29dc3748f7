"""The backend of a rank; MPI's is met in test_launcher.py, sockets in test_tcp.py."""

from __future__ import annotations

import os
import subprocess
import sys
from unittest.mock import patch

import pytest

from gnomon.distributed.backends import BACKENDS, check, connected, met, place
from gnomon.errors import ConfigError
from gnomon.runtime.comm.environment import ALONE, BACKEND, Environment, thread_place
from gnomon.runtime.comm.groups import of_rank
from gnomon.runtime.comm.threads import World

pytestmark = pytest.mark.unit


def test_one_process_is_alone():
    assert place() == ALONE


TOLD = {
    "torchrun": ("RANK=0 WORLD_SIZE=2", "Set MASTER_ADDR and MASTER_PORT, where the first rank"),
    "SLURM": ("SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2", "Use srun --mpi=pmi2"),
    "Kubernetes": ("JOB_COMPLETION_INDEX=0 WORLD_SIZE=2", "the first pod's name in the job's"),
}


@pytest.mark.parametrize("source", TOLD)
def test_ranks_that_nobody_connects_are_refused_with_what_to_do(source: str):
    read, told = TOLD[source]
    given = dict(each.split("=") for each in read.split()) | {"PATH": os.environ["PATH"]}
    script = "import gnomon.distributed as dist; dist.init_process_group()"
    path = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=given | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    last = done.stderr.splitlines()[-1]

    assert done.returncode == 1
    assert f"as {source} says ({read}), and MPI connects 1. " in last
    assert told in last


def test_a_thread_meets_its_world():
    with thread_place(Environment(2, 3, 2, 3, "a test")), of_rank(World(3).backend(2)):
        backend = connected()

    assert (backend.name, backend.rank, backend.size) == ("threads", 2, 3)


def test_a_backend_that_nobody_knows_is_refused_by_its_variable():
    with (
        patch.dict(os.environ, {BACKEND: "ucc"}),
        pytest.raises(ConfigError, match=f"{BACKEND}: expected one of mpi, node, tcp.*'ucc'"),
    ):
        met(ALONE, None, None)


@pytest.mark.parametrize("allowed", [("mpi", "node"), tuple(BACKENDS)])
def test_a_name_is_checked_against_those_that_are_allowed(allowed: tuple[str, ...]):
    check("here", allowed[-1], allowed)
    with pytest.raises(ConfigError, match=f"^here: expected one of {', '.join(allowed)}: got 'x'"):
        check("here", "x", allowed)
