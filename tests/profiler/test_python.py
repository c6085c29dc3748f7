"""Functions of the user's are timed while they are captured, and nobody else is disturbed."""

from __future__ import annotations

import cProfile
import pstats
import subprocess
import sys
import time

import pytest
from coverage import CoverageData

import gnomon as gn
from gnomon.profiler.python import profile_compile
from gnomon.profiler.store import read_profile
from tests.children import environment

# a function that sleeps is captured anew by each call, and says so
pytestmark = pytest.mark.filterwarnings("ignore:compile. <lambda>. `time.sleep`")
HERE = __file__
MONITORS = hasattr(sys, "monitoring")


def slow(x):
    """Takes long to capture."""
    time.sleep(0.02)
    return x * 2


def quick(x):
    """Does not."""
    return slow(x) + 1


def times():
    """The rows of a capture, by the function's name."""
    f = gn.compile(lambda x: quick(x).exp())
    with profile_compile() as made:
        f(gn.ones(3))
    return {row.function: row for row in made.rows if row.file == HERE}


def test_time_is_that_of_the_function_that_takes_it():
    rows = times()

    assert rows["slow"].own >= 0.02
    assert rows["quick"].whole >= rows["slow"].whole
    assert rows["quick"].own < rows["slow"].own
    assert (rows["slow"].calls, rows["slow"].line) == (1, slow.__code__.co_firstlineno)


def test_what_fails_inside_is_counted_and_ended():
    def fails():
        raise ValueError

    with profile_compile() as made, pytest.raises(ValueError):
        fails()

    assert sys.getprofile() is None
    assert any("fails" in row.function for row in made.rows)


def test_functions_that_call_themselves_count_once_in_whole():
    def down(n):
        time.sleep(0.002)
        return n and down(n - 1)

    with profile_compile() as made:
        down(3)
    (row,) = [row for row in made.rows if "down" in row.function]

    assert row.calls == 4
    assert row.whole < 2 * row.own


def test_beside_cprofile_both_are_whole_or_the_owner_is_named():
    other = cProfile.Profile()
    other.enable()
    try:
        if MONITORS:
            rows = times()
            assert rows["slow"].own >= 0.02
        else:
            with pytest.warns(UserWarning, match="another profiling tool is active"):
                assert times() == {}
    finally:
        other.disable()

    assert any(name == "slow" for _, _, name in pstats.Stats(other).stats)


@pytest.mark.skipif(not MONITORS, reason="sys.monitoring came with Python 3.12")
def test_without_a_free_number_the_owners_are_named():
    taken = [k for k in range(6) if sys.monitoring.get_tool(k) is None]
    for k in taken:
        sys.monitoring.use_tool_id(k, f"tool {k}")
    try:
        with pytest.warns(UserWarning, match=r"active: .*tool 3"):
            assert times() == {}
    finally:
        for k in taken:
            sys.monitoring.free_tool_id(k)
    assert times()["slow"].calls == 1


@pytest.mark.parametrize("tool", ["cProfile", "setprofile", "settrace", "ours"])
def test_kernels_are_recorded_beside_other_tools(tool):
    seen = []

    def hear(frame, event, value):
        seen.append(event)

    def record():
        with gn.profiler.profile() as inner:
            (gn.ones(30, 30) @ gn.ones(30, 30)).sum().item()
        return inner.data

    if tool == "cProfile":
        other = cProfile.Profile()
        data = other.runcall(record)
        seen = list(pstats.Stats(other).stats)
    elif tool == "ours":
        with gn.profiler.profile() as outer:
            data = record()
        seen = [e for e in outer.data.events if e.kind == "kernel"]
        assert len(seen) >= len([e for e in data.events if e.kind == "kernel"])
    else:
        begin = getattr(sys, tool)
        before = sys.gettrace() if tool == "settrace" else sys.getprofile()
        begin(hear)
        try:
            data = record()
        finally:
            begin(before)

    assert seen
    kernels = [e for e in data.events if e.kind == "kernel"]
    assert kernels
    assert all(data.records[e.record].lines[0].file == HERE for e in kernels)


STEP = """\
import sys
import gnomon as gn

model = gn.nn.Linear(3, 2)
optimizer = gn.optim.SGD(model.parameters(), lr=0.1)


@gn.compile
def step(x):
    optimizer.zero_grad()
    loss = model(x).sum()
    loss.backward()
    optimizer.step()
    return loss.detach()


def unused(x):
    return x + 1


with gn.profiler.profile() as made:
    for _ in range(3):
        step(gn.ones(4, 3)).item()
made.save(sys.argv[1])
"""


def test_coverage_and_a_profile_of_one_step_are_both_right(tmp_path):
    script, kept, made = (tmp_path / name for name in ("step.py", "coverage", "profile.json"))
    script.write_text(STEP, encoding="utf-8")
    command = [sys.executable, "-m", "coverage", "run", f"--data-file={kept}", script, made]
    subprocess.run(command, check=True, cwd=tmp_path, env=environment())

    found = CoverageData(str(kept))
    found.read()
    profile = read_profile(made)
    rows = STEP.splitlines()
    lines = {line for record in profile.records.values() for line in record.lines}

    ran = {rows[k - 1].strip() for k in found.lines(str(script)) if rows[k - 1].startswith(" ")}
    inner = {row.strip() for row in rows if row.startswith(" ")}
    assert ran == inner - {"return x + 1"}
    assert {line.file for line in lines} == {str(script)}
    assert {rows[line.line - 1].strip() for line in lines} == {
        "model = gn.nn.Linear(3, 2)",
        "loss = model(x).sum()",
        "optimizer.step()",
        "step(gn.ones(4, 3)).item()",
    }
