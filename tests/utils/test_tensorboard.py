"""Event files hold what was given, tensors as numbers."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import gnomon as gn

pytest.importorskip("tensorboardX", reason="needs tensorboardX: pip install tensorboardX")


def events_in(folder: Path) -> list:
    """The events of the one file there: records of a length, its checksum, bytes, theirs."""
    from tensorboardX.proto.event_pb2 import Event

    (path,) = folder.iterdir()
    content, found = path.read_bytes(), []
    while content:
        (size,) = struct.unpack("<Q", content[:8])
        found.append(Event.FromString(content[12 : 12 + size]))
        content = content[16 + size :]
    return found


def test_scalars_and_histograms_of_tensors_are_written(tmp_path):
    from gnomon.utils.tensorboard import SummaryWriter

    with SummaryWriter(str(tmp_path)) as writer:
        writer.add_scalar("loss", gn.tensor(0.5, requires_grad=True) * 1, 3)
        writer.add_histogram("weights", gn.arange(10), 4)
        with pytest.warns(UserWarning, match="add_graph: no graph is written"):
            writer.add_graph(gn.nn.Linear(2, 2))
    told = {(v.tag, e.step): v for e in events_in(tmp_path) for v in e.summary.value}

    assert set(told) == {("loss", 3), ("weights", 4)}
    assert told["loss", 3].simple_value == 0.5
    assert told["weights", 4].histo.num == 10
