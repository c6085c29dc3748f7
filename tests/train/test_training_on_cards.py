"""A run with run.device=cuda has the curve and the bits of the CPU's, and is resumed on both."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gnomon.train.checkpoint import newest
from gnomon.train.loop import Trainer
from gnomon.train.metrics import read_metrics
from gnomon.train.progress import Progress
from tests.cuda.cards import fake_card

pytestmark = pytest.mark.proof

there = pytest.fixture(fake_card, name="there", autouse=True)
SMALLER = {"vocab_size": 270, "hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1}


def prepared(config, folder, device, resumed=None, steps=2):
    """A run on a device."""
    folder.mkdir(exist_ok=True)
    model = replace(config.model, **SMALLER, num_attention_heads=1)
    train = replace(config.train, steps=steps, batch_size=1, sequence_length=8, evaluate_every=2)
    evaluation = replace(config.evaluation, batch_size=1, quick_windows=1)
    run = replace(config.run, device=device)
    config = replace(config, model=model, train=train, evaluation=evaluation, run=run)
    made = Trainer(config, folder, Progress(), resumed)
    made.prepare()
    return made


@pytest.mark.filterwarnings("ignore:compile. taken_once. `FakeDriver")
def test_a_run_on_a_card_has_the_bits_of_one_on_the_cpu(config, tmp_path):
    runs = {device: prepared(config, tmp_path / device, device) for device in ("cpu", "cuda")}
    for made in runs.values():
        made.run()

    assert {p.device.type for p in runs["cuda"].model.parameters()} == {"cuda"}
    assert runs["cpu"].fingerprint() == runs["cuda"].fingerprint()
    rows = [read_metrics(tmp_path / device) for device in runs]
    for name in ("loss", "gradient_norm", "held_out_loss"):
        assert [row.get(name) for row in rows[0]] == [row.get(name) for row in rows[1]]
    for device in runs:
        found, _ = newest(tmp_path / "cuda")
        again = prepared(config, tmp_path / f"again on {device}", device, found)
        assert again.fingerprint() == runs["cpu"].fingerprint()
