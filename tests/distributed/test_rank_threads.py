"""A script as ranks that are threads: each its own globals, one exit code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
import gnomon as gn
from gnomon.distributed.backends import connected
from gnomon.distributed.device_mesh import DeviceMesh
from gnomon.distributed.placing import split_rows
from gnomon.distributed.ranks import connect
from gnomon.runtime.comm import here

backend = connected()
mesh = DeviceMesh.of({"data": backend.size})
with here.along(connect(mesh, backend)):
    total = gn.compile(lambda x: split_rows(x, mesh, "data").sum())
    print(f"{backend.rank} {total(gn.ones(6, 5)).item()} {sys.argv[1:]}\\n", end="", flush=True)
    total(gn.ones(6, 5)).item()  # ends on a rank once all have said their line
    if backend.rank == 1 and "raise" in sys.argv:
        raise ValueError("no paper")
    total(gn.ones(6, 5)).item()
"""


def ran(tmp_path: Path, *words: str) -> subprocess.CompletedProcess:
    """A script that two threads ran."""
    (tmp_path / "script.py").write_text(SCRIPT)
    launch = [sys.executable, "-m", "gnomon", "launch", "-n", "2", "--backend", "threads"]
    command = [*launch, "script.py", *words]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)


def test_threads_are_ranks(tmp_path: Path):
    done = ran(tmp_path, "-n", "3")

    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["0 30.0 ['-n', '3']", "1 30.0 ['-n', '3']"]


def test_a_thread_that_raises_ends_all(tmp_path: Path):
    done = ran(tmp_path, "raise")

    assert done.returncode == 1
    assert "rank 1: Traceback" in done.stderr
    assert "ValueError: no paper" in done.stderr
    assert "rank 1: its last collective: all_reduce along 'data'" in done.stderr
