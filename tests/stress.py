"""Threads, forks and Ctrl-C at random moments of work that compiles, evaluates, trains and draws.

By hand: `python -m tests.stress forks --seconds N --seed S`, and so `threads` and `interrupts`.
Each ends with a line of counts, or with the first finding.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from queue import Empty, Queue
from typing import IO

import gnomon as gn

LIMIT = 40.0
"""Seconds for a child or a thread: what takes longer hangs."""

COMPUTED = 20.0
"""Seconds that a process may compute before it answers; a loaded machine gives it few of them."""

PATIENCE = 1200.0
"""Seconds for an answer of a process that waits for something."""


def task(seed: int) -> list[float]:
    """A little of everything; its numbers depend on the seed alone."""
    choose = random.Random(seed)
    rows, scale = choose.randint(2, 12), choose.choice((0.5, 1.5, 2.5))
    x = gn.arange(rows * 3.0).view(rows, 3).requires_grad_()
    fast = gn.compile(lambda x: ((x * scale).tanh() * seed).sum(0))
    made = fast(x)
    (made * made).sum().backward()
    model = gn.nn.Linear(3, 1)
    fill(model)
    optimizer = gn.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        model(x.detach()).sum().backward()
        optimizer.step()
    drawn = gn.rand(3, generator=gn.Generator().manual_seed(seed))
    return [*made.tolist(), *x.grad.sum(0).tolist(), *model.weight.tolist()[0], *drawn.tolist()]


@gn.no_grad()
def fill(model: gn.nn.Linear) -> None:
    """Give parameters their values."""
    model.weight.fill_(0.5)
    model.bias.fill_(0.25)


# threads


def repeat(work: Callable[[int], None], stop: threading.Event, seed: int) -> None:
    """Work until told to stop."""
    while not stop.is_set():
        seed += 1
        work(seed)


def busy(count: int, seed: int, stop: threading.Event) -> list[threading.Thread]:
    """Threads that compute without looking at what comes out."""
    made = [
        threading.Thread(target=repeat, args=(task, stop, seed + 1000 * k), daemon=True)
        for k in range(count)
    ]
    for thread in made:
        thread.start()
    return made


def threads(seconds: float, seed: int) -> str:
    """Many threads do the same tasks, share pending tensors, and must get the same numbers."""
    found: dict[int, list[list[float]]] = {}
    shared = gn.arange(12.0).view(3, 4) * 2
    lock, end, errors = threading.Lock(), time.monotonic() + seconds, []

    def work(number: int) -> None:
        k = 0
        while time.monotonic() < end and not errors:
            try:
                made = [*task(seed + k), *(shared + k).sum(1).tolist()]
                assert gn.is_grad_enabled(), "a mode of another thread"
                with gn.no_grad(), lock:
                    found.setdefault(k, []).append(made)
            except BaseException as error:
                errors.append(error)
            k += 1

    crew = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(4)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join(seconds + LIMIT)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]
    for k, all_made in found.items():
        assert all(made == all_made[0] for made in all_made), f"task {seed + k}: {all_made}"
    return f"{sum(map(len, found.values()))} tasks in 4 threads"


# forks


def forks(seconds: float, seed: int) -> str:
    """Forks while threads compute; each child computes and ends in time, with the same numbers."""
    choose, stop, done = random.Random(seed), threading.Event(), 0
    expected = subprocess.run(
        [sys.executable, "-c", f"from tests.stress import task; print(task({seed}))"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    busy(3, seed, stop)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        time.sleep(choose.random() * 0.1)
        with tempfile.TemporaryFile("w+", encoding="utf-8") as told:
            number = os.fork()
            if not number:
                child(seed, expected, told)
            outcome = wait(number)
            told.seek(0)
            assert outcome == 0, f"child {done}: {outcome}\n{told.read()}"
        done += 1
    stop.set()
    return f"{done} children"


def child(seed: int, expected: str, told: object) -> None:
    """Compute and leave; where it hangs is written down."""
    faulthandler.dump_traceback_later(LIMIT, exit=True, file=told)
    try:
        same = str(task(seed)) == expected
        os._exit(0 if same else 3)
    except BaseException as error:
        print(repr(error), file=told, flush=True)
        os._exit(4)


def wait(number: int) -> int:
    """The exit status of a child, which ends by itself."""
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])


# Ctrl-C


class Training:
    """Steps of a compiled training: it always holds what some number of steps gives."""

    def __init__(self) -> None:
        self.weights = [gn.full((7, 5), 0.5), gn.full((3,), 2.0), gn.full((64, 300), 0.25)]
        self.moments = [x * 0 for x in self.weights]
        self.step = gn.compile(self.stepped)

    def stepped(self) -> None:
        """One step: every tensor changes."""
        for weight, moment in zip(self.weights, self.moments, strict=True):
            moment.mul_(0.5).add_(weight)
            weight.sub_(moment * 0.125)

    def numbers(self) -> tuple[float, ...]:
        """One number of each tensor."""
        return tuple(x.reshape(-1)[-1].item() for x in (*self.weights, *self.moments))


STEPS = 200


def reference() -> set[tuple[float, ...]]:
    """What each number of steps gives."""
    training = Training()
    found = {training.numbers()}
    for _ in range(STEPS):
        training.step()
        found.add(training.numbers())
    return found


def place(frame: types.FrameType | None) -> str:
    """Where a frame is, and who called it."""
    calls = islice(traceback.walk_stack(frame), 12)
    return " < ".join(f"{x.f_code.co_qualname}:{line} @{x.f_lasti}" for x, line in calls)


class Places:
    """Where the latest interrupt came and where it was raised, for whom it does not arrive."""

    def __init__(self) -> None:
        self.latest = "no interrupt was handled"
        signal.signal(signal.SIGINT, self.interrupt)
        signal.signal(signal.SIGUSR2, self.say)

    def interrupt(self, _: int, frame: types.FrameType | None) -> None:
        """What Python's own handler does, which tells nobody."""
        self.latest = f"came in {place(frame)}\nraised in {place(sys._getframe(1))}"
        raise KeyboardInterrupt

    def say(self, *_: object) -> None:
        """Complain."""
        print(self.latest, file=sys.stderr, flush=True)


