"""A step that is recorded computes the same bits, and leaves everything by name."""

from __future__ import annotations

from dataclasses import replace

from gnomon.train.hashes import read_hashes
from tests.train.test_loop import trainer


def test_recording_changes_no_bit_and_reads_every_parameter(config, tmp_path):
    plain = trainer(config, tmp_path / "plain", steps=3)
    plain.run()
    config = replace(config, train=replace(config.train, record_hashes=True))

    run = trainer(config, tmp_path / "run", steps=3)
    run.run()

    assert run.fingerprint() == plain.fingerprint()
    found = read_hashes(tmp_path / "run")
    assert list(found.steps) == [0, 1, 2, 3]
    phases = [name.phase for name in found.of(1)]
    order = ["input", "forward", "backward", "gradient", "result", "parameter", "optimizer"]
    assert list(dict.fromkeys(phases)) == order
    parameters = [name for name, _ in run.model.named_parameters()]
    assert [x.module for x in found.of(1) if x.phase == "gradient"] == parameters
    assert phases.count("optimizer") == 3 * len(parameters)


def test_what_a_step_leaves_is_what_the_next_begins_with(config, tmp_path):
    config = replace(config, train=replace(config.train, record_hashes=True))
    trainer(config, tmp_path / "run", steps=1).run()

    found = read_hashes(tmp_path / "run")

    before, after = found.of(0), found.of(1)
    assert {name.phase for name in before} == {"parameter"}
    assert not [name for name in before if before[name] == after[name]]
