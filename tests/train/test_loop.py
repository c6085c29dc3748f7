"""A run reaches its end, and one that was stopped goes on to the same bits."""

from __future__ import annotations

import dataclasses
import shutil
import signal

import pytest

from gnomon.errors import CheckpointError, ConfigError, GnomonError
from gnomon.models import from_pretrained
from gnomon.models.decoder import DecoderForCausalLM
from gnomon.models.families import Gpt2Config
from gnomon.models.initialization import initialize
from gnomon.train import loop
from gnomon.train.checkpoint import checkpoints, fingerprint, newest
from gnomon.train.config import build, overridden, to_dict
from gnomon.train.loop import Trainer
from gnomon.train.metrics import read_metrics
from gnomon.train.progress import Progress
from gnomon.train.recipes import with_first_model
from gnomon.train.state import model_of, parameter_arrays


def trainer(config, folder, resumed=None, steps=6):
    """A prepared run."""
    folder.mkdir(exist_ok=True)
    train = dataclasses.replace(config.train, steps=steps)
    config = dataclasses.replace(config, train=train)
    made = Trainer(config, folder, Progress(), resumed)
    made.prepare()
    return made


def test_a_run_writes_every_step_looks_at_held_out_text_and_saves(config, tmp_path):
    run = trainer(config, tmp_path / "run")

    stop = run.run()

    rows = read_metrics(tmp_path / "run")
    assert stop.asked is None
    assert [row["step"] for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row["step"] for row in rows if "held_out_loss" in row] == [3]
    assert [path.name for path in checkpoints(tmp_path / "run")] == [
        "step-00000004",
        "step-00000006",
    ]
    assert rows[-1]["tokens"] == 6 * 2 * 16
    assert rows[-1]["loss"] < rows[0]["loss"]
    assert run.tokens_per_s > 0


@pytest.mark.parametrize("cut", [1, 3, 4])
def test_a_resumed_run_ends_in_the_same_bits(config, tmp_path, cut):
    whole = trainer(config, tmp_path / "whole")
    whole.run()
    trainer(config, tmp_path / "parts", steps=cut).run()

    found, _ = newest(tmp_path / "parts")
    rest = trainer(config, tmp_path / "parts", resumed=found)
    rest.run()

    assert found.step == cut
    assert rest.fingerprint() == whole.fingerprint()
    losses = [[row["loss"] for row in read_metrics(tmp_path / name)] for name in ("whole", "parts")]
    assert losses[0] == losses[1]


@pytest.mark.parametrize("name", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_after_the_step_and_ends(config, tmp_path, monkeypatch, name):
    run = trainer(config, tmp_path / "run")
    take = run.take

    def interrupted(step, metrics):
        take(step, metrics)
        if step == 2:
            signal.raise_signal(name)

    monkeypatch.setattr(run, "take", interrupted)
    stop = run.run()

    assert stop.asked == name
    assert run.done == 3
    assert checkpoints(tmp_path / "run")[-1].name == "step-00000003"


def test_other_text_than_the_run_began_with_is_refused(config, tmp_path):
    trainer(config, tmp_path / "run", steps=2).run()
    found, _ = newest(tmp_path / "run")
    (tmp_path / "corpus" / "file0.py").write_text("x = 1\n" * 40)

    with pytest.raises(CheckpointError, match="holds other files than this run began with"):
        trainer(config, tmp_path / "run", resumed=found)


def test_a_loss_that_is_not_finite_ends_the_run_before_it_is_saved(config, tmp_path, monkeypatch):
    run, step = trainer(config, tmp_path / "run"), loop.TrainStep.__call__

    def third_time_unlucky(self, window, rate):
        return (float("nan"), 1.0) if run.done == 3 else step(self, window, rate)

    monkeypatch.setattr(loop.TrainStep, "__call__", third_time_unlucky)

    with pytest.raises(GnomonError, match="step 4 gave loss nan"):
        run.run()

    assert checkpoints(tmp_path / "run")[-1].name == "step-00000002"


def begun_from(config, folder, run):
    """A run's configuration whose model is that of a folder."""
    said = [f"train.init_from={folder}", f"run.dir={run}", "model.attention_dropout=0"]
    text = with_first_model(overridden(to_dict(config), said), said)
    return build(text)


def test_a_run_goes_on_from_a_checkpoint_of_another_without_its_averages(config, tmp_path):
    first = trainer(config, tmp_path / "run")
    first.run()
    folder = checkpoints(tmp_path / "run")[-1]

    again = begun_from(config, folder, tmp_path / "again")
    second = trainer(again, tmp_path / "again", steps=2)

    assert again.model == config.model
    wanted, found = (parameter_arrays(x.model) for x in (first, second))
    assert fingerprint(wanted) == fingerprint(found)
    assert not second.optimizer.state_dict()["state"]
    assert second.run().asked is None


def test_a_model_of_another_family_goes_on(config, tmp_path):
    trainer(config, tmp_path / "run").run()
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8}
    sizes |= {"num_hidden_layers": 1, "max_position_embeddings": 32, "vocab_size": 300}
    model = DecoderForCausalLM(Gpt2Config(**sizes, intermediate_size=24, attention_dropout=0.1))
    initialize(model, 3)
    model.save_pretrained(tmp_path / "gpt2")
    tokenizer = checkpoints(tmp_path / "run")[-1] / "tokenizer.json"
    shutil.copy(tokenizer, tmp_path / "gpt2" / "tokenizer.json")

    run = trainer(begun_from(config, tmp_path / "gpt2", tmp_path / "more"), tmp_path / "more")
    wanted = parameter_arrays(model)
    assert fingerprint(parameter_arrays(run.model)) == fingerprint(wanted)
    run.run()

    saved = newest(tmp_path / "more")[0]
    after = fingerprint(parameter_arrays(run.model))
    assert fingerprint(parameter_arrays(model_of(saved))) == after
    written = from_pretrained(saved.folder)
    assert fingerprint(parameter_arrays(written)) == after


def test_a_run_drops_nothing(config, tmp_path):
    with pytest.raises(ConfigError, match=r"model\.attention_dropout: expected 0"):
        build(overridden(to_dict(config), ["model.attention_dropout=0.1"]))
