"""A rank's script: training, with a bit of rank 1's memory that turns after each third step.

Not a test. It happens where there are two ranks: the one that is left out had this fault.
"""

from __future__ import annotations

import sys

from gnomon.__main__ import run
from gnomon.train.loop import Trainer
from tests.train.planted import flip

take = Trainer.take


def wrong(self: Trainer, step: int, *given: object) -> None:
    """Take a step, and turn a bit."""
    take(self, step, *given)
    if self.team.mesh.size() == 2 and self.team.rank == 1 and step % 3 == 2:
        flip(next(iter(self.model.parameters())))


if __name__ == "__main__":
    Trainer.take = wrong
    run(["train", *sys.argv[1:]])
