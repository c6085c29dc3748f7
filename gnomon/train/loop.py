"""The training run: from a configuration to a summary, stoppable and resumable at every step.

Text, model and optimizer are made here; how a step works is step.py, what is written down
metrics.py and checkpoint.py, what is shown progress.py.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from pathlib import Path

from tokenizers import Tokenizer

from gnomon import optim
from gnomon.errors import CheckpointError, GnomonError
from gnomon.models.config import flops_per_token
from gnomon.models.initialization import initialize
from gnomon.models.qwen3 import Qwen3ForCausalLM
from gnomon.runtime.files import publish
from gnomon.train import checkpoint as checkpoints
from gnomon.train.checkpoint import Checkpoint, Saved, to_json
from gnomon.train.config import Config
from gnomon.train.evaluate import HeldOut, Measure
from gnomon.train.learning_rate import factor_at
from gnomon.train.metrics import Metrics
from gnomon.train.order import batch_at
from gnomon.train.peak import measured_peak
from gnomon.train.progress import Progress, Status, peak_memory
from gnomon.train.signals import Stop
from gnomon.train.state import (
    load_optimizer,
    load_parameters,
    optimizer_arrays,
    parameter_arrays,
)
from gnomon.train.step import Step, make_optimizer
from gnomon.train.text import Text, prepare

__all__ = ["Trainer", "Watch"]


WARMING = 2
"""The first steps of a process compile: once without the optimizer's state, once with it."""


@dataclass
class Watch:
    """How long steps took: the first, which compile, and the others."""

    warming: float = 0.0
    warmed: int = 0
    stepping: float = 0.0
    steps: int = 0
    last: float = 0.0
    measuring: float = 0.0
    """Seconds of the latest look at held-out text."""

    def count(self, seconds: float) -> None:
        """Add a step."""
        self.last = seconds
        if self.warmed < WARMING:
            self.warming += seconds
            self.warmed += 1
        else:
            self.stepping += seconds
            self.steps += 1

    @property
    def seconds_per_step(self) -> float:
        """The mean of steps that compile nothing; before there is one, the latest step."""
        return self.stepping / self.steps if self.steps else self.last

    @property
    def compiling(self) -> float:
        """What the first steps took beyond their computing."""
        return max(0.0, self.warming - self.warmed * self.seconds_per_step)


