"""Strangers' programs run unmodified under `gnomon run` to the line that PyTorch reaches.

GNOMON_PACKAGES_SOURCES names the folder of their sources, GNOMON_PACKAGES_PYTHON the Python of an
environment with PyTorch and the packages that they import: run.py says what these hold. Without the
first, only the list itself is checked.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from tests.packages.data import WRITERS
from tests.packages.programs import DOUBLE, OWN, Program, read_programs, read_sources
from tests.packages.run import (
    Place,
    environment,
    farthest,
    numbers_of,
    run_program,
    why_stopped,
)

HERE = Path(__file__).parent
PROGRAMS = read_programs()
PLACE = Place(
    Path(os.environ.get("GNOMON_PACKAGES_SOURCES", "")),
    os.environ.get("GNOMON_PACKAGES_PYTHON", sys.executable),
    limit=250.0,
)


@pytest.mark.packages
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_program_runs_to_its_last_line_with_torchs_curve(program: Program):
    theirs = run_program(program, "torch", PLACE)
    if not theirs.reached:
        pytest.skip(f"stops under torch too: {theirs.stopped_by}")

    ours = run_program(program, "gnomon", PLACE)

    assert ours.reached, ours.stopped_by
    assert farthest(ours.curve, theirs.curve) <= 1.0


@pytest.mark.unit
def test_the_list_names_sixty_programs_each_once_with_its_source():
    names = [program.name for program in PROGRAMS]

    assert len(names) >= 60
    assert len(set(names)) == len(names)
    assert {program.source for program in PROGRAMS} == set(read_sources())


@pytest.mark.unit
def test_what_the_list_says_can_be_read():
    for program in PROGRAMS:
        assert shlex.split(program.command)
        assert set(program.needs) <= set(WRITERS)
        re.compile(program.last)
        assert re.compile(program.curve).groups <= 1


@pytest.mark.unit
def test_a_run_hears_in_which_precision_curves_are_compared():
    single, double = (Program("", "scripts", "", double=wide) for wide in (False, True))

    assert [environment(x, HERE)[DOUBLE] for x in (single, double)] == ["0", "1"]


@pytest.mark.unit
def test_our_own_programs_are_here_and_each_is_in_the_list():
    named = {program.command.split()[0] for program in PROGRAMS if program.source == OWN}

    assert {path.name for path in (HERE / OWN).glob("*.py")} == named | {"steps.py"}


@pytest.mark.unit
def test_curves_are_equal_within_a_hundred_thousandth_or_a_printed_place():
    assert farthest(["1.00001", "0.6931"], ["1.0", "0.6930"]) <= 1.0
    assert farthest(["0.693155"], ["0.693147"]) <= 1.0
    assert farthest(["0.693187"], ["0.693147"]) > 1.0
    assert farthest(["1.0"], ["1.0", "2.0"]) == float("inf")
    assert farthest(["nan"], ["nan"]) == 0.0


@pytest.mark.unit
def test_numbers_of_a_curve_follow_the_word_loss():
    line = "[Epoch 0/1] [Batch 3/32] [D loss: 0.693147] [G loss: -1.5e-03] loss  6.22"

    assert numbers_of(PROGRAMS[0].curve, line) == ["0.693147", "-1.5e-03", "6.22"]


@pytest.mark.unit
def test_the_last_error_tells_why_a_program_stopped():
    lines = ["Traceback (most recent call last):", "ValueError: too wide", "PyTorch's names", ""]

    assert why_stopped(lines, 1) == "ValueError: too wide"
    assert why_stopped(lines, -9) == "out of time"
    assert why_stopped([], 3) == "exit code 3"
