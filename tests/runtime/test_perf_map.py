"""perf finds kernels by address, size and name."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gnomon.runtime import cpu, device, perf_map
from tests.house import ROOT

PROGRAM = """
import gnomon as gn
from gnomon.runtime.perf_map import path
f = gn.compile(lambda x, w: (x @ w).softmax(-1))
for _ in range(2):
    f(gn.ones(40, 30), gn.ones(30, 20)).tolist()
print(path())
"""
TEXT = """
define void @short_one() {
  ret void
}
define i64 @long_one(i64 %x) {
  %y = mul i64 %x, %x
  %z = add i64 %y, 7
  ret i64 %z
}
"""


def test_sizes_are_those_of_the_symbol_table():
    (code,) = cpu.compile_kernels([TEXT], device.host())
    if code[:4] != b"\x7fELF":
        pytest.skip("sizes are read from ELF files, and perf is Linux's; this system has others")

    sizes = perf_map.sizes_of(code)

    assert set(sizes) == {"short_one", "long_one"}
    assert 0 < sizes["short_one"] < sizes["long_one"] < len(code)


@pytest.mark.unit
def test_other_files_have_no_sizes():
    assert perf_map.sizes_of(b"MZ and so on") == {}


@pytest.mark.parametrize("keep", ["0", "1"])
def test_each_kernel_is_listed_once_by_its_name(tmp_path, keep):
    settings = {
        "GNOMON_PERF_MAP": "1",
        "GNOMON_CACHE_DIR": str(tmp_path),
        "GNOMON_KEEP_PROGRAMS": keep,
        "PYTHONPATH": str(ROOT),
    }
    for _ in range(2):
        command = [sys.executable, "-c", PROGRAM]
        made = subprocess.run(
            command, check=True, env={**os.environ, **settings}, capture_output=True, text=True
        )
        place = Path(made.stdout.strip())
        rows = [row.split() for row in place.read_text(encoding="utf-8").splitlines()]
        place.unlink()

        names = [name for _, _, name in rows]
        assert len(names) == len(set(names)) >= 2
        assert any("softmax" in name for name in names)
        assert all(int(address, 16) > 1 << 20 and int(size, 16) > 1 for address, size, _ in rows)


BUSY = """
import gnomon as gn
x, w = gn.ones(256, 256), gn.ones(256, 256)
f = gn.compile(lambda x, w: x @ w)
for _ in range(1000):
    f(x, w)
"""


def test_perf_shows_kernels_and_their_parts_by_name(tmp_path):
    perf, samples = shutil.which("perf"), tmp_path / "samples"
    if perf is None:
        pytest.skip("needs Linux's perf")
    settings = {"GNOMON_PERF_MAP": "1", "PYTHONPATH": str(ROOT), "GNOMON_CACHE_DIR": str(tmp_path)}
    record = [perf, "record", "-e", "cpu-clock", "-o", samples, sys.executable, "-c", BUSY]
    done = subprocess.run(record, env={**os.environ, **settings}, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"perf may not sample here: {done.stderr.strip()[-200:]}")

    report = [perf, "report", "-i", samples, "--stdio", "--sort", "symbol"]
    told = subprocess.run(report, check=True, capture_output=True, text=True).stdout

    assert "contract:" in told
    assert "contract.part:" in told