@dataclass
class Trainer:
    """One run between its start, or its resumption, and its end."""

    config: Config
    folder: Path
    progress: Progress
    resumed: Checkpoint | None = None
    watch: Watch = field(default_factory=Watch)
    held_out_loss: float | None = None
    done: int = 0
    """Steps taken, those before a resumption too."""

    def __post_init__(self) -> None:
        self.done = self.resumed.step if self.resumed else 0

    def prepare(self) -> None:
        """Make text, model and optimizer; a resumed run gets them from its checkpoint."""
        tokenizer = None
        if self.resumed:
            tokenizer = Tokenizer.from_file(str(self.resumed.folder / "tokenizer.json"))
        self.progress.say(f"{self.folder}: reading the corpus and turning it into tokens")
        self.text: Text = prepare(self.config, tokenizer)
        self.refuse_other_text()
        publish(self.folder / "corpus.json", to_json(self.text.corpus.listing()))
        self.model = Qwen3ForCausalLM(self.config.model)
        self.optimizer: optim.AdamW = make_optimizer(self.model, self.config)
        if self.resumed:
            load_parameters(self.model, self.resumed.parameters())
            load_optimizer(self.model, self.optimizer, self.resumed.optimizer())
        else:
            initialize(self.model, self.config.run.seed)
        self.step = Step(self.model, self.optimizer, self.config)
        self.held_out = HeldOut(
            self.model,
            self.text.held_out,
            self.text.lengths,
            (self.config.evaluation.batch_size, self.config.train.sequence_length),
            self.config.evaluation.stride,
        )
        self.peak = measured_peak()

    def introduction(self) -> list[str]:
        """What is about to happen."""
        corpus, steps = self.text.corpus, self.config.train.steps
        size = sum(p.numel() for p in self.model.parameters())
        return [
            f"{len(corpus.training)} files of {corpus.folder} to learn from, "
            f"{len(corpus.held_out)} held out",
            f"{size:,} parameters, {len(self.text.training):,} tokens, {steps} steps; "
            f"matrix products reach {self.peak / 1e9:.0f} GFLOP/s here",
        ]

    def refuse_other_text(self) -> None:
        """Stop when a resumed run would read other files than it began with."""
        found = self.text.corpus.hash
        if self.resumed and self.resumed.trainer["data_hash"] != found:
            raise CheckpointError(
                f"resume: {self.text.corpus.folder} holds other files than this run began with. "
                "Use the same interpreter, or start a new run."
            )

    def run(self) -> Stop:
        """Take the remaining steps; what comes back says whether somebody asked to stop."""
        first = self.done
        metrics = Metrics(self.folder, after=first)
        try:
            with Stop() as stop:
                for step in range(first, self.config.train.steps):
                    self.take(step, metrics)
                    self.save_when(step + 1, stop.asked is not None)
                    if stop.asked is not None:
                        break
        finally:
            metrics.close()
        return stop

    def take(self, step: int, metrics: Metrics) -> None:
        """One step: read, learn, write down, show."""
        train = self.config.train
        began = time.perf_counter()
        shape = (train.batch_size, train.sequence_length)
        window = batch_at(self.text.training, shape, self.config.run.seed, step)
        rate = self.config.optimizer.learning_rate * factor_at(step, self.config)
        loss, norm = self.step(window, rate)
        seconds = time.perf_counter() - began
        self.refuse_what_is_not_finite(step, loss, norm)
        self.watch.count(seconds)
        done = step + 1
        row: dict[str, object] = {"step": done, "loss": loss, "learning_rate": rate}
        row |= {"gradient_norm": norm, "tokens": done * math.prod(shape), "seconds": seconds}
        row |= {"memory": peak_memory()}
        if train.evaluate_every and (done % train.evaluate_every == 0) and done < train.steps:
            measure = self.measure(self.config.evaluation.quick_windows)
            self.held_out_loss = measure.loss
            row |= {"held_out_loss": measure.loss, "held_out_bits_per_byte": measure.bits_per_byte}
        metrics.write(row)
        self.done = done
        if self.watch.steps == 1:
            compiled = f"compiled in {self.watch.compiling:.1f} s"
            self.progress.say(f"{compiled}: {self.step.kernels} kernels run in a step")
        self.progress.update(self.status(done, loss))

    def refuse_what_is_not_finite(self, step: int, loss: float, norm: float) -> None:
        """Stop before such numbers reach a checkpoint."""
        if not (math.isfinite(loss) and math.isfinite(norm)):
            raise GnomonError(
                f"train: step {step + 1} gave loss {loss} and gradient norm {norm}. "
                "The last checkpoint is whole: resume with a lower optimizer.learning_rate."
            )

    def measure(self, quick: int = 0) -> Measure:
        """Look at held-out text."""
        began = time.perf_counter()
        found = self.held_out.measure(quick)
        self.watch.measuring = time.perf_counter() - began
        return found

    def status(self, done: int, loss: float) -> Status:
        """Where the run stands after a step."""
        train, seconds = self.config.train, self.watch.seconds_per_step
        rate = self.tokens_per_s
        flops = flops_per_token(self.config.model, train.sequence_length) * rate
        looks = (train.steps - done) // train.evaluate_every if train.evaluate_every else 0
        left = (train.steps - done) * seconds + looks * self.watch.measuring
        return Status(
            step=done,
            steps=train.steps,
            loss=loss,
            held_out=self.held_out_loss,
            tokens_per_s=rate,
            of_peak=flops / self.peak,
            memory=peak_memory(),
            left=left,
        )

    @property
    def tokens_per_s(self) -> float:
        """How fast steps of this process read, the first ones left out."""
        train, seconds = self.config.train, self.watch.seconds_per_step
        return train.batch_size * train.sequence_length / seconds if seconds else 0.0

    def save_when(self, done: int, stopping: bool) -> None:
        """Save when it is time, at the end, and when somebody asked to stop."""
        every = self.config.train.checkpoint_every
        if stopping or done == self.config.train.steps or (every and done % every == 0):
            self.save(done)

    def save(self, done: int) -> Path:
        """Write a checkpoint."""
        saved = Saved(
            step=done,
            parameters=parameter_arrays(self.model),
            optimizer=optimizer_arrays(self.model, self.optimizer),
            model=self.config.model,
            tokenizer=self.text.tokenizer.to_str(),
            trainer={"data_hash": self.text.corpus.hash, "seed": self.config.run.seed},
        )
        return checkpoints.save(self.folder, saved, self.config.train.keep_checkpoints)

    def fingerprint(self) -> str:
        """SHA-256 over parameters and optimizer state in the order of names."""
        arrays = parameter_arrays(self.model) | optimizer_arrays(self.model, self.optimizer)
        return checkpoints.fingerprint(arrays)
