"""Programs: where slots point, branches, many runs at once, records, mistakes of the caller."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import Emitter
from gnomon.runtime import events, threads
from gnomon.runtime.buffer import memory
from gnomon.runtime.program import (
    ArenaSlot,
    Bind,
    Branch,
    Call,
    ConstantSlot,
    InputSlot,
    Needs,
    OutputSlot,
    Program,
    RegisterSlot,
    ScalarSlot,
    Set,
    Skip,
)
from tests.counters import settled
from tests.runtime.kernels import addresses, copy_text, kernel, program_of, slot


@pytest.fixture(params=[1, 2])
def count(request):
    """Run the test on so many threads."""
    before = threads.get_num_threads()
    threads.set_num_threads(request.param)
    yield request.param
    threads.set_num_threads(before)


def on_first(e: Emitter, body) -> None:
    """Have thread 0 do something."""
    e.when(e.value("icmp eq i64 %thread, 0"), body)


def record_text(name: str, slots: int) -> str:
    """out[k] = what slot k holds, for each slot after the first."""

    def body(e: Emitter) -> None:
        def write() -> None:
            for k in range(slots):
                e.store(slot(e, k + 1, "i64"), e.offset(slot(e, 0), 8 * k), "i64", 8)

        on_first(e, write)

    return kernel(name, body)


def test_slots_point_where_the_program_says(count):
    slots = (
        OutputSlot(1, 8),
        InputSlot(2, 24),
        OutputSlot(0, 16),
        ScalarSlot(1),
        ConstantSlot(-5),
        ScalarSlot(0),
    )
    program = program_of(
        {"program_record": record_text("program_record", 5)},
        [Call("program_record", slots)],
        Needs(3, 2, 2),
    )
    seen = np.zeros(6, np.int64)

    program.run([1000, 2000, 3000], [4000, seen.ctypes.data], [-7, 1 << 40])

    assert seen.tolist() == [0, 3024, 4016, 1 << 40, -5, -7]


def test_every_call_sees_its_own_slots(count):
    program = program_of(
        {"program_record": record_text("program_record", 5)},
        [
            Call(
                "program_record",
                (OutputSlot(0, 40 * k), *(ConstantSlot(10 * k + j) for j in range(5))),
            )
            for k in range(4)
        ],
        Needs(0, 1),
    )
    seen = np.zeros((4, 5), np.int64)

    program.run([], addresses(seen))

    assert (seen == 10 * np.arange(4)[:, None] + np.arange(5)).all()


def test_the_arena_carries_values_between_calls_and_returns_after(count, rng):
    n = 160
    values, out = rng.random(n, np.float32), np.zeros(n, np.float32)
    text = {"program_copy": copy_text("program_copy", n)}
    program = program_of(
        text,
        [
            Call("program_copy", (ArenaSlot(1024), InputSlot(0))),
            Call("program_copy", (OutputSlot(0), ArenaSlot(1024)), barrier=True),
        ],
        Needs(1, 1, arena=1024 + 4 * n),
    )
    program.run(addresses(values), addresses(out))
    before = settled().allocated

    program.run(addresses(values), addresses(out))

    assert (out == values).all()
    assert memory.use().allocated == before


def less_text(name: str) -> str:
    """condition = count[0] < limit; slots: condition, count, limit."""

    def body(e: Emitter) -> None:
        def write() -> None:
            less = e.value(f"icmp slt i64 {e.load(slot(e, 1), 'i64', 8)}, {slot(e, 2, 'i64')}")
            e.store(e.value(f"zext i1 {less} to i8"), slot(e, 0), "i8", 1)

        on_first(e, write)

    return kernel(name, body)


def more_text(name: str) -> str:
    """count[0] += 1."""

    def body(e: Emitter) -> None:
        place = slot(e, 0)
        on_first(e, lambda: e.store(e.add(e.load(place, "i64", 8), 1), place, "i64", 8))

    return kernel(name, body)


@pytest.mark.parametrize("limit", [0, 1, 300])
def test_branches_make_a_loop_inside_one_run(count, limit):
    texts = {"program_less": less_text("program_less"), "program_more": more_text("program_more")}
    steps = [
        Call("program_less", (ArenaSlot(0), OutputSlot(0), ScalarSlot(0)), barrier=True),
        Branch(ArenaSlot(0), otherwise=4),
        Call("program_more", (OutputSlot(0),), barrier=True),
        Skip(0),
        Call("program_more", (OutputSlot(1),)),
    ]
    program = Program(steps, threads.cpu.load(texts), Needs(0, 2, 1, arena=64))
    counts = np.zeros((2, 1), np.int64)

    program.run([], addresses(*counts), [limit])

    assert counts.ravel().tolist() == [limit, 1]


@pytest.mark.parametrize("iterations", [0, 1, 7])
def test_registers_move_what_the_steps_of_a_loop_see(count, iterations):
    texts = {"program_copy": copy_text("program_copy", 160)}
    given, made = RegisterSlot(0), RegisterSlot(1)
    steps = [
        Set(0, InputSlot(0)),
        Set(1, OutputSlot(0, 640 * 6)),
        Set(2, ScalarSlot(0)),
        Skip(10, RegisterSlot(2)),
        Bind(6),
        Call("program_copy", (made, given), barrier=True),
        Set(0, RegisterSlot(0, 640)),
        Set(1, RegisterSlot(1, -640)),
        Set(2, RegisterSlot(2, -1)),
        Skip(3),
    ]
    program = Program(steps, threads.cpu.load(texts), Needs(1, 1, 1, registers=3))
    rows = np.arange(7 * 160, dtype=np.float32).reshape(7, 160)
    found = np.zeros_like(rows)

    program.run(addresses(rows), addresses(found), [iterations])

    assert np.array_equal(found[::-1][:iterations], rows[:iterations])
    assert not found[: 7 - iterations].any()


def test_every_thread_takes_part_with_scratch_of_its_own(count):
    def body(e: Emitter) -> None:
        place = e.offset(slot(e, 0), e.mul("%thread", 16))
        e.store("%threads", place, "i64", 8)
        e.store("%scratch", e.offset(place, 8), "ptr", 8)

    program = program_of(
        {"program_who": kernel("program_who", body)},
        [Call("program_who", (OutputSlot(0),))],
        Needs(0, 1, scratch=100_000),
    )
    seen = np.zeros((count, 2), np.int64)

    program.run([], addresses(seen))

    assert seen[:, 0].tolist() == [count] * count
    assert (seen[:, 1] % 64 == 0).all()
    assert (np.diff(np.sort(seen[:, 1])) >= 100_000).all()


def test_a_small_program_stays_on_its_caller(count):
    def body(e: Emitter) -> None:
        e.store("%threads", slot(e, 0), "i64", 8)

    program = program_of(
        {"program_threads": kernel("program_threads", body)},
        [Call("program_threads", (OutputSlot(0),))],
        Needs(0, 1, alone=True),
    )
    seen = np.zeros(1, np.int64)

    program.run([], addresses(seen))

    assert seen[0] == 1


def test_a_run_is_recorded_for_a_listener(count):
    program = program_of(
        {"program_copy": copy_text("program_copy", 160)},
        [Call("program_copy", (OutputSlot(0), InputSlot(0)), barrier=True)] * 3,
        Needs(1, 1),
    )
    heard = []
    stop = events.subscribe(
        lambda kind, fields: heard.append((kind, fields)) if kind == "run" else None
    )

    program.run(*(addresses(np.zeros(160, np.float32)) for _ in range(2)))
    stop()

    ((kind, fields),) = heard
    assert (kind, fields["program"], fields["lost"]) == ("run", program, 0)
    assert [records[:, 0].tolist() for records in fields["records"]] == [[0, 1, 2]] * count
    began, ended = (np.stack([records[:, k] for records in fields["records"]]) for k in (1, 2))
    assert (began <= ended).all()
    assert (ended.max(axis=0)[:-1] <= began.min(axis=0)[1:]).all()


def test_records_that_find_no_room_are_counted(count):
    texts = {"program_less": less_text("program_less"), "program_more": more_text("program_more")}
    steps = [
        Call("program_less", (ArenaSlot(0), OutputSlot(0), ScalarSlot(0)), barrier=True),
        Branch(ArenaSlot(0), otherwise=4),
        Call("program_more", (OutputSlot(0),), barrier=True),
        Skip(0),
    ]
    program = Program(steps, threads.cpu.load(texts), Needs(0, 1, 1, arena=64))
    heard = []
    stop = events.subscribe(lambda kind, fields: heard.append(fields) if kind == "run" else None)

    program.run([], addresses(np.zeros(1, np.int64)), [1000])
    stop()

    kept = [len(records) for records in heard[0]["records"]]
    assert heard[0]["lost"] == sum(2001 - n for n in kept) > 0


def test_a_run_after_one_that_lost_records_has_room_for_all(count):
    text, less = more_text("program_more"), less_text("program_less")
    steps = [
        Call("program_less", (ArenaSlot(0), OutputSlot(0), ScalarSlot(0)), barrier=True),
        Branch(ArenaSlot(0), otherwise=4),
        Call("program_more", (OutputSlot(0),), barrier=True),
        Skip(0),
    ]
    addresses_of = threads.cpu.load({"program_less": less, "program_more": text})
    program = Program(steps, addresses_of, Needs(0, 1, 1, arena=64))
    heard = []
    stop = events.subscribe(lambda kind, fields: heard.append(fields) if kind == "run" else None)

    for _ in range(2):
        program.run([], addresses(np.zeros(1, np.int64)), [1000])
    stop()

    assert [fields["lost"] > 0 for fields in heard] == [True, False]
    assert all(len(records) == 2001 for records in heard[1]["records"])


def test_a_program_without_steps_runs(count):
    Program([], {}, Needs()).run([])


@pytest.mark.parametrize(
    "given", [([], [1], []), ([1, 2], [1], []), ([1], [], []), ([1], [1], [1])]
)
def test_a_wrong_number_of_buffers_is_our_mistake(given):
    program = Program([], {}, Needs(1, 1))

    with pytest.raises(AssertionError, match=r"Program\.run: needs"):
        program.run(*given)


@pytest.mark.parametrize(
    "wrong",
    [
        InputSlot(1),
        OutputSlot(2),
        ScalarSlot(0),
        ArenaSlot(65),
        InputSlot(-1),
        ArenaSlot(-1),
        RegisterSlot(0),
    ],
)
def test_a_slot_that_points_nowhere_is_our_mistake(wrong):
    with pytest.raises(AssertionError, match=r"no (input|output|scalar|byte|register)"):
        Program([Call("k", (wrong,))], {"k": 0}, Needs(1, 2, arena=64))


def test_a_branch_to_nowhere_is_our_mistake():
    with pytest.raises(AssertionError, match="no step 2"):
        Program([Skip(2)], {}, Needs())


def test_a_small_arena_of_a_program_on_its_caller_lies_behind_its_scratch_memory(count):
    def body(e: Emitter) -> None:
        e.store("7", slot(e, 0), "i64", 8)
        e.store(e.load(slot(e, 0), "i64", 8), slot(e, 1), "i64", 8)
        e.store("%scratch", e.offset(slot(e, 1), 8), "ptr", 8)
        e.store(slot(e, 0), e.offset(slot(e, 1), 16), "ptr", 8)

    program = program_of(
        {"program_arena": kernel("program_arena", body)},
        [Call("program_arena", (ArenaSlot(64), OutputSlot(0)))],
        Needs(0, 1, arena=128, scratch=1000, alone=True),
    )
    seen = np.zeros(3, np.int64)
    program.run([], addresses(seen))
    settled()
    memory.reset_peak()

    program.run([], addresses(seen))

    value, scratch, place = seen.tolist()
    assert value == 7
    assert place >= scratch + 1000
    assert place % 64 == 0
    assert memory.use().peak == memory.use().allocated
