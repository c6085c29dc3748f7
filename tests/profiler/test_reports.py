"""Reports add up: whatever is divided is whole again in the sum."""

import pytest
from msgspec.structs import replace

from gnomon.profiler.model import Event, Line, MachineLimits, OpRecord, Profile, Record
from gnomon.profiler.reports import by_kernel, by_module, by_source_line, paths_to, totals
from tests.drawn import given
from tests.profiler.profiles import ADD, CPU, profiles
from tests.profiler.synthetic import FILE, made_up

pytestmark = pytest.mark.unit

HERE = Line("a.py", 1, "f", "layers.0.mlp")
THERE = Line("a.py", 2, "f", "layers.0", "backward")


def small() -> Profile:
    """One kernel of two lines, on two threads, called twice."""
    ops = (OpRecord("a", (HERE,), flops=30), OpRecord("b", (THERE,), flops=10))
    record = Record(7, "k", "k", "p", (HERE, THERE), ops, (), 40, 80)
    events = [
        Event("step", "s", 0, 100),
        *(Event("kernel", "k", t, t + 20, thread, 7) for t in (10, 50) for thread in (0, 1)),
        Event("copy", "to", 80, 90, 0, None, 64),
    ]
    return Profile(MachineLimits("m", 2, 4e9, 2e9), {7: record}, events)


def test_a_line_has_its_part_of_a_kernel():
    rows = {row.line: row for row in by_source_line(small())}
    first, second, nowhere = rows[1], rows[2], rows[0]

    assert (first.file, first.line, first.function, first.modules) == (
        "a.py",
        1,
        "f",
        [HERE.module],
    )
    assert (first.cost.time, first.cost.calls, first.cost.kernels) == (30, 2, 1)
    assert (first.cost.flops, first.cost.nbytes) == (60, 120)
    assert first.phases == {"forward": 30}
    assert (second.line, second.cost.time, second.phases) == (2, 10, {"backward": 10})
    assert (nowhere.file, nowhere.cost.time, nowhere.cost.nbytes) == ("", 10, 64)


def test_speeds_and_roofline_follow_from_time():
    (kernel, copy) = by_kernel(small())

    assert (kernel.cost.time, kernel.cost.calls) == (40, 2)
    assert kernel.cost.flops_per_second == 2e9
    assert kernel.cost.bytes_per_second == 4e9
    # 80 bytes at 2 GB/s are 40 ns, 40 flop at 4 GFLOP/s 10 ns: of each call the longer one
    assert kernel.cost.least == 80
    assert kernel.cost.roofline == 2
    assert (copy.name, copy.record, copy.cost.calls) == ("to", None, 1)


def test_what_fits_a_cache_counts_against_that_cache():
    profile = small()
    profile.machine = MachineLimits("m", 2, 4e9, 2e9, ((64, 16e9), (1024, 8e9)))

    (kernel, _) = by_kernel(profile)

    # 80 bytes fit the second cache: at 8 GB/s they are 10 ns, as 40 flop at 4 GFLOP/s
    assert (kernel.cost.least, kernel.cost.roofline) == (20, 0.5)


def test_a_module_has_what_its_parts_have():
    rows = {row.module: row for row in by_module(small())}

    assert list(rows) == ["", "layers", "layers.0", "layers.0.mlp"]
    assert rows["layers.0"].own.time == 10
    assert rows["layers.0"].whole.time == 40
    assert rows["layers.0"].whole.calls == 2
    assert rows[""].whole.time == 50
    assert rows[""].own.time == 10


def test_layers_stand_in_the_order_of_their_numbers():
    names = [row.module for row in by_module(made_up(layers=12)) if row.module.count(".") == 1]

    assert names == [f"layers.{n}" for n in range(12)]


def test_sums_of_every_report_are_the_busy_time():
    profile = made_up()
    busy = totals(profile).busy

    assert sum(row.cost.time for row in by_kernel(profile)) == pytest.approx(busy)
    assert sum(row.cost.time for row in by_source_line(profile)) == pytest.approx(busy)
    assert sum(row.own.time for row in by_module(profile)) == pytest.approx(busy)
    assert by_module(profile)[0].whole.time == pytest.approx(busy)


@given(profiles())
def test_any_profile_is_divided_without_rest(profile):
    busy = pytest.approx(totals(profile).busy)

    assert sum(row.cost.time for row in by_kernel(profile)) == busy
    assert sum(row.cost.time for row in by_source_line(profile)) == busy
    assert sum(row.own.time for row in by_module(profile)) == busy
    assert totals(profile).named <= totals(profile).events


def test_flops_and_bytes_of_lines_are_those_of_kernels():
    profile = made_up()
    kernels, lines = by_kernel(profile), by_source_line(profile)

    for what in ("flops", "nbytes", "least"):
        whole = sum(getattr(row.cost, what) for row in kernels)
        assert sum(getattr(row.cost, what) for row in lines) == pytest.approx(whole)


def test_totals_say_how_many_kernels_name_a_line():
    found = totals(made_up(layers=3, steps=2, threads=2))

    assert (found.steps, found.kernels, found.events) == (2, 31, 124)
    assert found.coverage == 1
    assert found.busy < found.wall


def test_a_kernel_without_a_line_lowers_coverage():
    profile = small()
    profile.events.append(Event("kernel", "other", 95, 96))

    assert totals(profile).coverage == 0.8


def test_allocations_are_counted_for_their_line():
    profile = made_up(layers=1, steps=1)
    given = [event for event in profile.events if event.kind == "alloc"]
    rows = [row for row in by_source_line(profile) if row.file == FILE]

    assert sum(row.allocations for row in rows) == len(given)
    assert sum(row.allocated for row in rows) == sum(event.nbytes for event in given)


def test_nothing_at_all_can_be_reported():
    empty = Profile(MachineLimits("m", 1, 1e9, 1e9))

    assert by_kernel(empty) == by_source_line(empty) == []
    assert [row.module for row in by_module(empty)] == [""]
    assert totals(empty).coverage == 1


def test_a_path_has_those_above_it():
    assert paths_to("") == [""]


def test_members_of_a_batch_have_parts_of_its_time():
    members = tuple(replace(ADD, id=k, nbytes=k * 100, flops=0) for k in (1, 3))
    batch = replace(ADD, id=9, nbytes=400, members=members)
    runs = [Event("kernel", "batch", 10 * k, 10 * k + 8, record=9) for k in range(2)]

    (row,) = by_kernel(Profile(CPU, {9: batch}, runs))

    assert [(each.record, each.cost.time, each.cost.calls) for each in row.members] == [
        (1, 4.0, 2),
        (3, 12.0, 2),
    ]
    assert [each.cost.nbytes for each in row.members] == [200, 600]
