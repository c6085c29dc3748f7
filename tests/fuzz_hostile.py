"""Hostile arguments to every operation: a result, or an error of ours that says `op: …`.

Calls of samples.py and CALLS are taken with one or two arguments replaced by what nobody should
pass. Each is a function of (seed, number). They run in a child process, so that a crash or a hang
is one finding and not the end. By hand, for as long as wanted, with or without asserts:

    python -m tests.fuzz_hostile --seconds 3600 --seed 1 [--optimized]
    python -m tests.fuzz_hostile --seed 1 --only 4711
    python -O -m tests.fuzz_hostile --seed 1 --told 100
"""

from __future__ import annotations

import argparse
import re
import resource
import selectors
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import gnomon as gn
from gnomon.errors import GnomonError
from gnomon.ir.provenance import scope
from gnomon.tensor.functions import FUNCTIONS
from gnomon.tensor.state import is_capturing, narrow
from tests.hostile_calls import CALLS
from tests.ops.samples import SAMPLES

WAIT = 30
"""Seconds after which a call hangs."""
ROOM = 1 << 30
"""Bytes that programs may take."""
SIGNATURE = re.compile(
    r"(missing \d+ required|takes .*(argument|positional)|unexpected keyword|multiple values|"
    r"missing a required argument|too many positional|takes no argument)"
)
"""What Python itself says of a call that does not fit a signature."""
READS = re.compile(r"^[^\s:][^:]*: \S", re.DOTALL)
"""How our messages begin."""

Function = Callable[..., Any]


@dataclass(frozen=True)
class Finding:
    """A call that ended otherwise than it may."""

    number: int
    call: str
    what: str

    def __str__(self) -> str:
        return f"{self.number}: {self.call}: {self.what}"


# calls

NUMBERS = (0, -1, -7, 1, 2, 99, 2**31, 2**40, 2**62, 2**63, -(2**63) - 1, 2**70, True)
FLOATS = (0.0, -0.0, -1.0, 0.5, 1.5, 1e-300, 1e300, float("nan"), float("inf"), float("-inf"))
STRANGERS = (None, "", "nope", object(), {}, (), [], b"x", 1j, lambda x: x)
TUPLES = ((0,), (-1,), (2**40,), (2**62, 2**62), (0, 0), (-3, 2), (1.5,), ("x",), (None,), (1,) * 9)
DTYPES = ("bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64")


def drawn(rng: np.random.Generator, choices: Any) -> Any:
    """One of several."""
    return choices[int(rng.integers(len(choices)))]


