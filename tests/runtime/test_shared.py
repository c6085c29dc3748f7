"""Memory of several processes: mapped by its file, and gone with the last that has it."""

from __future__ import annotations

import ctypes
import os
from glob import glob

import pytest

from gnomon.runtime.shared import SharedMemory, without_name

pytestmark = pytest.mark.unit


def test_two_mappings_of_a_file_are_one_memory():
    mine = SharedMemory.new(5)
    its, other = SharedMemory(os.dup(mine.file), 5), SharedMemory.new(5)
    ctypes.memmove(its.address, b"first", 5)

    assert ctypes.string_at(mine.address, 5) == b"first"
    assert ctypes.string_at(other.address, 5) == bytes(5)
    assert mine.key == its.key != other.key
    assert mine.address != its.address


def test_memory_without_bytes_has_an_address():
    assert SharedMemory.new(0).address


def test_nothing_is_left_open(monkeypatch):
    before = len(os.listdir("/proc/self/fd"))
    kept = SharedMemory.new(1 << 20)
    assert len(os.listdir("/proc/self/fd")) == before + 1
    del kept

    monkeypatch.delattr(os, "memfd_create", raising=False)
    SharedMemory.new(3)
    assert not glob(f"/tmp/gnomon.{os.getpid()}.*")
    assert len(os.listdir("/proc/self/fd")) == before


def test_what_the_system_refuses_is_a_memory_error():
    file = without_name()

    with pytest.raises(MemoryError, match=r"share: no memory for [0-9]+ bytes: "):
        SharedMemory(file, 1 << 62)
