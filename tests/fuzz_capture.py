"""Compiled functions beside plain ones, while the Python values that they read change.

Each program (tests/capture_programs.py, capture_parts.py) runs twice, from the same text: a plain
function and a compiled one see the same changes between calls. Results, gradients, exceptions,
printed text and what others see of effects must be equal, or the compiled one refuses with an error
that names the line. By hand: python -m tests.fuzz_capture --seconds 600 --seed 1
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import re
import sys
import time
import types
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import gnomon as gn
from gnomon import nn
from gnomon.errors import ArgumentError, CompileError, GradientError, TraceError
from gnomon.models.decoder import MLP
from tests import capture_parts, capture_programs
from tests.capture_parts import Effect
from tests.capture_programs import Holder

HOLDERS = capture_programs.HOLDERS + capture_parts.HOLDERS
MOST_PARTS = 3
CALLS = 5
FILE = "fuzzed.py"
LINEAR, TANH, GATED = nn.Linear.forward, gn.tanh, MLP.forward
TALLY: Counter[str] = Counter()
MODES = {"no_grad": gn.no_grad, "autocast": gn.autocast, "inference": gn.inference_mode}


class Program(NamedTuple):
    """A text to run once; what happens before each call; how to see effects, and to undo it all."""

    text: str
    changes: list[str]
    seen: str
    undo: list[str]
    parts: tuple[str, ...]


class Outcome(NamedTuple):
    """What a run gave, what was warned about, and how often it was captured."""

    found: list[Any]
    warned: list[str]
    captures: int


def value(rng: random.Random) -> str:
    """A small number."""
    return str(rng.randint(1, 12) / 4)


def filled(text: str, number: int, first: str, rng: random.Random) -> str:
    """A part's text with its number and values."""
    text = re.sub(r"\bW\b", lambda _: value(rng), re.sub(r"\bV\b", first, text))
    return re.sub(r"K(?![a-z])", str(number), text)


def program_of(
    rng: random.Random,
    parts: Sequence[tuple[Holder, str, Sequence[str]]],
    effects: Sequence[Effect],
) -> Program:
    """A program of holders, each with whose code reads it and its changes, and of effects."""
    text, body, seen, undo, changes = capture_programs.HEAD, "", [], [], [""]
    for number, (holder, reader, changed) in enumerate(parts):
        first = value(rng)
        define, expression = capture_parts.READERS[reader]
        setup = holder.setup + define.replace("{read}", holder.read).replace("{{", "{")
        text += filled(setup.replace("}}", "}"), number, first, rng)
        read = expression.replace("{read}", holder.read)
        body += f"    y = y * number({filled(read, number, first, rng)})\n"
        changes += [filled(change, number, first, rng) for change in changed]
        undo.append(filled(holder.undo, number, first, rng))
    for number, effect in enumerate(effects, len(parts)):
        text += filled(effect.setup, number, "1.5", rng)
        body += f"    {filled(effect.do, number, '1.5', rng)}\n"
        seen.append(filled(effect.seen, number, "1.5", rng))
    text += f"def step(x):\n    y = x\n{body}    return y\n"
    names = tuple(f"{h.name} / {r} / {', '.join(c)}" for h, r, c in parts)
    names += tuple(e.name for e in effects)
    return Program(text, changes, f"[{', '.join(seen)}]", undo, names)


def readers_of(holder: Holder) -> list[str]:
    """Who can read a holder: a property is given no x."""
    wants = re.search(r"\bx\b", holder.read)
    return [name for name in capture_parts.READERS if not (wants and name == "property")]


def drawn(rng: random.Random) -> Program:
    """A random program."""
    holders = rng.sample(HOLDERS, rng.randint(1, MOST_PARTS))
    parts = [
        (
            h,
            rng.choice(readers_of(h)),
            rng.sample(h.changes, min(len(h.changes), rng.randint(0, 2))),
        )
        for h in holders
    ]
    return program_of(rng, parts, rng.sample(capture_parts.EFFECTS, rng.choice((0, 0, 0, 1, 1, 2))))


IMPOSSIBLE = (AttributeError, IndexError, KeyError, TypeError, GradientError)
"""What a change raises that another change before it made impossible."""


