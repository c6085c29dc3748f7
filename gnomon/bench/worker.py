"""A contender's process as the harness sees it: started, asked, ended."""

from __future__ import annotations

import json
import select
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from gnomon.bench.peers import Contender, environment_of
from gnomon.errors import GnomonError

__all__ = ["BenchWorker", "Failed"]

PATIENCE = 900.0
"""Seconds that one answer may take: a peer's compiler can take minutes."""
SERVE = Path(__file__).with_name("serve.py")


class Failed(GnomonError):
    """A contender that cannot take part, with the last line that it said."""


class BenchWorker:
    """A resident process; `first_steps` is its report of the first steps."""

    def __init__(self, contender: Contender, problem: Path, threads: int) -> None:
        self.contender = contender
        self.log = problem / f"{contender.name}.log"
        words = [contender.module, contender.function, str(problem), contender.variant]
        began = time.perf_counter()
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [contender.python, "-P", str(SERVE), *words, str(threads)],
                **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": log},
                env=environment_of(contender, threads),
            )
        try:
            self.first_steps = self._answer()
        except Failed:
            self.end()
            raise
        self.started = time.perf_counter() - began

    def ask(self, **question: Any) -> dict[str, Any]:
        """The answer to a question of gnomon/bench/serve.py."""
        assert self.process.stdin is not None, "the process was started with a pipe."
        try:
            self.process.stdin.write(json.dumps(question).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            self.process.wait()
            raise self._failed() from None
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        """The next line."""
        out = self.process.stdout
        assert out is not None, "the process was started with a pipe."
        if not select.select([out], [], [], PATIENCE)[0]:
            self.process.kill()
        line = out.readline()
        if not line:
            self.process.wait()
            raise self._failed()
        return json.loads(line)

    def _failed(self) -> Failed:
        said = self.log.read_text(errors="replace").strip().splitlines()
        return Failed(f"{self.contender.name}: {said[-1] if said else 'ended without a word.'}")

    def end(self) -> None:
        """Stop the process."""
        if self.process.stdin:
            with suppress(OSError):
                self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
