"""What the machine offers, and holding it to less."""

from __future__ import annotations

import pytest

from gnomon.errors import ConfigError
from gnomon.runtime import device
from gnomon.settings import override

pytestmark = pytest.mark.unit


def test_the_host_has_a_known_kind_of_vectors():
    target = device.host()

    assert device.SHAPES[target.name] == (target.registers, target.vector_bits)


def test_kinds_follow_from_features(monkeypatch):
    monkeypatch.setattr(device.platform, "machine", lambda: "x86_64")
    wide = dict.fromkeys((*device.AVX512, *device.AVX2), True)

    assert device.kind_of(wide) == "avx512"
    assert device.kind_of({**wide, "avx512vl": False}) == "avx2"
    assert device.kind_of({**wide, "avx512vl": False, "fma": False}) == "sse2"


def test_a_limit_to_avx2_leaves_what_every_such_processor_has(monkeypatch):
    features = {**dict.fromkeys((*device.AVX512, *device.AVX2, "amx-tile", "avx10.1"), True)}
    monkeypatch.setattr(device, "host_features", lambda: features)
    monkeypatch.setattr(device.platform, "machine", lambda: "x86_64")
    device.host.cache_clear()

    target = device.host("avx2")
    device.host.cache_clear()

    assert (target.cpu, target.features) == ("x86-64-v3", "+avx2,+fma")
    assert (target.registers, target.vector_bits) == (16, 256)
    assert target.has("avx2")
    assert not target.has("avx512f")


def test_what_the_machine_lacks_is_refused_by_name():
    lacking = "avx2" if device.host().name == "neon" else "neon"

    with override(cpu_features=lacking), pytest.raises(ConfigError, match=f'"{lacking}" is not'):
        device.target()


def test_foreign_targets_are_of_their_kind():
    for name in device.FOREIGN:
        assert device.foreign(name).name == name