def run(program: Program, compiles: bool, grad: bool, order: Sequence[int]) -> Outcome:
    """Run a program: calls, and before each what changes."""
    sys.modules["fuzzed"] = module = types.ModuleType("fuzzed")
    names = vars(module)
    names.update(LINEAR=LINEAR, TANH=TANH, GATED=GATED, ABS=abs)
    found: list[Any] = []
    gn.manual_seed(0)
    with (
        warnings.catch_warnings(record=True) as told,
        contextlib.redirect_stdout(io.StringIO()) as out,
    ):
        warnings.simplefilter("always")
        try:
            exec(compile(program.text, FILE, "exec"), names)
            step = gn.compile(names["step"]) if compiles else names["step"]
            for k in order:
                with contextlib.suppress(*IMPOSSIBLE):
                    exec(compile(program.changes[k], "<change>", "exec"), names)
                found.append(called(step, names, program, grad))
                if is_refused(found[-1]):
                    break
                found += [out.getvalue(), looked(program, names)]
        finally:
            for text in program.undo:
                exec(text, names)
    mine = [str(w.message) for w in told if str(w.message).startswith("compile:")]
    found.append([str(w.message) for w in told if not str(w.message).startswith("compile:")])
    return Outcome(found, mine, getattr(step, "captures", 0))


def called(step: Callable, names: dict[str, Any], program: Program, grad: bool) -> Any:
    """What a call gives, or raises, and what can be seen after it."""
    x = gn.tensor([1.25, -0.5], requires_grad=grad)
    try:
        with contextlib.ExitStack() as modes:
            for mode in names["MODES"]:
                modes.enter_context(MODES[mode]())
            y = step(x)
        told = (str(y.dtype), y.requires_grad, y.tolist())
        if y.requires_grad:
            y.sum().backward()
        return (*told, None if x.grad is None else x.grad.tolist(), eval(program.seen, names))
    except Exception as error:
        return error


def looked(program: Program, names: dict[str, Any]) -> Any:
    """What can be seen after a call, also after one that raised."""
    try:
        return eval(program.seen, names)
    except Exception as error:
        return type(error).__name__


def is_refused(found: Any) -> bool:
    """Whether a call was refused in the way that is allowed: with a line and what to do."""
    is_ours = isinstance(found, (CompileError, TraceError, ArgumentError))
    return is_ours and re.search(rf"\. [A-Z].*\[{FILE}:\d+", str(found)) is not None


def plain(found: Any) -> Any:
    """An outcome as something to compare."""
    return (type(found).__name__, str(found)) if isinstance(found, Exception) else repr(found)


def differ(program: Program, grad: bool, order: Sequence[int]) -> str:
    """What a compiled run gives otherwise than a plain one; nothing if they are alike."""
    wanted, got = (run(program, compiles, grad, order) for compiles in (False, True))
    for a, b in zip(wanted.found, got.found, strict=False):
        if is_refused(b):
            TALLY["refused"] += 1
            return ""
        if plain(a) != plain(b):
            return f"{program.parts}\n  plain    {plain(a)}\n  compiled {plain(b)}\n{got.warned}"
    TALLY["warned"] += bool(got.warned)
    TALLY["captures"] += got.captures
    return ""


def tried(rng: random.Random) -> str:
    """One random program."""
    program = drawn(rng)
    order = [0, 0, *(rng.randrange(len(program.changes)) for _ in range(CALLS - 2))]
    TALLY["programs"] += 1
    return differ(program, rng.random() < 0.4, order)


def singles() -> Iterator[Program]:
    """Every holder with each of its changes, and every effect, alone."""
    rng = random.Random(0)
    for holder in HOLDERS:
        for change in holder.changes or ("",):
            yield program_of(rng, [(holder, "step", [change])], [])
    for effect in capture_parts.EFFECTS:
        yield program_of(rng, [], [effect])


def in_turn(program: Program) -> tuple[int, ...]:
    """Calls before and after a program's change."""
    return (0, 0, 1, 1, 0) if len(program.changes) > 1 else (0, 0, 0)


def main() -> None:
    """Try programs for a while, and print what differs."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seconds", type=float, default=60.0)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--singles", action="store_true", help="every part alone instead")
    given = words.parse_args()
    rng, until, findings = random.Random(given.seed), time.monotonic() + given.seconds, 0
    found = (differ(p, grad, in_turn(p)) for p in singles() for grad in (False, True))
    if not given.singles:
        found = iter(lambda: tried(rng), None)
    for told in found:
        findings += bool(told)
        print(told, flush=True) if told else None
        if time.monotonic() > until:
            break
    print(f"{findings} findings, {dict(TALLY)}")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
