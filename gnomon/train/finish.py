"""The end of a run: evaluation on all held-out files, comparison, plot, sample, summary."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gnomon import set_num_threads
from gnomon.ops.canonical import NUMERICS
from gnomon.runtime.files import publish
from gnomon.train.compression import gzip_bits_per_byte, xz_bits_per_byte
from gnomon.train.evaluate import HeldOut
from gnomon.train.generate import Sampling, TextGenerator, stream
from gnomon.train.loop import Trainer
from gnomon.train.metrics import read_metrics, write_summary
from gnomon.train.plot import loss_plot
from gnomon.train.progress import Progress, duration
from gnomon.train.runs import TrainingRun, find_checkpoint, read_config
from gnomon.train.state import model_of
from gnomon.train.team import Team
from gnomon.train.text import prepare
from gnomon.train.tokenizer import load_tokenizer

__all__ = ["comparison", "finish", "how_to_resume", "remeasured", "train_to_end"]


def train_to_end(run: TrainingRun, progress: Progress, team: Team) -> int:
    """Train to the end, or until a request to stop; returns the exit code."""
    for line in run.remarks:
        progress.say(line)
    if run.config.run.threads:
        set_num_threads(run.config.run.threads)
    branches = list(run.branches)
    trainer = Trainer(run.config, run.folder, progress, run.checkpoint, run.lock, team, branches)
    trainer.prepare()
    for line in trainer.introduction():
        progress.say(line)
    stop = trainer.run()
    if trainer.done == run.config.train.steps:
        finish(trainer)
    else:
        progress.say(how_to_resume(trainer))
    return stop.exit_code


def finish(trainer: Trainer) -> dict[str, Any]:
    """Measure and sample on all ranks; the first rank plots, and writes and prints the summary."""
    progress, folder = trainer.progress, trainer.folder
    progress.say("measuring every held-out byte, and gzip and xz beside it")
    summary = summarize(trainer)
    trainer.check()
    sample = written_on(trainer)
    if not trainer.leads:
        return summary
    draw(folder, summary["held_out_loss"])
    publish(folder / "sample.txt", sample.encode("utf-8"))
    path = write_summary(folder, summary)
    for line in comparison(summary):
        progress.say(line)
    show(progress, sample)
    progress.say(f"\n{path}\ncontinue writing: gnomon generate {folder} --prompt 'class'")
    return summary


def summarize(trainer: Trainer) -> dict[str, Any]:
    """The contents of summary.json."""
    measure = trainer.measure()
    content = trainer.text.corpus.held_out_bytes
    return {
        "bits_per_byte": measure.bits_per_byte,
        "gzip_bits_per_byte": gzip_bits_per_byte(content),
        "xz_bits_per_byte": xz_bits_per_byte(content),
        "held_out_loss": measure.loss,
        "held_out_bytes": measure.bytes,
        "held_out_tokens": measure.tokens,
        "tokens_per_s": trainer.tokens_per_s,
        "seconds_per_step": trainer.watch.seconds_per_step,
        "compile_s": trainer.watch.compiling,
        "kernels": trainer.step.kernels,
        "steps": trainer.config.train.steps,
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "peak_flops_per_s": trainer.peak.flops,
        "data_hash": trainer.text.corpus.hash,
        "branches": trainer.branches,
        "hash": trainer.fingerprint(),
        "numerics": NUMERICS,
    }


def comparison(summary: Mapping[str, float]) -> list[str]:
    """The lines that compare the model's bits per byte with compressors'.

    >>> found = {"bits_per_byte": 1.5, "xz_bits_per_byte": 2.0, "gzip_bits_per_byte": 2.5}
    >>> for line in comparison(found):
    ...     print(line)
    held-out bits per byte
      this model  1.500
      xz -9       2.000
      gzip -9     2.500
    """
    rows = {"this model": "bits_per_byte", "xz -9": "xz_bits_per_byte"}
    rows |= {"gzip -9": "gzip_bits_per_byte"}
    return [
        "held-out bits per byte",
        *(f"  {name:<10}  {summary[key]:.3f}" for name, key in rows.items()),
    ]


def draw(folder: Path, last: float) -> None:
    """Write loss.svg, the curves of training and held-out loss, to a run's folder."""
    rows = read_metrics(folder)
    training, looks = (
        [(row["step"], row[name]) for row in rows if row.get(name) is not None]
        for name in ("loss", "held_out_loss")
    )
    if rows:
        looks.append((rows[-1]["step"], last))
    publish(folder / "loss.svg", loss_plot(folder.name, training, looks).encode("utf-8"))


def written_on(trainer: Trainer) -> str:
    """The configured prompt with the model's continuation."""
    chosen = trainer.config.sample
    sampling = Sampling(chosen.temperature, chosen.top_k, trainer.config.run.seed)
    tokenizer, most = trainer.text.tokenizer, chosen.max_new_tokens
    pieces = stream(TextGenerator(trainer.model), tokenizer, chosen.prompt, sampling, most)
    return chosen.prompt + "".join(pieces)


def show(progress: Progress, sample: str) -> None:
    """Print the sample, indented."""
    progress.say("\nwhat it writes:")
    for line in sample.splitlines():
        progress.say(f"  {line}")


def how_to_resume(trainer: Trainer) -> str:
    """The message on how to continue a stopped run."""
    left, watch = trainer.config.train.steps - trainer.done, trainer.watch
    seconds = duration(left * watch.seconds_per_step)
    return (
        f"saved after step {trainer.done}; {left} steps ({seconds}) remain. Continue with:\n"
        f"  gnomon train --resume --set run.dir={trainer.folder}"
    )


def remeasured(run: str | None) -> list[str]:
    """The bits per byte of a trained model on all held-out files, as lines."""
    checkpoint = find_checkpoint(run)
    config = read_config(checkpoint.folder.parent.parent)
    text = prepare(config, load_tokenizer(checkpoint.folder / "tokenizer.json"))
    if text.corpus.hash != checkpoint.trainer.get("data_hash"):
        print("note: these are other files than the model was trained beside.", file=sys.stderr)
    shape = (config.evaluation.batch_size, config.train.sequence_length)
    model, stride = model_of(checkpoint), config.evaluation.stride
    measure = HeldOut(model, text.held_out, text.lengths, shape, stride).measure()
    content = text.corpus.held_out_bytes
    figures = {
        "bits_per_byte": measure.bits_per_byte,
        "xz_bits_per_byte": xz_bits_per_byte(content),
        "gzip_bits_per_byte": gzip_bits_per_byte(content),
    }
    head = f"{checkpoint.folder}: {len(text.corpus.held_out)} files, {measure.bytes:,} bytes"
    return [head, *comparison(figures)]
