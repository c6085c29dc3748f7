"""Variables of every launcher, and those that contradict each other."""

from __future__ import annotations

import pytest

from gnomon.errors import ConfigError
from gnomon.runtime.comm.environment import (
    Environment,
    by_mpi,
    declare,
    environment,
    meeting_place,
    thread_place,
    variables,
    was_launched,
)

pytestmark = pytest.mark.unit

SAID = {
    "torchrun": {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"},
    "Open MPI": {
        **{"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "8"},
        **{"OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
    },
    "MPICH": {
        **{"PMI_RANK": "3", "PMI_SIZE": "8", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"},
    },
    "SLURM": {
        **{"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "8", "SLURM_LOCALID": "1"},
        **{"SLURM_TASKS_PER_NODE": "2(x4)"},
    },
}


@pytest.mark.parametrize("source", SAID)
def test_every_launcher_is_understood(source: str):
    found = environment(SAID[source])

    assert (found.rank, found.size, found.local_rank, found.local_size) == (3, 8, 1, 2)
    assert str(found) == f"rank 3 of 8, 1 of 2 on its machine, as {source} says"


@pytest.mark.parametrize(("node", "tasks"), [("0", 2), ("2", 2), ("3", 1)])
def test_slurm_lists_tasks_by_machine(node: str, tasks: int):
    given = SAID["SLURM"] | {"SLURM_TASKS_PER_NODE": "2(x3),1", "SLURM_NODEID": node}

    assert environment(given).local_size == tasks


def test_pods_of_an_indexed_job_are_alone_on_their_machines():
    found = environment({"JOB_COMPLETION_INDEX": "2", "WORLD_SIZE": "4"})

    assert (found.rank, found.size, found.local_rank, found.local_size) == (2, 4, 0, 1)
    assert found.source == "Kubernetes"


def test_an_indexed_job_must_say_how_many_pods_it_has():
    with pytest.raises(ConfigError, match="JOB_COMPLETION_INDEX=2 and not how many pods"):
        environment({"JOB_COMPLETION_INDEX": "2"})


def test_a_thread_may_stand_for_a_rank():
    with thread_place(Environment(1, 3, 1, 3, "a test")):
        assert environment().rank == 1
    assert environment({}).size == 1


@pytest.mark.parametrize("sign", ["PMIX_RANK", "PALS_RANKID"])
def test_a_launcher_that_tells_no_size_leaves_a_sign(sign: str):
    assert was_launched({sign: "0"})
    assert not was_launched({})


def test_a_shell_of_slurm_is_no_step_of_it():
    assert environment({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}).size == 1


def test_the_first_rank_is_found_by_torchruns_names():
    given = {"MASTER_ADDR": "node1", "MASTER_PORT": "29500"}

    assert meeting_place(given) == ("node1", 29500)
    assert meeting_place(given | {"TORCHELASTIC_USE_AGENT_STORE": "True"}) == ("node1", 29501)
    assert meeting_place({"MASTER_ADDR": "node1"}) is None
    with pytest.raises(ConfigError, match="MASTER_PORT: expected a number >= 0: got 'any'"):
        meeting_place(given | {"MASTER_PORT": "any"})


def test_lightnings_launcher_gives_no_rank_of_all():
    """Its processes on the first machine know their local rank, and how many there are."""
    given = {"WORLD_SIZE": "2", "LOCAL_RANK": "1", "NODE_RANK": "0"}

    assert environment(given) == Environment(1, 2, 1, 2, "Lightning")
    assert environment(given | {"RANK": "0", "LOCAL_WORLD_SIZE": "2"}).source == "torchrun"


@pytest.mark.parametrize("source", SAID)
def test_what_was_read_is_told(source: str):
    found = environment(SAID[source])
    told = [f"{name}={value}" for name, value in SAID[source].items()]

    assert variables(SAID[source]) == " ".join(told)
    assert by_mpi(found, SAID[source]) == (source in ("Open MPI", "MPICH"))


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"WORLD_SIZE": "2"}, "WORLD_SIZE=2 without RANK"),
        ({"WORLD_SIZE": "2", "LOCAL_RANK": "1"}, "WORLD_SIZE=2 without RANK"),
        (
            {"WORLD_SIZE": "4", "LOCAL_RANK": "1", "NODE_RANK": "1"},
            "WORLD_SIZE=4 without RANK",
        ),
        ({"WORLD_SIZE": "2", "RANK": "2"}, "RANK=2 is no rank of WORLD_SIZE=2"),
        ({"WORLD_SIZE": "two", "RANK": "0"}, "WORLD_SIZE: expected a number >= 0: got 'two'"),
        (
            SAID["MPICH"] | {"RANK": "0", "WORLD_SIZE": "4"},
            r"says different.*MPICH says \(PMI_RANK=3",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(given: dict[str, str], told: str):
    with pytest.raises(ConfigError, match=told):
        environment(given)


def test_a_program_gives_itself_a_place_where_no_launcher_does(monkeypatch):
    monkeypatch.setattr("gnomon.runtime.comm.environment._declared", [])
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    declare(1, 3)
    assert environment() == Environment(1, 3, 1, 3, "init_process_group")
    assert environment({}).size == 1
    with thread_place(Environment(0, 2, 0, 2, "threads")):
        assert environment().size == 2
    monkeypatch.setenv("RANK", "0")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert environment().size == 4
    for rank, size in ((-1, 2), (2, 2)):
        with pytest.raises(ConfigError, match=f"needs a rank of 0 to 1: got {rank}"):
            declare(rank, size)
