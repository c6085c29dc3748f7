"""Write checkpoints in a thread while training continues, one at a time, by all ranks together.

A save copies the parts that this rank owns and returns. Its thread writes the copy; at the end of
each step the ranks' main threads, which alone may communicate, exchange whether all have written.
Then the first rank's thread completes the folder and names it. Disk errors are reported, the folder
is dropped, and the next save tries again.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from gnomon.errors import ConfigError
from gnomon.runtime.files import remove_folder, write
from gnomon.train.checkpoint import checkpoints
from gnomon.train.checkpoint_contents import (
    CheckpointContents,
    Shares,
    aside_of,
    publish,
    write_share,
)
from gnomon.train.team import Team

__all__ = ["CheckpointWriter"]


class Stopped(Exception):
    """Raised in the writing thread to end it."""


class CheckpointWriter:
    """The writer of a run's checkpoints on one of the training ranks.

    Raises ConfigError if ranks do not share the run's folder.
    """

    def __init__(self, run: Path, keep: int, team: Team, say: Callable[[str], None]) -> None:
        self.run, self.keep, self.team, self.say = run, keep, team, say
        self.token = team.share(uuid.uuid4().hex)
        self.failure: OSError | None = None
        """The error of the latest save; earlier ones are complete."""
        self.saved: CheckpointContents | None = None
        """The copied contents that are being written; None if there is no save."""
        self.publishing = self.stopped = False
        self.thread: threading.Thread | None = None
        self.outcome: Shares | BaseException | None = None
        refuse_separate_folders(run, team, self.token)

    def begin(self, contents: CheckpointContents) -> None:
        """Start a save once the previous one is complete: copy the state, write it in a thread."""
        self.wait()
        self.failure, self.saved = None, contents.staged()
        aside = aside_of(self.run, contents.step, self.token)
        self.start(partial(write_share, aside, self.saved, self.team.leads, self.proceed))

    def start(self, work: Callable[[], Shares | None]) -> None:
        """Run work in a thread, and store its result or exception."""

        def run() -> None:
            try:
                self.outcome = work()
            except BaseException as wrong:
                self.outcome = wrong

        self.outcome = None
        self.thread = threading.Thread(target=run, name="checkpoint", daemon=True)
        self.thread.start()

    def proceed(self) -> None:
        """Raise Stopped in the writing thread if the run has ended."""
        if self.stopped:
            raise Stopped

    @property
    def finished(self) -> bool:
        """Whether this rank has finished writing; others may not have."""
        return self.thread is None or not self.thread.is_alive()

    def advance(self, finished: Sequence[bool]) -> None:
        """Advance the save to its next stage once all ranks have reported that they finished."""
        if self.saved is None or not all(finished):
            return
        if self.outcome is not None and not isinstance(self.outcome, OSError | dict):
            raise self.outcome
        reports = self.team.gather(report_of(self.outcome))
        failures = [x["failed"] for x in reports if "failed" in x]
        if failures:
            self.drop(OSError(*failures[0]))
        elif self.publishing:
            self.saved, self.publishing = None, False
        else:
            self.publishing, self.thread, self.outcome = True, None, None
            if self.team.leads:
                aside = aside_of(self.run, self.saved.step, self.token)
                shares = [x["shares"] for x in reports]
                self.start(partial(publish, aside, self.saved, shares, self.keep))

    def drop(self, failure: OSError) -> None:
        """Report a failed save, and delete its files."""
        assert self.saved is not None, "advance: something is saved."
        aside = aside_of(self.run, self.saved.step, self.token)
        if self.team.leads:
            with suppress(OSError):
                remove_folder(aside)
            last = checkpoints(self.run)[-1:]
            kept = f"{last[0].name} is kept" if last else "there is none before it"
            why = f"{failure.filename}: {failure.strerror}"
            step = self.saved.step
            self.say(f"step {step} was not saved: {why}. Training goes on; {kept}.")
        self.failure, self.saved, self.publishing = failure, None, False

    def wait(self) -> None:
        """Wait, with all ranks, until the save is complete."""
        while self.saved is not None:
            if self.thread is not None:
                self.thread.join()
            self.advance([True])

    def close(self) -> None:
        """Stop without the other ranks; only a finished save gets its name."""
        self.stopped = True
        if self.thread is not None:
            self.thread.join()


def report_of(outcome: Shares | OSError | None) -> dict[str, object]:
    """The result of a rank's writing thread, as a message."""
    if isinstance(outcome, OSError):
        return {"failed": [outcome.errno, outcome.strerror, str(outcome.filename)]}
    return {"shares": outcome or {}}


def refuse_separate_folders(run: Path, team: Team, token: str) -> None:
    """Refuse a run's folder that a rank does not share with the first one."""
    mark = run / f".shared.{token}"
    if team.mesh.size() == 1:
        return
    if team.leads:
        write(mark, b"")
    team.share(None)
    seen = team.gather(mark.exists())
    if team.leads:
        mark.unlink(missing_ok=True)
    if not all(seen):
        raise ConfigError(
            f"train: rank {seen.index(False)} does not see {run}: ranks write checkpoints "
            "together. Name a folder that all of them share: --set run.dir=PATH."
        )
