"""The page is given all of a profile, each name once."""

import msgspec
import numpy as np
import pytest

from gnomon.profiler.model import MachineLimits, Profile
from gnomon.profiler.packing import MOST_POINTS, packed, thin_curve
from gnomon.profiler.reports import by_source_line
from tests.profiler.synthetic import FILE, made_up

pytestmark = pytest.mark.unit


def test_columns_are_of_one_length():
    profile = made_up()
    found = packed(profile)

    assert {len(column) for column in found["records"].values()} == {len(profile.records)}
    columns = ("kind", "name", "since", "took", "thread", "record")
    moved = sum(event.kind not in ("alloc", "free") for event in profile.events)
    assert {len(found["events"][name]) for name in columns} == {moved}


def test_names_and_lines_stand_once():
    found = packed(made_up(layers=9))

    for name in ("text", "lines", "ops", "buffers"):
        values = list(map(str, found[name]))
        assert len(values) == len(set(values))


def test_events_are_found_again_by_their_place():
    profile = made_up()
    found = packed(profile)
    kept = [event for event in profile.events if event.kind not in ("alloc", "free")]

    starts = np.cumsum(found["events"]["since"]) + min(e.start for e in profile.events)
    assert starts.tolist() == [event.start for event in kept]
    ids = [found["records"]["id"][n] if n >= 0 else None for n in found["events"]["record"]]
    assert ids == [event.record for event in kept]


def test_lines_have_the_report_of_lines():
    profile = made_up()
    found = packed(profile)

    first, row = found["rows"][0], by_source_line(profile)[0]
    assert (found["text"][first[0]], first[1], first[3]) == (FILE, row.line, round(row.cost.time))


def test_a_profile_of_nothing_can_be_packed():
    msgspec.json.encode(packed(Profile(MachineLimits("m", 1, 0.0, 0.0))))


def test_a_long_curve_keeps_its_peaks_and_valleys(rng):
    times, live = np.arange(50_000), rng.integers(0, 1000, 50_000)
    live[31_234], live[777] = 5000, -5

    few, kept = thin_curve(times, live)

    assert len(few) <= MOST_POINTS + 2
    assert {5000, -5} <= set(kept.tolist())
    assert (np.diff(few) > 0).all()
