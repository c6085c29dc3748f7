"""`import gnomon` loads what a program needs and nothing else.

How long it takes is a figure, not a test: benchmarks/import_time.py.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("cyclopts", "hypothesis", "mpi4py", "pytest", "rich", "tokenizers", "torch", "triton")


@pytest.mark.unit
def test_importing_gnomon_loads_nothing_that_is_not_needed_yet():
    program = "import gnomon, sys; print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert run.returncode == 0, run.stderr
    assert not set(HEAVY) & set(run.stdout.split())
