"""The backend "reference": pages that are closed between runs, graphs that run as they are."""

from __future__ import annotations

import ctypes
import errno
import os

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import CompileError
from gnomon.runtime import events
from gnomon.runtime.backend import REFERENCE
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.runtime.reference import ClosedMemory, closed_memory


def can_read(buffer: DeviceBuffer) -> bool:
    """Whether the system can read a buffer's bytes for this process."""
    ends = os.pipe()
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        done = libc.write(ends[1], ctypes.c_void_p(buffer.address), ctypes.c_size_t(4))
        assert done == 4 or ctypes.get_errno() == errno.EFAULT
        return done == 4
    finally:
        list(map(os.close, ends))


@pytest.mark.parametrize("nbytes", [64, 3 << 20])
def test_pages_are_closed_but_while_somebody_has_them_opened(nbytes):
    memory = ClosedMemory()
    made = DeviceBuffer(nbytes, memory, zeros=True)

    with memory.opened(), memory.opened():
        assert can_read(made)
    with memory.opened():
        late = DeviceBuffer(nbytes + 4096, memory)
        assert can_read(late)

    assert not can_read(made)
    assert not can_read(late)
    assert made.numpy(np.uint8, (8,)).tolist() == [0] * 8


def test_a_read_is_a_copy_and_a_write_arrives():
    made = DeviceBuffer.of(np.arange(4, dtype=np.int32), closed_memory)
    seen = made.numpy(np.int32)
    seen[0] = 9

    made.memory.write(made, np.array([7], np.int32))

    assert made.numpy(np.int32).tolist() == [7, 1, 2, 3]
    assert made.copied().memory is made.part(4, 8).memory is closed_memory
    assert made.part(4, 8).numpy(np.int32).tolist() == [1, 2]


def test_nothing_is_given_back_to_the_system():
    memory = ClosedMemory()
    DeviceBuffer(3 << 20, memory)

    memory.trim()

    assert memory.use().reserved >= 3 << 20


def test_machine_code_is_refused():
    for use in (REFERENCE.kernels.compile, REFERENCE.kernels.link):
        with pytest.raises(CompileError, match="no machine code"):
            use({})
    assert REFERENCE.kernels.fetch({"a": "b"}) is None


def test_who_listens_is_told_of_each_call():
    x, heard = gn.ones(3, device="reference"), []
    stop = events.subscribe(lambda kind, fields: heard.append((kind, fields)))
    try:
        (x + 1).exp().tolist()
    finally:
        stop()

    (run,) = [fields for kind, fields in heard if kind == "run"]
    (rows,) = run["records"]
    assert len(rows) == len(run["program"].steps) > 1
    assert (rows[:, 2] >= rows[:, 1]).all()
