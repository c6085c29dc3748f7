"""Two runs are compared by what they recorded, and the first value that differs is named."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import gnomon as gn
from gnomon import settings
from gnomon.__main__ import code_of
from gnomon.errors import ConfigError
from gnomon.tensor.computed_values import ValueName
from gnomon.train.diverge import RecordedRun, difference, diverge, ulps
from gnomon.train.hashes import FILE, Hashes, read_hashes
from gnomon.train.runs import write_config
from gnomon.train.team import Team
from tests.children import environment
from tests.train.test_hostile_disk import SMALL
from tests.train.test_hostile_disk import settings as options
from tests.train.test_loop import trainer

LEFT_OUT = """
from gnomon.passes import localize
from gnomon.ops.placements import Partial, Replicated

true = localize.Locals.move

def wrong(self, x, have, want, *unit):
    product = x.op in ("contract", "detach") and x.shape == (2, 32, 32)
    lost = product and isinstance(have, Partial) and x.sites[0].phase == "forward"
    return true(self, x, Replicated() if lost else have, want, *unit)

localize.Locals.move = wrong
"""
"""A fault: a rank's sums in a product count as the whole (test_planted_faults.py)."""


@pytest.fixture
def recording(config, folder, monkeypatch):
    """The configuration of a run of three steps that records hashes."""
    monkeypatch.chdir(folder.parent)
    train = replace(config.train, record_hashes=True, steps=3, evaluate_every=0)
    return replace(config, train=train)


def train(config, name: str, change=None) -> None:
    """Train a run, whose model is changed after its first step."""
    run = trainer(config, folder_of(name), steps=3)
    write_config(run.folder, run.config)
    take = run.take

    def changed(step: int, metrics) -> None:
        if step == 1 and change:
            change(run.model)
        take(step, metrics)

    run.take = changed
    run.run()


def folder_of(name: str):
    """A folder here, under its name alone."""
    return Path(name)


def nudge(model) -> None:
    """Another last bit in a weight of the second layer."""
    weight = model.model.layers[1].mlp.down_proj.weight
    with gn.no_grad():
        array = weight.detach().numpy().copy()
        array[3, 5] = np.nextafter(array[3, 5], np.float32(9))
        weight.copy_(gn.from_numpy(array))


def without_lines(text: str) -> str:
    """What was said, without numbers of lines."""
    return re.sub(r"(\.py):\d+", r"\1", text)


