"""Shares of work: contiguous ones, strided ones, and who works in a team."""

from __future__ import annotations

import pytest

from gnomon.codegen.emitter import KERNEL, LLVMModule
from gnomon.codegen.loops import emit_loops
from gnomon.codegen.shares import SHARES, TEAM, WorkTeam
from gnomon.ops.primitives import reduce, unsqueeze
from gnomon.ops.scalars import exp
from tests.schedule.kernels_of import kernels, leaf, softmax


def width(root) -> str:
    """How many threads the code of the first kernel is for."""
    return emit_loops(kernels(root)[0], "strided").text.splitlines()[0]


def test_a_code_says_by_how_many_threads_it_is_run():
    assert width(leaf(3, 5) * 2.0) == "; threads 16"
    assert width(softmax(leaf(3, 512))) == "; threads 16"
    assert width(softmax(leaf(3, 4096))) == "; threads 128"
    assert width(reduce("add", leaf(2048, 40), (0,))) == "; threads 128"
    # a sum of one leaf is one chain, whoever adds it; the largest of a row is anyone's
    assert width(reduce("add", leaf(40, 1027), (1,))) == "; threads 16"
    assert width(reduce("max", leaf(40, 1027), (1,))) == "; threads 128"


def test_stretches_say_nothing_of_threads():
    code, other = (emit_loops(kernels(softmax(leaf(3, 4096)))[0], *x) for x in ((), ("strided",)))

    assert "threads 1" not in code.text
    assert "@meet" not in code.text
    assert other.symbol == f"{code.symbol}_strided"


def test_tasks_are_taken_in_turns_or_in_stretches():
    for name, looked_for in (("contiguous", "udiv i64"), ("strided", "phi i64 [%thread, %entry]")):
        module = LLVMModule()
        e = module.function("f", KERNEL)
        SHARES[name].tasks(e, 12, lambda task: None)
        e.ret()
        assert looked_for in module.text()
        assert ("udiv" in module.text()) == (name == "contiguous")


def test_members_take_parts_in_turns_and_meet_once():
    module = LLVMModule()
    e = module.function("f", KERNEL)
    team = WorkTeam(e, SHARES["strided"], TEAM)
    team.each(16, lambda k: team.each(4, lambda j: team.meet()))
    assert team.taken(["%x"]) == ["%x"]
    e.ret()

    text = module.text()
    assert text.count("call void @meet()") == 2
    assert text.count("call i64 @member()") == 1
    assert f"add nsw i64 %ihead1, {TEAM}" in text


@pytest.mark.parametrize("rows", [2, 300])
def test_a_row_that_is_cut_has_tasks_for_each_part(rows):
    x = leaf(rows, 5000)
    row = unsqueeze(x.arena.input((rows,), x.dtype), 1)
    counts = [
        f"icmp slt i64 %ihead3, {rows * -(-5000 // SHARES['strided'].chunk)}",
        f"icmp slt i64 %ihead5, {rows * -(-5000 // SHARES['strided'].chunk)}",
    ]

    text = emit_loops(kernels(exp(x * row))[0], "strided").text

    assert any(count in text for count in counts)
