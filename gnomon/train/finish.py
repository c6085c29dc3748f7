"""The end of a run: every held-out byte measured beside gzip and xz; plot, sample, summary."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gnomon.runtime.files import publish
from gnomon.train.compression import gzip_bits_per_byte, xz_bits_per_byte
from gnomon.train.generate import Sampling, Writer, stream
from gnomon.train.loop import Trainer
from gnomon.train.metrics import read_metrics, write_summary
from gnomon.train.plot import loss_plot
from gnomon.train.progress import Progress, duration

__all__ = ["comparison", "finish", "how_to_resume"]


def finish(trainer: Trainer) -> dict[str, Any]:
    """Measure, plot, write a sample and the summary, and say it all."""
    progress, folder = trainer.progress, trainer.folder
    progress.say("measuring every held-out byte, and gzip and xz beside it")
    summary = summarize(trainer)
    draw(folder, summary["held_out_loss"])
    sample = write_sample(trainer)
    path = write_summary(folder, summary)
    for line in comparison(summary):
        progress.say(line)
    show(progress, sample)
    progress.say(f"\n{path}\ncontinue writing: gnomon generate {folder} --prompt 'class'")
    return summary


def summarize(trainer: Trainer) -> dict[str, Any]:
    """Everything that summary.json holds."""
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
        "peak_flops_per_s": trainer.peak,
        "data_hash": trainer.text.corpus.hash,
        "hash": trainer.fingerprint(),
    }


def comparison(summary: Mapping[str, float]) -> list[str]:
    """The figures side by side.

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
    """Publish loss.svg."""
    rows = read_metrics(folder)
    training = [(row["step"], row["loss"]) for row in rows]
    looks = [(row["step"], row["held_out_loss"]) for row in rows if "held_out_loss" in row]
    if rows:
        looks.append((rows[-1]["step"], last))
    publish(folder / "loss.svg", loss_plot(folder.name, training, looks).encode("utf-8"))


def write_sample(trainer: Trainer) -> str:
    """What the model writes after the configured prompt; kept in sample.txt."""
    chosen = trainer.config.sample
    sampling = Sampling(chosen.temperature, chosen.top_k, trainer.config.run.seed)
    tokenizer, most = trainer.text.tokenizer, chosen.max_new_tokens
    pieces = stream(Writer(trainer.model), tokenizer, chosen.prompt, sampling, most)
    sample = chosen.prompt + "".join(pieces)
    publish(trainer.folder / "sample.txt", sample.encode("utf-8"))
    return sample


def show(progress: Progress, sample: str) -> None:
    """The sample, set apart."""
    progress.say("\nwhat it writes:")
    for line in sample.splitlines():
        progress.say(f"  {line}")


def how_to_resume(trainer: Trainer) -> str:
    """The line that continues a stopped run."""
    left, watch = trainer.config.train.steps - trainer.done, trainer.watch
    seconds = duration(left * watch.seconds_per_step)
    return (
        f"saved after step {trainer.done}; {left} steps ({seconds}) remain. Continue with:\n"
        f"  gnomon train --resume --set run.dir={trainer.folder}"
    )
