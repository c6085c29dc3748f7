"""The format of a profile: what is written is read again."""

import msgspec

from gnomon.profiler.model import Event, Line, MachineLimits, OpRecord, Profile, Record

HERE = Line("train.py", 7, "step", "layers.0", "backward")


def test_a_profile_survives_being_written():
    record = Record(1, "map_add", "k1", "step", (HERE,), (OpRecord("add", (HERE,)),), (), 4, 48)
    event = Event("kernel", "map_add", 10, 30, record=1, args={"of": 2})
    profile = Profile(MachineLimits("cpu", 2, 1e11, 2e10), {1: record}, [event], rank=1, world=2)
    assert msgspec.json.decode(msgspec.json.encode(profile), type=Profile) == profile
