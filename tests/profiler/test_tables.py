"""Tables for a terminal say what reports hold."""

import pytest
from msgspec.structs import replace
from rich.console import Console

from gnomon.profiler.memory import memory_timeline
from gnomon.profiler.model import Event, MachineLimits, Profile
from gnomon.profiler.tables import (
    kernel_table,
    line_table,
    memory_table,
    module_table,
    short_path,
    summary,
)
from tests.profiler.profiles import ADD, CPU
from tests.profiler.synthetic import made_up

pytestmark = pytest.mark.unit

EMPTY = Profile(MachineLimits("m", 1, 1e9, 1e9))


def shown(table, width=130) -> str:
    """A table as text."""
    console = Console(width=width, highlight=False)
    with console.capture() as caught:
        console.print(table)
    return caught.get()


def test_the_costliest_line_comes_first_with_its_text():
    rows = shown(line_table(made_up())).splitlines()

    assert rows[0].split()[:4] == ["kernels", "time", "of", "all"]
    assert "somebody/model.py:13  return x + self.down(" in rows[1]
    assert "(no line)" in "\n".join(rows)


def test_figures_keep_their_place_in_a_narrow_terminal():
    rows = shown(line_table(made_up()), width=80).splitlines()

    assert "roofline" in rows[0]
    assert "µs" in rows[3]


def test_parts_of_the_model_are_indented_under_their_wholes():
    rows = shown(module_table(made_up(layers=2))).splitlines()[1:]
    start = rows[0].index("all")

    assert [row[start:].rstrip() for row in rows[:4]] == ["all", "  layers", "    0", "      norm"]


def test_kernels_name_their_first_line():
    assert "somebody/model.py:13 in layers.0.up and 1 more" in shown(kernel_table(made_up()))


def test_the_peak_names_the_lines_of_its_buffers():
    first = shown(memory_table(memory_timeline(made_up()))).splitlines()[1]

    assert first.split() == ["1.20", "MB", "10%", "step_adamw", "somebody/model.py:19"]


def test_nothing_can_be_shown():
    assert shown(line_table(EMPTY)).count("\n") == 1
    assert summary(EMPTY) == "0.00 µs in kernels; 0 kernels, 100.0% of 0 events name a line"


def test_a_file_here_has_its_path_from_here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert short_path(str(tmp_path / "a" / "b" / "c.py")) == "a/b/c.py"
    assert short_path("train.py") == "train.py"


def test_a_profile_in_a_line_tells_steps_and_what_of_them_is_kernels():
    told = summary(made_up(layers=1, steps=2))

    assert told.startswith("2 steps of ")
    assert ", of which " in told
    assert told.endswith("in kernels; 11 kernels, 100.0% of 44 events name a line")


def test_a_batch_is_followed_by_its_largest_members():
    members = tuple(replace(ADD, id=k, nbytes=100 * k) for k in range(1, 6))
    batch = replace(ADD, id=9, nbytes=1500, members=members)
    run = Event("kernel", "batch", 0, 15_000, record=9)

    rows = shown(kernel_table(Profile(CPU, {9: batch}, [run]))).splitlines()

    assert rows[1].startswith("map_add (5)")
    assert [row.split()[:3] for row in rows[2:5]] == [
        ["map_add", time, "µs"] for time in ("5.00", "4.00", "3.00")
    ]
    assert "by bytes" in rows[5]
