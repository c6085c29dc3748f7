"""The training run: from a configuration to a summary, stoppable and resumable at every step.

Text, model and optimizer are made here; step.py trains a step, metrics.py and checkpoint.py write
files, progress.py prints.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gnomon import optim
from gnomon.distributed.placing import split_rows
from gnomon.distributed.plans import distribute
from gnomon.errors import CheckpointError, GnomonError
from gnomon.models.config import flops_per_token, refuse_too_large
from gnomon.models.pretrained import load_pretrained
from gnomon.models.registry import kind_of
from gnomon.models.stored_parameters import load_parameters, parameter_tensors
from gnomon.ops.canonical import NUMERICS
from gnomon.runtime.files import publish
from gnomon.runtime.json_files import to_json
from gnomon.train.checkpoint import Checkpoint, fingerprint, newest, open_checkpoint
from gnomon.train.checkpoint_contents import CheckpointContents
from gnomon.train.checkpoint_writer import CheckpointWriter
from gnomon.train.config import Config, to_dict
from gnomon.train.evaluate import HeldOut, Measure
from gnomon.train.gradient_check import GradientCheck
from gnomon.train.hashes import HashLog
from gnomon.train.learning_rate import factor_at
from gnomon.train.lock import Lock
from gnomon.train.metrics import DAMAGED, Metrics
from gnomon.train.order import batch_at
from gnomon.train.peak import Peak, measured_peak
from gnomon.train.progress import Progress, Status, StepTimes, peak_memory
from gnomon.train.recording import StepArrays, circumstances, numbers_of, state_of, values_as_arrays
from gnomon.train.replay import KeptState, Replay
from gnomon.train.replicas import Replicas
from gnomon.train.signals import Stop
from gnomon.train.state import load_optimizer, optimizer_arrays, optimizer_tensors, parameter_arrays
from gnomon.train.step import TrainStep, make_optimizer
from gnomon.train.team import Team
from gnomon.train.text import Text, prepare
from gnomon.train.tokenizer import load_tokenizer

__all__ = ["Trainer"]

COPIES = 4
"""The numbers in memory per weight: itself, its gradient, two averages."""


@dataclass
class Trainer:
    """The training of one run, from its start or a checkpoint to its end."""

    config: Config
    folder: Path
    progress: Progress
    resumed: Checkpoint | None = None
    lock: Lock | None = None
    team: Team = field(default_factory=Team)
    """The ranks that train together; the first one writes files and prints."""
    branches: list[dict[str, object]] = field(default_factory=list)
    """The steps after which the run continued with changed learning settings."""
    watch: StepTimes = field(default_factory=StepTimes)
    held_out_loss: float | None = None
    done: int = 0
    """The number of completed steps, including those before a resumption."""
    hashes: HashLog | None = None
    """The first rank's log of hashes of steps' values."""

    def __post_init__(self) -> None:
        self.done = self.resumed.step if self.resumed else 0

    def prepare(self) -> None:
        """Make text, model and optimizer; a resumed run loads them from its checkpoint."""
        refuse_too_large(self.config.model, COPIES)
        tokenizer = None
        begins = self.resumed.folder if self.resumed else self.config.train.init_from
        if begins is not None:
            tokenizer = load_tokenizer(Path(begins) / "tokenizer.json")
        self.progress.say(f"{self.folder}: reading the corpus and turning it into tokens")
        self.text: Text = prepare(self.config, tokenizer)
        self.refuse_other_text()
        if self.leads:
            publish(self.folder / "corpus.json", to_json(self.text.corpus.listing()))
        kind = kind_of(self.config.model)
        self.model = kind.model(self.config.model)
        self.optimizer: optim.AdamW = make_optimizer(self.model, self.config)
        if begins is None:
            kind.initialize(self.model, self.config.run.seed)
        team, mesh, plan = self.team, self.team.mesh, self.team.plan
        distribute(self.model, plan.table(self.model, kind.axes, mesh), mesh)
        self.model.to(self.config.run.device)
        if self.resumed:
            self.load(self.resumed)
        elif begins is not None:
            load_pretrained(self.model, Path(begins), mesh, team.rank)
        self.step = TrainStep(self.model, self.optimizer, self.config, mesh, plan, self.compares)
        self.held_out = HeldOut(
            self.model,
            self.text.held_out,
            self.text.lengths,
            (self.config.evaluation.batch_size, self.config.train.sequence_length),
            self.config.evaluation.stride,
            lambda window_bt: split_rows(window_bt, mesh, *plan.rows),
        )
        train = self.config.train
        self.replay = Replay(
            Replicas(self.model, self.optimizer, mesh),
            KeptState(self.model, self.optimizer, team.beside),
            team,
            self.replay_step,
            self.reload,
            self.save,
            math.gcd(train.batch_size // train.microbatches, self.config.evaluation.batch_size),
        )
        self.gradients = GradientCheck(self.model, team, train.microbatches, train.verify_every)
        self.peak = Peak(sum(team.gather(measured_peak())))
        self.writer = CheckpointWriter(
            self.folder, train.keep_checkpoints, self.team, self.progress.say
        )

    def load(self, checkpoint: Checkpoint) -> None:
        """Load parameters and the optimizer's state from a checkpoint."""
        place = self.team.mesh, self.team.rank
        load_parameters(self.model, checkpoint.parameters(), *place)
        load_optimizer(self.model, self.optimizer, checkpoint.optimizer(), *place)

    def introduction(self) -> list[str]:
        """The lines that describe a run at its start."""
        corpus, steps = self.text.corpus, self.config.train.steps
        size = sum(p.numel() for p in self.model.parameters())
        return [
            *self.other_numerics(),
            f"{len(corpus.training)} files of {corpus.folder} to learn from, "
            f"{len(corpus.held_out)} held out",
            f"{size:,} parameters, {len(self.text.training):,} tokens, {steps} steps; "
            f"matrix products reach {self.peak.flops / 1e9:.0f} GFLOP/s here",
        ]

    def other_numerics(self) -> list[str]:
        """A warning if a run is resumed with another version of numerics; else nothing."""
        began = self.resumed.trainer.get("numerics", 1) if self.resumed else NUMERICS
        if began == NUMERICS:
            return []
        return [
            f"resume: this run began with numerics {began}, this version has {NUMERICS}: "
            "its bits will not be those of a run that was never stopped"
        ]

    def refuse_other_text(self) -> None:
        """Refuse to resume a run on another corpus."""
        found = self.text.corpus.hash
        if self.resumed and self.resumed.trainer.get("data_hash") != found:
            raise CheckpointError(
                f"resume: {self.text.corpus.folder} holds other files than this run began with. "
                "Use the same interpreter, or start a new run."
            )

    def run(self) -> Stop:
        """Run the remaining steps; the result says whether a stop was requested."""
        first = self.done
        self.hashes = self.begin_hashes()
        metrics = Metrics(self.folder, after=first) if self.leads else None
        if metrics and metrics.unreadable:
            left = f"{metrics.unreadable} lines cannot be read and are left out"
            self.progress.say(f"{metrics.path}: {left}; as it was it is {DAMAGED}")
        try:
            with Stop() as stop:
                if self.compares:
                    self.replay.meet(first)
                for step in range(first, self.config.train.steps):
                    self.take(step, metrics)
                    stopping = self.meet(stop)
                    self.save_when(step + 1, stopping)
                    if stopping:
                        break
                self.writer.wait()
            if metrics:
                metrics.settle()
        finally:
            self.writer.close()
            for log in (metrics, self.hashes):
                if log:
                    log.close()
        if self.writer.failure:
            raise self.writer.failure
        return stop

    def meet(self, stop: Stop) -> bool:
        """Exchange the ranks' states after a step; returns whether any rank was asked to stop."""
        compared = self.compares_at(self.done)
        sums = self.replay.sums(self.saves_at(self.done)) if compared else []
        states = self.team.gather([stop.asked is not None, self.writer.finished, sums])
        self.writer.advance([finished for _, finished, _ in states])
        if sums:
            self.replay.compare(self.done, [each for _, _, each in states])
        return any(asked for asked, _, _ in states)

    def compares_at(self, done: int) -> bool:
        """Whether replicas are compared after a step: regularly, and before each checkpoint."""
        every = self.config.train.compare_replicas_every
        return self.compares and (done % every == 0 or self.saves_at(done))

    @property
    def compares(self) -> bool:
        """Whether replicas are compared in this run."""
        return self.team.mesh.size() > 1 and self.config.train.compare_replicas_every > 0

    def replay_step(self, step: int, exchanged: bool) -> int:
        """Repeat a step, with rows in another order if `exchanged`; its checksum of own losses."""
        window, rate = self.given(step)
        self.step(np.roll(window, len(window) // 2, 0) if exchanged else window, rate)
        return self.step.own_checksum

    def reload(self) -> int | None:
        """Load the latest checkpoint; returns its step, or None if there is none."""
        self.writer.wait()
        found = newest(self.folder)[0] if self.leads else None
        shared = self.team.share(found and str(found.folder))
        if shared is None:
            return None
        checkpoint = found or open_checkpoint(Path(shared))
        self.load(checkpoint)
        return checkpoint.step

    def save(self, done: int) -> None:
        """Save the state as that after `done` steps, and wait for completion."""
        self.writer.begin(self.contents(done))
        self.writer.wait()

    @property
    def leads(self) -> bool:
        """Whether this rank writes files and prints."""
        return self.team.leads

    def take(self, step: int, metrics: Metrics | None) -> None:
        """Run a step: read a batch, train on it, record and show the metrics."""
        self.check()
        began = time.perf_counter()
        window, rate = self.given(step)
        self.gradients.before(step, window)
        loss, norm = self.step(window, rate)
        seconds = time.perf_counter() - began
        if self.compares:
            self.replay.seen[step] = self.step.own_checksum
        if self.config.train.record_hashes:
            self.record(step + 1, self.arrays_of(step, loss, norm))
        self.refuse_what_is_not_finite(step, loss, norm)
        self.watch.count(seconds)
        done = self.done = step + 1
        self.write_down(done, (loss, norm, rate, seconds), metrics)

    def given(self, step: int) -> tuple[np.ndarray, float]:
        """The tokens and the learning rate of a step."""
        train = self.config.train
        shape = (train.batch_size, train.sequence_length)
        window = batch_at(self.text.training, shape, self.config.run.seed, step)
        return window, self.config.optimizer.learning_rate * factor_at(step, self.config)

    def begin_hashes(self) -> HashLog | None:
        """The log of hashes with the initial state; None if they are not recorded by this rank."""
        if not self.config.train.record_hashes:
            return None
        state = state_of(self.model, self.optimizer)
        if not self.leads:
            return None
        log = HashLog(self.folder, self.done, circumstances(self.team))
        if self.done not in log.steps:
            log.write(self.done, state)
        return log

    def arrays_of(self, step: int, loss: float, norm: float) -> StepArrays:
        """The inputs, computed values and resulting state of a step, gathered on all ranks."""
        made = numbers_of(*self.given(step)) | values_as_arrays(self.step.values, loss, norm)
        return made | state_of(self.model, self.optimizer)

    def record(self, done: int, arrays: StepArrays) -> None:
        """Log the hashes of a step."""
        if self.hashes:
            self.hashes.write(done, arrays)

    def write_down(
        self, done: int, found: tuple[float, float, float, float], metrics: Metrics | None
    ) -> None:
        """Evaluate held-out text if it is due, on all ranks; log and show the step's metrics."""
        train, (loss, norm, rate, seconds) = self.config.train, found
        shape = (train.batch_size, train.sequence_length)
        row: dict[str, object] = {"step": done, "loss": loss, "learning_rate": rate}
        row |= {"gradient_norm": norm, "tokens": done * math.prod(shape), "seconds": seconds}
        row |= {"memory": peak_memory(), **self.step.metrics}
        if train.evaluate_every and (done % train.evaluate_every == 0) and done < train.steps:
            measure = self.measure(self.config.evaluation.quick_windows)
            self.held_out_loss = measure.loss
            row |= {"held_out_loss": measure.loss, "held_out_bits_per_byte": measure.bits_per_byte}
        if metrics is None:
            return
        if refused := metrics.write(row):
            left = f"{refused.filename}: {refused.strerror}"
            self.progress.say(f"metrics of step {done} wait for the next: {left}")
        if self.watch.steps == 1:
            compiled = f"compiled in {self.watch.compiling:.1f} s"
            self.progress.say(f"{compiled}: {self.step.kernels} kernels run in a step")
            for line in self.step.repetitions() if self.team else ():
                self.progress.say(line)
        self.progress.update(self.status(done, loss))

    def refuse_what_is_not_finite(self, step: int, loss: float, norm: float) -> None:
        """Stop with an error if the loss or the gradient norm is not finite."""
        if not (math.isfinite(loss) and math.isfinite(norm)):
            self.writer.wait()
            if self.compares:
                self.replay.meet(step)
            raise GnomonError(
                f"train: step {step + 1} gave loss {loss} and gradient norm {norm}. "
                "The last checkpoint is whole: resume with a lower optimizer.learning_rate."
            )

    def measure(self, quick: int = 0) -> Measure:
        """Measure the loss of held-out text."""
        began = time.perf_counter()
        found = self.held_out.measure(quick)
        self.watch.measuring = time.perf_counter() - began
        return found

    def status(self, done: int, loss: float) -> Status:
        """The status of a run after a step."""
        train, seconds = self.config.train, self.watch.seconds_per_step
        rate = self.tokens_per_s
        flops = flops_per_token(self.config.model, train.sequence_length) * rate
        looks = (train.steps - done) // train.evaluate_every if train.evaluate_every else 0
        left = (train.steps - done) * seconds + looks * self.watch.measuring
        of_peak, correction = self.peak.part(flops), self.peak.correction()
        if correction:
            self.progress.say(f"step {done}: {correction}")
        return Status(
            step=done,
            steps=train.steps,
            loss=loss,
            held_out=self.held_out_loss,
            tokens_per_s=rate,
            of_peak=of_peak,
            memory=peak_memory(),
            left=left,
        )

    @property
    def tokens_per_s(self) -> float:
        """The tokens per second of this process's steps, without the first ones."""
        train, seconds = self.config.train, self.watch.seconds_per_step
        return train.batch_size * train.sequence_length / seconds if seconds else 0.0

    def save_when(self, done: int, stopping: bool) -> None:
        """Save a checkpoint if it is due, at the end, or if a stop was requested."""
        if stopping or self.saves_at(done):
            self.check()
            self.writer.begin(self.contents(done))

    def saves_at(self, done: int) -> bool:
        """Whether a checkpoint is due after a step."""
        every = self.config.train.checkpoint_every
        return done == self.config.train.steps or (every > 0 and done % every == 0)

    def check(self) -> None:
        """Raise an error if the run's folder is gone."""
        if self.lock is not None:
            self.lock.check()

    def contents(self, done: int) -> CheckpointContents:
        """The contents of a checkpoint, with this rank's part of the tensors."""
        place = self.team.mesh, self.team.rank
        return CheckpointContents(
            step=done,
            tensors={
                "model": parameter_tensors(self.model, *place),
                "optimizer": optimizer_tensors(self.model, self.optimizer, *place),
            },
            model=self.config.model,
            tokenizer=self.text.tokenizer.to_str(),
            trainer={
                "data_hash": self.text.corpus.hash,
                "config": to_dict(self.config),
                "branches": self.branches,
            },
        )

    def fingerprint(self) -> str:
        """SHA-256 over parameters and optimizer state in the order of names."""
        arrays = parameter_arrays(self.model) | optimizer_arrays(self.model, self.optimizer)
        return fingerprint(arrays)
