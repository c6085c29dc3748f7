"""The recipe's programs are captured as often as their inputs differ, and nothing is warned of."""

from __future__ import annotations

import gnomon as gn
from gnomon.models.decoder import DecoderForCausalLM
from gnomon.models.initialization import initialize
from gnomon.train.generate import Sampling, TextGenerator, stream
from gnomon.train.loop import Trainer
from gnomon.train.progress import Progress
from gnomon.train.text import prepare


def test_a_run_captures_its_step_and_its_measure_once(config, tmp_path):
    run = Trainer(config, tmp_path, Progress())
    run.prepare()

    run.run()

    assert run.done == 6
    assert (run.step.program.captures, run.held_out.losses.captures) == (1, 1)


def test_writing_captures_one_program_for_every_position(config):
    model = DecoderForCausalLM(config.model)
    initialize(model, seed=0)
    writer = TextGenerator(model)

    assert "".join(stream(writer, prepare(config, None).tokenizer, "def ", Sampling(), 12))
    assert writer.extend.captures == 1


def test_a_change_of_a_models_method_is_followed(config, monkeypatch):
    model = DecoderForCausalLM(config.model)
    initialize(model, seed=0)
    losses = gn.compile(lambda window: model.losses(window))
    window = gn.tensor([[1, 2, 3, 4]])
    first = losses(window)
    assert losses(window).tolist() == first.tolist()

    monkeypatch.setattr(DecoderForCausalLM, "losses", lambda self, x: self(x).sum() * 0)

    assert losses(window).item() == 0
    assert losses.captures == 2