def test_equal_runs_agree_in_every_bit(recording, capsys):
    train(recording, "a")
    train(recording, "b")

    assert code_of(["diverge", "a", "b"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"^a and b agree in every bit of steps 0 to 3: [\d,]+ values\.$", said, re.M)


def test_the_first_value_that_differs_is_named(recording, capsys, golden):
    train(recording, "a")
    train(recording, "b", nudge)
    capsys.readouterr()

    assert code_of(["diverge", "a", "b"]) == 1
    assert golden == without_lines(capsys.readouterr().out)


def test_kept_values_tell_the_element(recording, capsys):
    train(recording, "a")
    with settings.override(numerics="fast"):
        train(recording, "b")
        assert code_of(["values", "b", "1"]) == 0
    assert code_of(["values", "a", "1"]) == 0
    said = capsys.readouterr().out
    assert said.count("those that the run recorded") == 2

    assert code_of(["diverge", "a", "b"]) == 1
    said = capsys.readouterr().out
    assert re.match(r"a and b first differ at step 1, (for|back)ward, in the step: cross_", said)
    assert "b: one process, numerics fast" in said
    assert re.search(r"^Element \[.*\] is .* and .*: [\d,]+ ULP apart; [\d,]+ of ", said, re.M)


def test_a_run_that_does_not_repeat_itself_is_told_of(recording, capsys):
    train(recording, "a")
    train(recording, "b", nudge)

    assert code_of(["values", "a", "2"]) == 0
    assert code_of(["values", "b", "2"]) == 0
    assert "are not those that the run recorded" in capsys.readouterr().out

    assert code_of(["diverge", "a", "b"]) == 1
    assert "the runs do not repeat themselves" in capsys.readouterr().out


def test_a_fault_in_a_layout_is_named_at_the_first_step(recording, folder, tmp_path, capsys):
    changes = [*SMALL, "train.steps=2", "train.record_hashes=true", "train.batch_size=2"]
    words = ["train", "tiny", *options(*changes)]
    assert code_of([*words, "--set", "run.dir=whole"]) == 0
    script = tmp_path / "faulty.py"
    script.write_text(f"{LEFT_OUT}\nfrom gnomon.__main__ import main\nmain()\n")
    launched = ["-m", "gnomon", "launch", "-n", "2", "--backend", "threads", str(script), *words]
    subprocess.run(
        # replicas would differ, and the run would stop for that
        [
            *(sys.executable, *launched, "--mesh", "tensor=2", "--set", "run.dir=faulty"),
            *("--set", "train.compare_replicas_every=0"),
        ],
        # what is divided with the fault stays out of other tests' cache
        env=environment(GNOMON_CACHE_DIR=str(tmp_path / "faulty-cache")),
        check=True,
        capture_output=True,
        timeout=300,
    )
    capsys.readouterr()

    assert code_of(["diverge", "whole", "faulty"]) == 1
    said = capsys.readouterr().out
    where = (
        "at step 1, forward, in model.layers.0.self_attn.o_proj: linear, gnomon/models/decoder.py"
    )
    assert f"whole and faulty first differ {where}" in said
    assert "gnomon launch -n 2 values faulty 1 --mesh tensor=2" in said


def test_the_plan_of_a_run_is_recorded_and_given_again(recording, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text('rows = ["data"]\nfully = ["data"]\nreductions = 2\n')
    run = trainer(recording, Path("a"), steps=3)
    write_config(run.folder, run.config)
    run.team = Team(None, plan)
    run.run()

    began = read_hashes(Path("a")).began
    assert began["plan"]["fully"] == ["data"]
    assert began["plan"]["reductions"] == 2
    assert code_of(["values", "a", "1", "--plan", str(plan)]) == 0
    found = RecordedRun(Path("a"), Hashes({**began, "mesh": "data=2"}))
    assert str(found) == f"a: data=2 by {plan}, numerics invariant"
    command = f"gnomon launch -n 2 values a 1 --mesh data=2 --plan {plan}"
    assert found.keeping(1) == command
    portable = RecordedRun(Path("a"), Hashes({**found.hashes.began, "numerics": "portable"}))
    assert portable.keeping(1) == f"GNOMON_NUMERICS=portable {command}"


def test_runs_that_cannot_be_compared_say_why(recording, capsys):
    train(recording, "a")
    plain = replace(recording, train=replace(recording.train, record_hashes=False))
    train(plain, "plain")
    train(replace(recording, model=replace(recording.model, num_hidden_layers=1)), "small")

    assert code_of(["diverge", "a", "nowhere"]) == 2
    assert code_of(["diverge", "a", "plain"]) == 2
    assert code_of(["diverge", "a", "small"]) == 2
    said = capsys.readouterr().err
    assert "nowhere is not a run" in said
    assert "plain recorded no hashes" in said
    assert "the runs are of different programs: step 0" in said


def test_damaged_hashes_are_told_of(recording):
    train(recording, "a")
    (folder_of("a") / FILE).write_text('{"step": "two"}\n')

    with pytest.raises(ConfigError, match=r"a/hashes\.jsonl cannot be read: .*Record the run"):
        diverge("a", "a")


def test_runs_without_a_common_step_are_refused(recording):
    train(recording, "a")
    train(recording, "b")
    path = folder_of("b") / FILE
    path.write_text(re.sub(r'"step":(\d)', r'"step":1\1', path.read_text()))

    with pytest.raises(ConfigError, match="a and b recorded no step in common"):
        diverge("a", "b")


@pytest.mark.unit
@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        (np.float32(1), np.nextafter(np.float32(1), np.float32(2)), 1),
        (np.float32(0.0), np.float32(-0.0), 1),
        (np.float32(-1e-45), np.float32(1e-45), 3),
        (np.float64(-1), np.float64(1), 2 * 0x3FF0000000000000 + 1),
        (np.float32(-np.inf), np.float32(np.inf), 2 * 0x7F800000 + 1),
        (np.int64(3), np.int64(-4), 7),
        (np.int64(-(2**63)), np.int64(2**63 - 1), 2**64 - 1),
    ],
)
def test_distances_are_counted_in_numbers_between(one, other, apart):
    arrays = np.array([one]), np.array([other])

    assert ulps(*arrays).tolist() == ulps(*arrays[::-1]).tolist() == [apart]
    assert ulps(arrays[0], arrays[0]).tolist() == [0]


@pytest.mark.unit
def test_a_difference_of_a_number_alone_has_no_place():
    said = difference(np.float32(1), np.float32(1.0000001))

    assert said == "It is 1.0 and 1.0000001: 1 ULP apart; 1 of 1 differ, by at most 1 ULP."


@pytest.mark.unit
def test_a_name_says_its_key_without_its_line():
    names = [ValueName("forward", "a", "add", f"x.py:{line}") for line in (1, 2)]

    assert names[0].key == names[1].key
