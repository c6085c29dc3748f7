"""Races: none in the programs of any layout, and each of four broken schedules is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from gnomon.compiler.pipeline import kernels_of
from gnomon.compiler.target import context
from gnomon.distributed.mesh import mesh_of
from gnomon.distributed.ranks import run_ranks
from gnomon.program.blocks import ControlCall, ProgramBlock
from gnomon.program.buffer_assignment import BufferAssignment
from gnomon.program.collectives import FIRST, WAIT, is_transfer, serves
from gnomon.program.kernel import Kernel
from gnomon.program.races import Check, Race, races
from tests.train.curves import config_of, stepped
from tests.train.test_units import block

pytestmark = pytest.mark.unit


@pytest.mark.share(3)
@pytest.mark.parametrize("mesh", ["", "data=2", "shard=2", "shard=4", "tensor=2", "data=2,shard=2"])
def test_no_layout_has_a_race(mesh: str):
    assert races(block(mesh)) == []


def test_a_loop_of_microbatches_has_none():
    config = config_of("six heads", microbatches=2)
    mesh = mesh_of("data=2")
    step, _ = run_ranks(mesh, lambda rank: stepped(config, mesh, 2), 120.0)[0]
    found = kernels_of(step.captured.graph, context())

    assert any(isinstance(part, ControlCall) for part in found.parts)
    assert races(found) == []


def ends(found: ProgramBlock, op: str) -> tuple[int, int]:
    """Where the last transfer of a kind for a unit starts, and where it is waited for."""
    mine = [k for k, part in enumerate(found.parts) if is_transfer(part) and serves(part, op)]
    start = max(k for k in mine if not found.parts[k].name.endswith(WAIT))
    number = found.parts[start].numbers[FIRST]
    wait = next(k for k in mine if k > start and found.parts[k].numbers[FIRST] == number)
    return start, wait


def changed(found: ProgramBlock, change: Callable[[list], None]) -> ProgramBlock:
    """The same calls in another order."""
    parts = list(found.parts)
    change(parts)
    return replace(found, parts=tuple(parts))


def as_planned(found: ProgramBlock, change: Callable[[list], None]) -> list[Race]:
    """The races of calls in another order, where values lie as they did before."""
    return races(changed(found, change), BufferAssignment(found))


def whats(found: list[Race]) -> set[str]:
    """What is told, without names."""
    return {race.what for race in found}


def test_a_wait_that_is_left_out_is_told_with_value_call_and_line():
    found = block("shard=2")
    start, wait = ends(found, "gather_ranks")

    told = as_planned(found, lambda parts: parts.pop(wait))

    brought = found.parts[start].buffers[0]
    first = told[0]
    assert (first.what, first.value) == ("is touched before the end", brought)
    assert first.other is found.parts[start]
    assert brought in {x for x, _ in first.part.places}
    assert whats(told) >= {"is touched before the end", "is never waited for"}
    text = str(first)
    assert text.startswith(f"races: call {first.call}, {first.part.name} [")
    assert f"float32{list(brought.shape)} of gather_ranks [" in text
    assert " is touched before the end of all_gather [" in text
    assert text.count("decoder.py:") + text.count("linear.py:") >= 1


def test_a_wait_that_comes_after_the_reader_is_told():
    found = block("shard=2")
    _, wait = ends(found, "fold_ranks")

    def later(parts: list) -> None:
        parts.insert(wait + 1, parts.pop(wait))

    assert "is touched before the end" in whats(as_planned(found, later))


def test_an_operand_whose_memory_is_given_away_at_the_start_is_told():
    """The plan of a block whose waits do not hold what they send: others get its bytes."""
    found = block("shard=2")

    def forget(parts: list) -> None:
        for k, part in enumerate(parts):
            if isinstance(part, Kernel) and part.mesh and part.name.endswith(WAIT):
                parts[k] = replace(part, buffers=part.buffers[:1])

    told = races(found, BufferAssignment(changed(found, forget)))

    assert "is written over what is sent by the start" in whats(told)


def test_a_call_before_what_makes_its_operand_is_told():
    found = block("shard=2")
    start, _ = ends(found, "fold_ranks")

    told = as_planned(found, lambda parts: parts.insert(0, parts.pop(start)))

    assert "is read and is not there: not yet, or no more" in whats(told)


def test_threads_that_do_not_wait_for_each_other_are_told(monkeypatch):
    found = block("shard=2")
    monkeypatch.setattr(Check, "waits", lambda self: [False] * len(self.block.parts))

    assert whats(races(found)) >= {"is read beside a write", "is written beside a read"}


def test_a_wait_without_a_start_is_told():
    found = block("shard=2")
    start, _ = ends(found, "gather_ranks")

    told = as_planned(found, lambda parts: parts.pop(start))

    assert "is waited for before the start" in whats(told)
