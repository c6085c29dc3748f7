"""Ranks that share memory: what can't be read; all else is in test_processes_agree.py."""

from __future__ import annotations

import sys

from gnomon.runtime.comm.node import NodeLink
from gnomon.runtime.comm.threads import ThreadLink, World
from tests.distributed.on_tcp import started

SHUT = """
import ctypes, mmap
import gnomon as gn
import gnomon.distributed as dist
dist.init_process_group()
x = gn.ones(1 << 20)
if dist.get_rank():
    start = -(-x.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
    assert not ctypes.CDLL(None).mprotect(ctypes.c_void_p(start), mmap.PAGESIZE, 0)
    dist.send(x, 0)
else:
    dist.recv(x, 1)
"""


def test_memory_that_the_system_shuts_is_named():
    processes = started([sys.executable, "-c", SHUT], 2, GNOMON_BACKEND="node")
    (_, errors), _ = (p.communicate(timeout=60) for p in processes)

    assert [p.returncode for p in processes] == [1, 1]
    assert "rank 0: along mesh axis 'world' memory of another rank can't be read: Bad" in errors


def test_a_conversation_that_is_over_is_waited_for_no_more():
    talk = ThreadLink(World(1).backend(0), "data", (0,), ((0,), 1))
    link = NodeLink.__new__(NodeLink)
    link._talk, link.talk = talk, lambda precise: "the first run of a program"

    assert link.tell(b"told") == [b"told"]
    assert talk.waiting() == ""