def interrupted(seed: int) -> None:
    """As a process: work until Ctrl-C, look whether all is right, and say so; again and again."""
    faulthandler.register(signal.SIGUSR1)
    Places()
    known, expected = reference(), task(seed)
    while True:
        try:
            print("ready", flush=True)
            training, k = Training(), 0
            while True:
                k += 1
                if k % STEPS == 0:
                    training = Training()
                training.step()
                if k % 8 == 0:
                    task(seed + k % 40)
                sum(gn.ones(4, n).sum().item() for n in (2, 3))
        except KeyboardInterrupt:
            print("stopped", flush=True)
        torn = training.numbers() not in known
        same = task(seed) == expected
        training.step()
        torn = torn or training.numbers() not in known
        print("torn" if torn else "right" if same else "wrong", flush=True)


def interrupts(seconds: float, seed: int) -> str:
    """Ctrl-C at random moments: it arrives in time, and leaves what it finds whole and usable."""
    choose, done, slowest = random.Random(seed), 0, 0.0
    command = [sys.executable, "-c", f"from tests.stress import interrupted; interrupted({seed})"]
    with tempfile.TemporaryFile("w+", encoding="utf-8") as complaints:
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=complaints, text=True)
        lines: Queue[str] = Queue()
        threading.Thread(target=heard, args=(worker, lines), daemon=True).start()
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                told = said(lines, worker)
                assert told == "ready", f"after {done}: {told}\n{tail(complaints)}"
                time.sleep(choose.random() * 0.2)
                start = computed(worker)
                worker.send_signal(signal.SIGINT)
                told = said(lines, worker)
                assert told == "stopped", f"after {done}: {told}\n{stack(worker, complaints)}"
                slowest = max(slowest, computed(worker) - start)
                outcome = said(lines, worker)
                assert outcome == "right", f"after {done}: {outcome}\n{tail(complaints)}"
                done += 1
        finally:
            worker.kill()
    return f"{done} times, the slowest after {slowest:.2f} s of computing"


def stack(worker: subprocess.Popen[str], complaints: IO[str]) -> str:
    """Where a process is that does not end, which signals wait, and where the latest one came."""
    waiting = [
        f"{file.parent.name}: {line}"
        for file in Path(f"/proc/{worker.pid}/task").glob("*/status")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith(("SigPnd", "ShdPnd", "SigBlk", "SigIgn", "SigCgt"))
    ]
    for number in (signal.SIGUSR1, signal.SIGUSR2):
        worker.send_signal(number)
        time.sleep(5)
    return "\n".join([*waiting, tail(complaints)])


def said(lines: Queue[str], worker: subprocess.Popen[str]) -> str:
    """The next line of a process; what it did where none comes."""
    start, before = time.monotonic(), computed(worker)
    while time.monotonic() - start < PATIENCE and computed(worker) - before < COMPUTED:
        try:
            return lines.get(timeout=1)
        except Empty:
            if worker.poll() is not None and lines.empty():
                return f"ended: {worker.returncode}"
    return f"computed for {computed(worker) - before:.0f} s, in {time.monotonic() - start:.0f} s"


def computed(worker: subprocess.Popen[str]) -> float:
    """Seconds that a process has computed; where the system does not say, those that pass."""
    file = Path(f"/proc/{worker.pid}/stat")
    if not file.exists():
        return time.monotonic()
    words = file.read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def heard(worker: subprocess.Popen, lines: Queue[str]) -> None:
    """Pass on what a process says, line by line."""
    for line in worker.stdout or ():
        lines.put(line.strip())


def tail(file: IO[str]) -> str:
    """The end of what a process complained of."""
    file.seek(0)
    return file.read()[-3000:]


MODES = {"threads": threads, "forks": forks, "interrupts": interrupts}


def main() -> None:
    """Run one kind of stress for some time."""
    wanted = argparse.ArgumentParser()
    wanted.add_argument("kind", choices=MODES)
    wanted.add_argument("--seconds", type=float, default=60.0)
    wanted.add_argument("--seed", type=int, default=0)
    given = wanted.parse_args()
    print(f"{given.kind}: {MODES[given.kind](given.seconds, given.seed)}", flush=True)
    # threads that are still at work need not finish
    os._exit(0)


if __name__ == "__main__":
    main()
