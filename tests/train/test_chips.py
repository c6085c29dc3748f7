"""Chips: a table of public figures, and the machine that asks."""

from __future__ import annotations

import pytest

from gnomon.distributed.mesh import mesh_of
from gnomon.errors import ConfigError
from gnomon.runtime.system import memory_bytes
from gnomon.train.chips import CHIPS, chip_of

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", CHIPS)
def test_links_inside_a_node_are_faster(name: str):
    chip = chip_of(name)

    assert chip.inside > chip.between > 0
    assert chip.flops > chip.bandwidth > chip.inside / 2


def test_an_axis_that_leaves_a_node_goes_by_the_network():
    chip = CHIPS["h100"]

    assert chip.links(mesh_of("data=2,shard=2,tensor=8")) == {
        "data": chip.between,
        "shard": chip.between,
        "tensor": chip.inside,
    }
    assert chip.links(mesh_of("data=2,tensor=4")) == {"data": chip.inside, "tensor": chip.inside}


def test_this_is_the_machine_here():
    chip = chip_of("this")

    assert chip.flops > 1e9
    assert chip.bandwidth > 1e8
    assert chip.memory == memory_bytes()


def test_an_unknown_chip_is_refused_with_those_that_there_are():
    with pytest.raises(ConfigError, match=r"--chip h10 .*did you mean h100\? There is a100, "):
        chip_of("h10")
