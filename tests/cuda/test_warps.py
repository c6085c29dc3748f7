"""Threads that stand together: shuffles, votes, barriers, and what accesses touch."""

from __future__ import annotations

import numpy as np
import pytest

from tests.cuda.ptx import Fault, Kernel, Memory
from tests.cuda.test_ptx import HEAD
from tests.cuda.warps import Traffic, Warps

END = """
	mul.wide.u32 	%rd3, %r1, 4;
	add.s64 	%rd4, %rd2, %rd3;
	st.global.b32 	[%rd4], %r2;
	ret;
}
"""
"""Each thread stores a number behind the first slot's address."""


def run(body: str, threads: int = 64, order: int | None = None) -> list[int]:
    """What each thread stored."""
    memory = Memory(1 << 20)
    out, table = memory.allocate(4 * threads), memory.allocate(8)
    assert out
    assert table
    memory.view(table, 8).view(np.int64)[:] = out
    random = None if order is None else np.random.default_rng(order)
    Kernel(HEAD + body + END).run(memory, [table, 0, 0], 1, threads, random)
    return memory.view(out, 4 * threads).view(np.int32).tolist()


def by_the_book(how: str, by: int, clamp: int) -> list[int]:
    """The source lane of each of 32, as PTX ISA 8.0 spells it (9.7.8.6)."""
    found = []
    for lane in range(32):
        segment, last = clamp >> 8 & 31, clamp & 31
        low = lane & segment
        high = low | (last & ~segment & 31)
        other = {
            "up": lane - by,
            "down": lane + by,
            "bfly": lane ^ by,
            "idx": low | (by & ~segment & 31),
        }[how]
        inside = other >= high if how == "up" else other <= high
        found.append(other if inside else lane)
    return found


@pytest.mark.parametrize("how", ["up", "down", "bfly", "idx"])
@pytest.mark.parametrize("by", [0, 1, 5, 8, 15])
@pytest.mark.parametrize("width", [16, 32])
def test_a_shuffle_takes_from_the_lane_of_the_manual(how, by, width):
    clamp = (32 - width) << 8 | (0 if how == "up" else 31)

    found = run(f"\tshfl.sync.{how}.b32 \t%r2|%p1, %r1, {by}, {clamp}, -1;")

    wanted = by_the_book(how, by, clamp)
    assert found == wanted + [32 + lane for lane in wanted]


def test_a_vote_has_a_bit_for_each_member():
    found = run(
        "\tand.b32 \t%r3, %r1, 3;\n\tsetp.eq.b32 \t%p1, %r3, 0;\n\tand.b32 \t%r4, %r1, 16;\n"
        "\tmov.b32 \t%r5, 65535;\n\tshl.b32 \t%r6, %r5, %r4;\n"
        "\tvote.sync.ballot.b32 \t%r2, %p1, %r6;"
    )

    assert found == ([0x1111] * 16 + [0x11110000] * 16) * 2


@pytest.mark.parametrize("order", [None, 0, 1, 2])
@pytest.mark.parametrize("barrier", ["bar.sync \t0;", "bar.warp.sync \t-1;"])
def test_who_comes_late_is_waited_for(barrier, order):
    # odd threads take a way around; a neighbour's number is there when all have met
    found = run(
        "\tmul.wide.u32 \t%rd5, %r1, 4;\n\tadd.s64 \t%rd6, %rd2, %rd5;\n"
        "\tand.b32 \t%r3, %r1, 1;\n\tsetp.eq.b32 \t%p1, %r3, 0;\n\t@%p1 bra \t$L__BB0_2;\n"
        "\tadd.s32 \t%r7, %r1, 100;\n\tst.global.b32 \t[%rd6], %r7;\n\tbra.uni \t$L__BB0_3;\n"
        "$L__BB0_2:\n\tst.global.b32 \t[%rd6], %r1;\n$L__BB0_3:\n"
        f"\t{barrier}\n\txor.b32 \t%r4, %r1, 1;\n\tmul.wide.u32 \t%rd7, %r4, 4;\n"
        "\tadd.s64 \t%rd8, %rd2, %rd7;\n\tld.global.b32 \t%r2, [%rd8];\n"
        f"\t{barrier}",
        order=order,
    )

    assert found == [k ^ 1 if k & 1 else (k ^ 1) + 100 for k in range(64)]


def test_threads_that_never_meet_are_found():
    body = (
        "\tsetp.eq.b32 \t%p1, %r1, 3;\n\t@%p1 bra \t$L__BB0_9;\n\tbar.sync \t0;\n$L__BB0_9:\n"
        "\tmov.b32 \t%r2, 0;"
    )

    with pytest.raises(Fault, match="threads wait for each other"):
        run(body)


def test_an_instruction_that_nobody_uses_is_refused():
    with pytest.raises(AssertionError, match="is not known"):
        run("\tvote.sync.any.pred \t%p2, %p1, -1;")


def test_sectors_are_counted_warp_by_warp():
    warps, traffic = Warps(1, 64), Traffic()
    base = np.uint64(1 << 20) + np.arange(64, dtype=np.uint64)

    traffic.add("near", base[:1] + np.uint64(4) * (base - base[0]), 4, warps.numbers)
    traffic.add("far", base[:1] + np.uint64(64) * (base - base[0]), 4, warps.numbers)
    traffic.add("one", np.repeat(base[:1], 64), 4, warps.numbers)

    assert traffic.sectors == {"near": 8, "far": 64, "one": 2}
    assert [traffic.share(name) for name in ("near", "far", "one")] == [1, 0.125, 0.125]
    whole = Traffic()
    whole.take(traffic)
    whole.take(traffic)
    assert whole.sectors["near"] == 16
    assert whole.share("near") == 1