def array_instead(rng: np.random.Generator, value: np.ndarray) -> Any:
    """What may come instead of a tensor."""
    way = int(rng.integers(8))
    if way == 0:
        return value.astype(drawn(rng, DTYPES))
    if way == 1:
        return value[..., None] if rng.random() < 0.5 else value.reshape(-1)
    if way == 2:
        return value.reshape(-1)[:1].reshape(()) if value.size else value
    if way == 3 and value.ndim:
        axis = int(rng.integers(value.ndim))
        count = min(drawn(rng, (0, 0, 1, value.shape[axis] // 2)), value.shape[axis])
        return value.take(range(count), axis)
    if way == 4 and value.dtype.kind == "f":
        return np.full_like(value, drawn(rng, FLOATS))
    if way == 4:
        return np.full_like(value, drawn(rng, (-1, 99, 0))) if value.dtype.kind == "i" else value
    if way == 5 and value.dtype.kind == "i":
        ends = np.iinfo(value.dtype)
        return np.full_like(value, drawn(rng, (ends.max // 2 + 1, ends.max, ends.min)))
    return drawn(rng, (*STRANGERS, 3, 2.5, [1, 2], [[1.0], [2.0, 3.0]]))


def instead(rng: np.random.Generator, value: Any) -> Any:
    """What may come instead of an argument."""
    if isinstance(value, np.ndarray):
        return array_instead(rng, value)
    if isinstance(value, (list, tuple)) and len(value) and rng.random() < 0.6:
        changed = list(value)
        place = int(rng.integers(len(changed)))
        if rng.random() < 0.3:
            del changed[place]
        elif rng.random() < 0.3:
            changed.append(changed[place])
        else:
            changed[place] = instead(rng, changed[place])
        return type(value)(changed)
    kinds = (NUMBERS, FLOATS, STRANGERS, TUPLES)
    weights = {bool: (3, 1, 2, 1), int: (6, 2, 1, 2), float: (2, 6, 1, 1)}
    share = np.array(weights.get(type(value), (3, 2, 3, 3)), float)
    return drawn(rng, kinds[int(rng.choice(4, p=share / share.sum()))])


def tensors(value: Any, rng: np.random.Generator) -> Any:
    """Arguments with tensors for arrays, floats in float32."""
    if isinstance(value, np.ndarray):
        value = value.astype(np.float32) if value.dtype == np.float64 else value
        made = gn.tensor(value)
        return made.requires_grad_() if value.dtype == np.float32 and rng.random() < 0.3 else made
    if isinstance(value, (list, tuple)):
        return type(value)(tensors(part, rng) for part in value)
    return value


def shown(value: Any) -> str:
    """An argument in few words."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}" + (f"={value}" if value.size < 3 else "")
    if isinstance(value, (list, tuple)):
        return type(value).__name__ + "(" + ", ".join(map(shown, value)) + ")"
    return "function" if callable(value) else repr(value)[:40]


NAMES = sorted({*(n for n in SAMPLES if n in FUNCTIONS), *CALLS})


def call(seed: int, number: int) -> tuple[str, Function, list, dict, np.random.Generator]:
    """The call of a number: its name, what is called, with what."""
    rng = np.random.default_rng((seed, number))
    name = NAMES[number % len(NAMES)]
    if name in CALLS:
        function, args, named = CALLS[name]
    else:
        sample = drawn(rng, SAMPLES[name])
        function, args, named = FUNCTIONS[name], sample.args, sample.kwargs
    args, named = list(args), dict(named)
    own = getattr(gn.Tensor, getattr(function, "__name__", ""), None) is function
    places: list[Any] = [*range(own, len(args)), *named]
    for _ in range(1 + int(rng.random() < 0.3)):
        if places:
            place = drawn(rng, places)
            kept = args if isinstance(place, int) else named
            kept[place] = instead(rng, kept[place])
    if args and rng.random() < 0.05:
        args.pop()
    return name, function, args, named, rng


# what may come of it


def leaves(value: Any) -> Iterator[gn.Tensor]:
    """The tensors of a result."""
    if isinstance(value, gn.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from leaves(part)


def run(function: Function, args: list, named: dict, rng: np.random.Generator) -> None:
    """Make a call, look at every result, and take gradients where there are any."""
    args = [tensors(value, rng) for value in args]
    named = {word: tensors(value, rng) for word, value in named.items()}
    found = list(leaves(function(*args, **named)))
    gn.evaluate(*found)
    for x in found:
        if x.requires_grad and x.ndim:
            x.sum().backward()
            break
    gn.evaluate(*(x.grad for x in leaves([*args, *named.values()]) if x.grad is not None))


def verdict(error: BaseException | None) -> str | None:
    """What is wrong about the end of a call; nothing about most."""
    if error is None:
        return None
    if isinstance(error, GnomonError):
        return None if READS.match(str(error)) else f"reads {error}"
    if type(error) is TypeError and SIGNATURE.search(str(error)):
        return None
    frames = traceback.extract_tb(error.__traceback__)
    last = next((f for f in reversed(frames) if "gnomon" in f.filename), frames[-1])
    where = f"{last.filename.partition('gnomon/')[2] or last.filename}:{last.lineno}"
    return f"{type(error).__name__} at {where}: {str(error)[:80]}"


def good(n: int) -> str | None:
    """What is wrong about a program of this size that is none of the above's business."""
    waiting = gn.arange(n) + 1
    numbers = np.arange(n)
    x = gn.tensor(numbers.astype(np.float32), requires_grad=True)
    bytes_ = (gn.arange(n) * 3 % 7).to(gn.uint8)
    (x * x * 2).sum().backward()
    made = [gn.sort(bytes_).tolist(), gn.maximum(bytes_, 3).tolist(), x.grad.tolist()]
    made += [waiting.tolist(), gn.cumsum(gn.tensor(numbers), 0).tolist()]
    expected = (numbers * 3 % 7).astype(np.uint8)
    wanted = [np.sort(expected), np.maximum(expected, 3), numbers * 4.0, numbers + 1]
    wanted += [np.cumsum(numbers)]
    right = made == [w.tolist() for w in wanted]
    quiet = scope.sites is None and not is_capturing() and narrow.get() is None
    return None if right and quiet and gn.is_grad_enabled() else f"a good program of {n} went wrong"


def attempt(seed: int, number: int) -> Finding | None:
    """Make a call; now and then a good program after it."""
    name, function, args, named, rng = call(seed, number)
    words = [*map(shown, args), *(f"{word}={shown(value)}" for word, value in named.items())]
    told, error = f"{name}({', '.join(words)})", None
    try:
        run(function, args, named, rng)
    except KeyboardInterrupt:
        raise
    except BaseException as raised:
        error = raised
    what = verdict(error)
    if what is None and number % 16 == 0:
        try:
            what = good(3 + number // 16 % 61)
        except BaseException as raised:
            what = f"a good program: {type(raised).__name__}: {raised}"
    return None if what is None else Finding(number, told, what)


# the child, and who watches it


def told(seed: int, most: int) -> Iterator[str]:
    """How each of the first calls ends."""
    for number in range(most):
        _, function, args, named, rng = call(seed, number)
        try:
            run(function, args, named, rng)
            yield f"{number}: done"
        except Exception as error:
            text = re.sub(r"0x[0-9a-f]+", "", str(error)).replace("\n", " ")
            yield f"{number}: {type(error).__name__}: {text}"


def child(seed: int, first: int, step: int) -> None:
    """Make one call after another; say the number before, and what was found after."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    gn.set_memory_limit(ROOM)
    number = first
    while True:
        print(f"> {number}", flush=True)
        found = attempt(seed, number)
        print("." if found is None else f"! {found}".replace("\n", " "), flush=True)
        number += step


def describe(seed: int, number: int) -> str:
    """A call in words."""
    name, _, args, named, _ = call(seed, number)
    words = [*map(shown, args), *(f"{word}={shown(value)}" for word, value in named.items())]
    return f"{name}({', '.join(words)})"


def started(seed: int, first: int, step: int, optimized: bool) -> subprocess.Popen:
    """A child from a number on."""
    flags = ["-O"] if optimized else []
    about = ["--seed", str(seed), "--child", str(first), "--step", str(step)]
    command = [sys.executable, *flags, "-W", "ignore", "-m", "tests.fuzz_hostile", *about]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def lines_of(process: subprocess.Popen) -> Iterator[str | None]:
    """What a child says; None when it has said nothing for too long, or is gone."""
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ)
        while waiting.select(WAIT + 60 * (process.poll() is not None)):
            line = process.stdout.readline().decode()
            if not line:
                break
            yield line.strip()
    yield None


def fuzz(seed: int, most: int, seconds: float, optimized: bool = False) -> tuple[int, list]:
    """Calls until there were so many or time is up: how many, and what was found."""
    until, number, findings = time.monotonic() + seconds, 0, []
    step = 1
    while number < most and time.monotonic() < until:
        process = started(seed, number, step, optimized)
        for line in lines_of(process):
            if line is None:
                ended = process.poll()
                what = "hangs" if ended is None else f"the process ended with {ended}"
                findings.append(Finding(number, describe(seed, number), what))
                number += step
                break
            if line.startswith(">"):
                number = int(line[1:])
            elif line.startswith("!"):
                findings.append(line[2:])
            if number >= most or time.monotonic() > until:
                break
        process.kill()
        process.wait()
        process.stdout.close()
    return number, findings


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--most", type=int, default=10**9)
    parser.add_argument("--only", type=int)
    parser.add_argument("--child", type=int)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--optimized", action="store_true")
    parser.add_argument("--told", type=int)
    asked = parser.parse_args()
    if asked.child is not None:
        child(asked.seed, asked.child, asked.step)
    gn.set_memory_limit(ROOM)
    if asked.told is not None:
        print(*told(asked.seed, asked.told), sep="\n")
        return
    if asked.only is not None:
        print(describe(asked.seed, asked.only))
        _, function, args, named, rng = call(asked.seed, asked.only)
        run(function, args, named, rng)
        return
    count, findings = fuzz(asked.seed, asked.most, asked.seconds, asked.optimized)
    print(*findings, sep="\n")
    print(f"{count} calls, {len(findings)} findings")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
