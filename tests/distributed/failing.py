"""A rank's script in which rank 1 goes wrong in the way that its argument names. Not a test."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import gnomon as gn
from gnomon.distributed.backends import connected
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.placing import split_rows
from gnomon.distributed.ranks import connect
from gnomon.runtime.comm import here


@gn.compile
def mean(x: gn.Tensor) -> gn.Tensor:
    return split_rows(x, mesh, "data").mean()


@gn.compile
def total(x: gn.Tensor) -> gn.Tensor:
    return (split_rows(x, mesh, "data") * 3).sum(0)


@gn.compile
def largest(x: gn.Tensor) -> gn.Tensor:
    return split_rows(x, mesh, "data").amax(0)


def go_wrong(how: str) -> None:
    """What rank 1 does in place of what rank 0 does."""
    Path("wrong").write_text(str(time.time()))
    if how == "raises":
        raise ValueError("rank one is ill")
    if how in ("killed", "blocked"):
        time.sleep(0.5)
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "hangs":
        time.sleep(1000)
    if how == "blocked":
        (3).__pow__(10**9)
    if how == "never":
        sys.exit(0)
    if how == "shape":
        total(gn.ones(4, 7)).numpy()
    if how == "program":
        largest(gn.ones(4, 6)).numpy()


if __name__ == "__main__":
    backend = connected()
    mesh = DeviceMesh.of({"data": backend.size})
    here.settle(connect(mesh, backend))
    mean(gn.ones(4, 6)).item()
    if backend.rank == 1:
        go_wrong(sys.argv[1])
    how = sys.argv[1]
    if how in ("shape", "program"):
        total(gn.ones(4, 6)).numpy()
    mean(gn.ones(4, 6)).item()
