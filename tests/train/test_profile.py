"""`gnomon profile` writes what it says, and what it wrote can be compared."""

import json

import msgspec
import pytest
from rich.console import Console

import gnomon as gn
from gnomon.errors import ConfigError
from gnomon.profiler.model import Event, MachineLimits, Profile
from gnomon.profiler.reports import totals
from gnomon.profiler.store import read_profile
from gnomon.program.records import SavedRecords
from gnomon.train.profile import ProfileOptions, compare, profile, tell, with_compilation
from tests.profiler.synthetic import made_up
from tests.profiler.validate import faults

SMALL = (
    "model.vocab_size=300",
    "model.hidden_size=32",
    "model.intermediate_size=32",
    "model.num_hidden_layers=1",
    "train.sequence_length=32",
    "evaluation.stride=32",
)


@pytest.fixture(autouse=True)
def _threads():
    before = gn.get_num_threads()
    yield
    gn.set_num_threads(before)


def said(work, *words):
    """What a command prints."""
    console = Console(width=140, highlight=False)
    with console.capture() as caught:
        work(*words, console)
    return caught.get()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The folder of a profile of two steps, and what was said."""
    out = tmp_path_factory.mktemp("profile") / "one"
    return out, said(profile, ProfileOptions("tiny", SMALL, 2, out))


def test_every_file_is_there_and_sound(written):
    folder, text = written

    assert {path.name for path in folder.iterdir()} == {
        *("profile.html", "profile.json", "records.json", "trace.json", "trace.pftrace")
    }
    assert all(str(path) in text.replace("\n", "") for path in folder.iterdir())
    assert all(path.stat().st_size for path in folder.iterdir())
    trace = (folder / "trace.json").read_bytes()
    assert faults(trace) == []
    assert "kernel" in {x.get("cat") for x in json.loads(trace)["traceEvents"]}
    saved = msgspec.json.decode((folder / "records.json").read_bytes(), type=SavedRecords)
    assert {r.id for r in saved.records} == {*read_profile(folder).records}


def test_every_kernel_names_a_line_of_ours(written):
    made = read_profile(written[0])

    assert totals(made).steps == 2
    assert totals(made).coverage == 1
    files = {line.file for record in made.records.values() for line in record.lines}
    assert all("/models/" in file or "/train/" in file for file in files)
    phases = {line.phase for record in made.records.values() for line in record.lines}
    assert phases >= {"forward", "backward", "optimizer"}
    assert files <= {*made.sources}


def test_lines_graph_and_code_of_what_ran_are_kept(written):
    made = read_profile(written[0])

    assert {record.program for record in made.records.values()} <= {*made.graphs}
    singles = [record for record in made.records.values() if not record.members]
    assert all(made.code[record.symbol] for record in singles)


def test_the_costliest_lines_are_shown(written):
    text = written[1]

    assert text.startswith("2 steps of ")
    assert "100.0% of" in text
    assert "models/decoder.py:" in text


def test_two_profiles_are_compared(written, tmp_path):
    folder, _ = written
    again = tmp_path / "two"
    profile(ProfileOptions("tiny", (*SMALL, "run.threads=1"), 1, again), Console(quiet=True))

    text = said(compare, folder, again / "profile.json")

    assert f"{folder}: 2 steps of" in text.replace("\n", "")
    assert "all lines" in text


def test_steps_and_folders_that_cannot_be_are_refused(tmp_path):
    with pytest.raises(ConfigError, match="--steps: expected int >= 1: got 0"):
        profile(ProfileOptions(steps=0))
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match=r"--out: .* is a file"):
        profile(ProfileOptions(out=tmp_path / "file"))
    with pytest.raises(ConfigError, match="No such file"):
        compare(tmp_path / "a", tmp_path / "b")


def test_passes_stand_before_the_steps_that_they_compiled():
    machine = MachineLimits("m", 1, 1e9, 1e9)
    passes = Event("compile", "simplify", 1000, 1500)
    compiling = Profile(machine, events=[passes, Event("kernel", "k", 1600, 1700)])
    running = Profile(machine, events=[Event("kernel", "k", 10, 30), Event("compile", "x", 40, 50)])

    found = [(e.name, e.start, e.end) for e in with_compilation(compiling, running).events]

    assert found == [("simplify", 0, 500), ("k", 510, 530), ("x", 540, 550)]


def test_functions_that_were_captured_again_are_told():
    text = said(lambda console: tell(console, made_up()))

    assert "recompiled:\nstep, capture 2: tensor 0: shape is (4,), was (3,)" in text
