"""Folds of what lies elsewhere: what can't be read, and what was given up, is told."""

from __future__ import annotations

import sys

from tests.distributed.on_tcp import started

FOLDED = """
import ctypes, datetime, mmap, pathlib, sys, time
import numpy as np
import gnomon as gn
import gnomon.distributed as dist
from gnomon.distributed import functional as F
from gnomon.errors import CollectiveError
dist.init_process_group(timeout=datetime.timedelta(seconds=float(sys.argv[2])))
held = np.ones(1 << 18, np.float32)
x, rank = gn.from_numpy(held), dist.get_rank()
total = gn.compile(lambda x: F.reduce_scatter_tensor(x, "sum", 0, dist.group.WORLD))
assert total(x).tolist() == [2.0] * (1 << 17)
given_up, over = (pathlib.Path(sys.argv[1]) / name for name in ("given_up", "over"))
"""

SHUT = """
if rank:
    start = -(-x.data_ptr() // mmap.PAGESIZE) * mmap.PAGESIZE
    assert not ctypes.CDLL(None).mprotect(ctypes.c_void_p(start), mmap.PAGESIZE, 0)
total(x)
"""

WITHDRAWN = """
def once():
    try:
        total(x).tolist()
    except CollectiveError as cause:
        print(cause, flush=True)
if rank:
    while not given_up.exists():
        time.sleep(0.01)
    once()
    over.touch()
else:
    once()
    held[:] = 7
    given_up.touch()
    while not over.exists():
        time.sleep(0.01)
"""


def test_what_can_not_be_read_is_told(tmp_path):
    words = [sys.executable, "-c", FOLDED + SHUT, str(tmp_path), "30"]
    processes = started(words, 2, GNOMON_BACKEND="node")
    (_, errors), _ = (p.communicate(timeout=120) for p in processes)

    assert [p.returncode for p in processes] == [1, 1]
    assert "memory of another rank can't be read: Bad address" in errors


def test_what_its_sender_gave_up_is_not_folded(tmp_path):
    words = [sys.executable, "-c", FOLDED + WITHDRAWN, str(tmp_path), "3"]
    processes = started(words, 2, GNOMON_BACKEND="node")
    _, (told, errors) = (p.communicate(timeout=120) for p in processes)

    assert [p.returncode for p in processes] == [0, 0], errors
    assert "another rank gave up what is received here. Look at what it raised." in told
