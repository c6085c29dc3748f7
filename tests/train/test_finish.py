"""The end of a run leaves a summary with every figure, a plot and a sample."""

from __future__ import annotations

import json

from gnomon.train.finish import comparison, finish, how_to_resume
from gnomon.train.loop import Trainer
from gnomon.train.progress import Progress

FIGURES = {
    "bits_per_byte",
    "gzip_bits_per_byte",
    "xz_bits_per_byte",
    "tokens_per_s",
    "compile_s",
    "kernels",
    "steps",
    "data_hash",
    "hash",
}


def test_the_end_leaves_summary_plot_and_sample(config, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    trainer = Trainer(config, folder, Progress())
    trainer.prepare()
    trainer.run()

    finish(trainer)

    summary = json.loads((folder / "summary.json").read_text())
    assert summary.keys() >= FIGURES
    assert summary["steps"] == 6
    assert summary["hash"] == trainer.fingerprint()
    assert summary["held_out_bytes"] == len(trainer.text.corpus.held_out_bytes)
    assert 0 < summary["bits_per_byte"] < 16
    assert (folder / "loss.svg").read_text().startswith("<svg")
    assert (folder / "sample.txt").read_text().startswith(config.sample.prompt)
    assert f"run.dir={folder}" in how_to_resume(trainer)


def test_figures_stand_side_by_side():
    lines = comparison({"bits_per_byte": 1, "xz_bits_per_byte": 2, "gzip_bits_per_byte": 3})

    assert [line.split()[-1] for line in lines[1:]] == ["1.000", "2.000", "3.000"]
