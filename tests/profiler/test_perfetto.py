"""Perfetto traces: what a reader of packets finds, ours and one of the published format."""

from __future__ import annotations

import struct

import pytest
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as published

from gnomon.profiler.model import Event, Profile
from gnomon.profiler.perfetto import pieces, write_perfetto
from tests.drawn import examples, given
from tests.profiler.packets import fields, values
from tests.profiler.profiles import CPU, one_run, profiles

pytestmark = pytest.mark.unit

BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


def perfetto(profile: Profile | list[Profile]) -> bytes:
    """The bytes of a Perfetto trace."""
    return b"".join(pieces(profile))


def packets(trace: bytes) -> list[dict[int, int | bytes]]:
    """The packets of a trace, each as its fields by number."""
    assert {field for field, _ in fields(trace)} <= {1}
    return [dict(fields(packet)) for packet in values(trace, 1)]


def events(trace: bytes) -> list[tuple[int, dict[int, int | bytes], bytes]]:
    """The events of a trace: time, fields by number, all of it."""
    return [(p[8], dict(fields(p[11])), p[11]) for p in packets(trace) if 11 in p]


def words(trace: bytes, table: int) -> dict[int, bytes]:
    """What is named by number."""
    found = [values(p[12], table) for p in packets(trace) if 12 in p]
    return {dict(fields(x))[1]: dict(fields(x)).get(2, b"") for x in found[0]}


def opened(trace: bytes, name: str) -> list[tuple[int, dict[int, int | bytes], bytes]]:
    """The slices of a name."""
    names = words(trace, 2)
    return [x for x in events(trace) if x[1][9] == BEGIN and names[x[1][10]] == name.encode()]


def test_a_kernel_has_its_source_line_and_its_speed():
    trace = perfetto(one_run())
    time, kernel, whole = opened(trace, "map_add")[0]
    (lines,) = [values(p[12], 4) for p in packets(trace) if 12 in p]
    keys = words(trace, 3)
    said = {keys[dict(fields(x))[1]]: dict(fields(x)) for x in values(whole, 4)}

    assert time == 2000
    assert (2, b"train.py") in fields(lines[kernel[34] - 1])
    assert (4, 7) in fields(lines[kernel[34] - 1])
    assert struct.unpack("<d", struct.pack("<Q", said[b"GB/s"][5])) == (2.0,)
    assert said[b"flops"][4] == 600


def test_an_arrow_leads_from_the_run_to_each_of_its_kernels():
    trace = perfetto(one_run())
    ((_, _, run),) = opened(trace, "train")
    landed = [values(kernel, 48) for _, _, kernel in opened(trace, "map_add")]

    assert values(run, 47) == [flow for (flow,) in landed]
    assert len(set(values(run, 47))) == 2


def test_live_bytes_are_a_counter():
    curve = [(time, event[30]) for time, event, _ in events(perfetto(one_run())) if event[9] == 4]

    assert curve == [(1500, 64), (7000, 0)]


def test_ranks_stand_in_one_trace_with_their_labels():
    run = [Event("step", "step", 1000, 3000)]
    late = Profile(CPU, events=run, rank=1, world=2, clock_offset=500)

    trace = perfetto([late, Profile(CPU, events=run, world=2)])
    processes = [x for p in packets(trace) if 60 in p for x in values(p[60], 3)]

    assert [time for time, _, _ in opened(trace, "step")] == [1000, 1500]
    assert [b"rank=1" in values(x, 8) for x in processes] == [False, True]


def test_a_file_is_written(tmp_path):
    write_perfetto(one_run(), tmp_path / "trace.pftrace")

    assert (tmp_path / "trace.pftrace").read_bytes() == perfetto(one_run())


@examples(40)
@given(profiles(), profiles(rank=1, world=2))
def test_any_profile_gives_a_sound_trace(first, second):
    for chosen, count in ((first, len(first.events)), ([second, first], None)):
        trace = perfetto(chosen)
        tracks = {dict(fields(p[60]))[1] for p in packets(trace) if 60 in p}
        tables = {table: words(trace, table) for table in (1, 2, 3, 4, 29)}
        sound(trace, tracks, tables)
        if count is not None:
            assert sum(event[9] in (BEGIN, INSTANT) for _, event, _ in events(trace)) == count


def sound(trace: bytes, tracks: set, tables: dict) -> None:
    """Slices of a track open and close in time, and what is named by number is there."""
    open_ = dict.fromkeys(tracks, 0)
    left: set[int] = set()
    clock = dict.fromkeys(tracks, 0)
    for time, event, whole in events(trace):
        track = event[11]
        assert time >= clock[track]
        clock[track] = time
        open_[track] += {BEGIN: 1, END: -1}.get(event[9], 0)
        assert open_[track] >= 0
        if event[9] in (BEGIN, INSTANT):
            assert tables[1][event[3]]
            assert tables[2][event[10]]
            assert event.get(34, 1) in tables[4] or 34 not in event
            assert all(dict(fields(x))[1] in tables[3] for x in values(whole, 4))
        left |= set(values(whole, 47))
        assert len(values(whole, 48)) <= 1
    assert not any(open_.values())
    assert {x for _, _, whole in events(trace) for x in values(whole, 48)} == left


def test_the_published_format_reads_it():
    trace = published.Trace.FromString(perfetto(one_run()))
    kernels = [p.track_event for p in trace.packet if p.track_event.terminating_flow_ids]
    names = {x.iid: x.name for x in trace.packet[0].interned_data.event_names}
    lines = {x.iid: x for x in trace.packet[0].interned_data.source_locations}
    keys = {x.iid: x.name for x in trace.packet[0].interned_data.debug_annotation_names}
    said = {keys[x.name_iid]: x for x in kernels[0].debug_annotations}

    assert [names[kernel.name_iid] for kernel in kernels] == ["map_add", "map_add"]
    assert kernels[0].type == published.TrackEvent.TYPE_SLICE_BEGIN
    assert lines[kernels[0].source_location_iid].file_name == "train.py"
    assert lines[kernels[0].source_location_iid].line_number == 7
    assert (said["bytes"].int_value, said["GB/s"].double_value) == (3200, 2.0)
    assert len(said["shapes"].array_values) == 2
    assert {p.track_descriptor.thread.thread_name for p in trace.packet} >= {"thread 0", "thread 1"}
    assert not any(list(unknown(p)) for p in trace.packet)


@examples(40)
@given(profiles())
def test_the_published_format_knows_every_field_of_any_profile(profile):
    trace = published.Trace.FromString(perfetto(profile))

    assert not any(list(unknown(packet)) for packet in trace.packet)


def unknown(message) -> list:
    """The fields of a message that the published format has not."""
    found = list(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is not None:
            several = value if field.is_repeated else [value]
            found += [x for each in several for x in unknown(each)]
    return found
