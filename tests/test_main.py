"""The command line does what its words say, and a mistake is one clear line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

import gnomon as gn
from gnomon.__main__ import code_of
from tests.children import environment

SMALL = [
    "model.vocab_size=300",
    "model.hidden_size=32",
    "model.intermediate_size=32",
    "model.num_hidden_layers=1",
    "train.steps=4",
    "train.evaluate_every=2",
    "train.sequence_length=32",
    "evaluation.stride=32",
    "sample.max_new_tokens=4",
]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(60):
        lines = [f"def f{n}(x):\n    return x + {n * number % 7}\n\n\n" for n in range(6)]
        path = tmp_path / "corpus" / f"file{number}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(lines))


def words(*changes):
    """The command that trains a small model, with changes."""
    pairs = [*SMALL, "corpus.folder=corpus", "corpus.held_out_percent=10", *changes]
    return ["train", "tiny", *(word for pair in pairs for word in ("--set", pair))]


def summary(folder):
    """The summary of a run."""
    return json.loads((folder / "summary.json").read_text())


def test_a_model_is_trained_writes_and_is_measured(tmp_path, capsys):
    assert code_of(words("run.dir=one")) == 0
    said = capsys.readouterr().out
    assert "held-out bits per byte" in said
    assert "kernels run in a step" in said

    assert code_of(["generate", "one", "--prompt", "def f1", "--max-new-tokens", "5"]) == 0
    assert capsys.readouterr().out.startswith("def f1")

    assert code_of(["eval", "one"]) == 0
    measured = capsys.readouterr().out
    assert f"{summary(tmp_path / 'one')['bits_per_byte']:.3f}" in measured


def test_generating_twice_gives_the_same_text(capsys):
    code_of(words("run.dir=one", "train.steps=1"))
    capsys.readouterr()

    texts = []
    for seed in ("3", "3"):
        code_of(["generate", "one", "--seed", seed, "--max-new-tokens", "6"])
        texts.append(capsys.readouterr().out)

    assert texts[0] == texts[1]


def test_a_stopped_run_goes_on_to_the_same_hash(tmp_path, capsys):
    assert code_of(words("run.dir=whole")) == 0
    assert code_of(words("run.dir=parts", "train.steps=2")) == 0
    assert code_of(["train", "--resume", "--set", "run.dir=parts", "--set", "train.steps=4"]) == 0

    whole, parts = summary(tmp_path / "whole"), summary(tmp_path / "parts")
    assert whole["hash"] == parts["hash"]
    assert whole["bits_per_byte"] == parts["bits_per_byte"]
    assert whole["data_hash"] == parts["data_hash"]
    assert "going on after step 2" in capsys.readouterr().out


def test_the_number_of_threads_changes_no_bit(tmp_path):
    before = gn.get_num_threads()
    try:
        for threads in (1, 2):
            assert code_of(words(f"run.dir=run{threads}", f"run.threads={threads}")) == 0
    finally:
        gn.set_num_threads(before)

    one, two = summary(tmp_path / "run1"), summary(tmp_path / "run2")
    assert one["hash"] == two["hash"]
    assert one["bits_per_byte"] == two["bits_per_byte"]


def test_sigterm_saves_and_says_how_to_go_on(tmp_path):
    command = [sys.executable, "-m", "gnomon", *words("run.dir=one", "train.steps=100000")]
    process = subprocess.Popen(
        [*command, "--set", "train.checkpoint_every=0"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    metrics = tmp_path / "one" / "metrics.jsonl"
    while process.poll() is None and not (metrics.exists() and metrics.stat().st_size):
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate()

    assert process.returncode == 143, said
    assert "gnomon train --resume --set run.dir=one" in said
    assert len(list((tmp_path / "one" / "checkpoints").iterdir())) == 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["train", "pyhton"], "did you mean python?"),
        (["train", "--set", "train.stepz=3"], "train.stepz is not a key: did you mean steps?"),
        (["train", "--set", "train.steps=no"], "train.steps: expected int: got 'no'."),
        (["train", "--resume"], "Start one: gnomon train"),
        (["generate", "nowhere"], "nowhere is not a run"),
        (["generate", "--top-k", "-1"], "--top-k: expected int >= 0: got -1"),
        (["eval", "nowhere"], "nowhere is not a run"),
        (["tarin"], "tarin"),
        (["train", "--nonsense", "3"], "nonsense"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_two(given, said, capsys):
    code = code_of(given)

    error = capsys.readouterr().err
    assert code == 2
    assert said in error
    assert error.startswith("gnomon: ")
    assert "Traceback" not in error


def test_the_doctor_speaks(capsys):
    assert code_of(["doctor"]) == 0
    assert "processor" in capsys.readouterr().out


def test_the_version_is_said(capsys):
    assert code_of(["--version"]) == 0
    assert capsys.readouterr().out.strip()[0].isdigit()


def test_a_step_is_profiled_and_compared(tmp_path, capsys):
    changes = [word for pair in SMALL if "model." in pair for word in ("--set", pair)]
    for name in ("one", "two"):
        assert code_of(["profile", "tiny", "--steps", "1", "--out", name, *changes]) == 0
    capsys.readouterr()

    assert code_of(["profile", "--compare", "one", "two/profile.json"]) == 0
    assert "all lines" in capsys.readouterr().out
    assert (tmp_path / "one" / "profile.html").stat().st_size > 10_000


def test_a_profile_that_is_not_there_is_one_line(capsys):
    assert code_of(["profile", "--compare", "nothing", "nowhere"]) == 2
    assert "No such file" in capsys.readouterr().err


def test_layouts_are_ranked_as_a_table_or_as_json(capsys):
    asked = ["plan", "tiny", "--world", "2", "--chip", "h100", *words()[2:]]

    assert code_of(asked) == 0
    table = capsys.readouterr().out
    assert table.startswith("tiny, 1 layer, on 2 of h100")
    assert code_of([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["layouts"]
    assert found[0]["mesh"].keys() == {"data", "shard", "tensor"}
    assert code_of(["plan", "tiny", "--world", "2", "--chip", "h1"]) == 2
    assert "There is a100, epyc-9654, h100" in capsys.readouterr().err
