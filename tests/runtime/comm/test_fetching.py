"""Large messages are read from where they lie, unless their sender has given them up by then."""

from __future__ import annotations

import sys

from tests.distributed.on_tcp import started

WITHDRAWN = """
import datetime, pathlib, sys, time
import numpy as np
import gnomon as gn
import gnomon.distributed as dist
from gnomon.errors import CollectiveError
given_up, over = (pathlib.Path(sys.argv[1]) / name for name in ("given_up", "over"))
held = np.ones(1 << 20, np.float32)
x = gn.from_numpy(held)
dist.init_process_group(timeout=datetime.timedelta(seconds=2))
if dist.get_rank():
    while not given_up.exists():
        time.sleep(0.01)
    try:
        dist.recv(gn.empty(1 << 20), 0)
    except CollectiveError as cause:
        print(cause)
    over.touch()
else:
    try:
        dist.send(x, 1)
    except CollectiveError:
        held[:] = 7
        given_up.touch()
    while not over.exists():
        time.sleep(0.01)
"""


def test_what_its_sender_gave_up_is_not_read_as_a_message(tmp_path):
    processes = started([sys.executable, "-c", WITHDRAWN, str(tmp_path)], 2, GNOMON_BACKEND="node")
    _, (told, errors) = (p.communicate(timeout=60) for p in processes)

    assert [p.returncode for p in processes] == [0, 0], errors
    assert told == (
        "rank 1: along mesh axis 'world' another rank gave up what is received here. "
        "Look at what it raised.\n"
    )
