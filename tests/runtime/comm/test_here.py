"""Which groups a thread, and which a process, has."""

from __future__ import annotations

import pytest

from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.ranks import connect
from gnomon.errors import CollectiveError
from gnomon.runtime.comm import here
from gnomon.runtime.comm.threads import World

pytestmark = pytest.mark.unit


def test_groups_hold_inside_their_context():
    links = connect(DeviceMesh.of({"data": 1}), World(1).backend(0))

    with here.along(links):
        assert here.link_along("data") is links["data"]
    assert "data" not in here.links()


def test_a_mesh_axis_that_is_not_there_is_named():
    with pytest.raises(CollectiveError, match="no mesh axis 'tensor' here: there is none"):
        here.link_along("tensor")


def test_a_process_has_groups_for_all_its_threads(monkeypatch):
    monkeypatch.setattr(here, "_of_process", {})
    links = connect(DeviceMesh.of({"data": 1}), World(1).backend(0))

    here.settle(links)

    assert here.link_along("data") is links["data"]
