"""Random Python programs that look at values, compiled beside plain.

A program is text: branches, loops, closures, lists, exceptions, generators, counters, prints,
writes and gradients, put together at random. It runs twice, plain and compiled, over equal calls:
what it gives, raises and prints, what it leaves behind, gradients, and what shares memory must be
equal, to the bit. By hand: python -m tests.fuzz_breaks --seconds 600 --seed 1
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import random
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import gnomon as gn
from gnomon.errors import CompileError, TraceError

HEAD = """
import functools, math
import numpy as np
import gnomon as gn
from gnomon import nn, optim
class Box:
    def __init__(self): self.n, self.last = 0, 0.0
    def __enter__(self): self.n += 10; return self
    def __exit__(self, *_): return False
    def scaled(self, t): return t * 2 if t.sum() > self.limit else t * 3
    limit = 1.0
W = gn.tensor([0.5, -1.0, 2.0], requires_grad=True)
OUT = gn.tensor([1.0, 2.0, 3.0])
OPT = optim.SGD([W], lr=0.125)
BOX, LOG, COUNT = Box(), [], 0
def halves(t):
    left = 6  # what is infinite has no end
    while left and t.abs().sum() > 1.0:
        t, left = t * 0.25, left - 1
        yield t
def twice(t): return t + t if t[0] > 0 else t
"""
CALLS = 5
KINDS = ("while", "while", "for", "count", "generator", "try", "with", "def")
FILE = "fuzzed_breaks.py"
RATES = (0.5, 0.25, -1.5, 2.0, 0.0)
DEEPEST = 2
Call = tuple
"""The number of a value, and numbers beside it."""
TALLY: Counter[str] = Counter()
VALUES = ([1.0, -0.5, 0.25], [0.125, 0.25, -2.0], [-1.0, -1.0, 3.0], [0.0, 0.5, 0.5])

SCALARS = ("a.sum()", "(a * x).mean()", "a.max()", "a[0]", "b", "(a * W).sum()", "x[2]")
TESTS = (
    "{s} > {v}", "{s}.item() > {v}", "bool({s} < {v})", "float({s}) <= {v}", "not {s} > {v}",
    "{s} > b", "0 < {s} and {s} < {v}", "(a > {v}).any()", "int({s}) % 2", "{s}.tolist() < {v}",
    "a.detach().numpy()[1] > {v}", "n > 1", "v > {v}", "len(a[a > {v}]) > 1", "{s}",
    "r > {v}", "q % 2", "r * v > q", "q == 2", "v >= r",
)  # fmt: skip
PLAIN = (
    "a = a * {v} + x", "a = a.tanh()", "a = a + b", "b = {s} * {v}", "a = a - {v}", "a = a.clone()",
    "a = a * W", "n += 1", "v = {s}.item()", "v = float({s}) * {v}", "a = a * v", "v = v + {v}",
    "b = b + n", "a = a + a.detach().tolist()[1]", "a = a / (1 + abs(v))", "b = gn.tensor(v)",
    "a = a + float(np.asarray(a.detach()).max())", "m = a[a > {v}]; b = b + m.sum()",
    "a = twice(a)", "a = BOX.scaled(a)", "a = a + gn.rand(3)", "a = a.detach()",
    "k = [t * {v} for t in (a, b) if t.sum() > 0]; n += len(k)", "a = (lambda t: t * b)(a)",
    "a = functools.reduce(lambda s, t: s + t if t.sum() > {v} else s, [a, x, b], a)",
    "d = {{'a': a, 'b': b}}; a = d['a' if {s} > {v} else 'b'] * gn.ones(3)",
    "n = max(n, int({s}))", "a = a.reshape(3, 1).flatten()", "b = {s}.to(gn.float64).float()",
    "a = gn.where(a > {v}, a, b)", "v = min(v, {v})", "v = math.sqrt(abs(v))",
    "a = a * r", "a = a + q", "v = v * r + q", "a = r - a / 2", "v = v / (r + 4)", "n += q",
    "a = a * (q * r)", "v = max(v, r)", "a = a[: q + 1].sum() * x", "b = b + r * q - v", "v = -r",
    "v = (v - r) / (1 + q)", "n = q * n - 1", "v = round(r, 1)", "a += r", "b = gn.tensor(r) * b",
    "v = {s}.item() * r; a = a + v", "v = {s}.item(); n += v > r", "v = f'{r}'.count('5') + 0.5",
)  # fmt: skip
EFFECTS = (
    "print('at', n, round(v, 3))", "LOG.append(n)", "LOG.append(v)", "BOX.n += 1", "BOX.last = v",
    "COUNT += 1", "OUT.add_({v})", "OUT.mul_(a.detach())", "OUT[1] = b.detach()", "BOX.kept = a",
    "(W * a.detach()).sum().backward()", "OPT.step()", "OPT.zero_grad()", "a = a * OUT",
    "x.mul_({v}) if not x.requires_grad else None", "BOX.limit = v", "a = a * BOX.last",
    "a = a + COUNT", "print(a.detach())", "LOG.append(b.item())", "LOG.append(r)",
    "BOX.last = v * r",
)  # fmt: skip
RETURNS = (
    "return a", "return a, v", "return {{'a': a, 'n': n, 'b': b}}", "return [a, (b, x)]",
    "return b", "return a.sum().item()", "return OUT, a", "return a[1:], a", "return x",
    "return v, n", "return a.detach().numpy()", "return a.tolist(), b", "return r, a",
    "return a * r, q * v, n", "return {{'r': r * 2, 'v': v, 'q': q}}", "return a.view(3), n",
    "return None",
)  # fmt: skip


class Writer:
    """Writes the text of a program."""

    def __init__(self, rng: random.Random, effects: float) -> None:
        self.rng, self.effects = rng, effects

    def filled(self, text: str) -> str:
        """A part's text with values and looks."""
        text = text.replace("{s}", self.rng.choice(SCALARS))
        number = str(self.rng.choice((-1.5, -0.5, 0.25, 0.5, 1.0, 1.25, 2.0)))
        return text.replace("{v}", number).replace("{{", "{").replace("}}", "}")

    def test(self) -> str:
        """A question."""
        return self.filled(self.rng.choice(TESTS))

    def block(self, depth: int, indent: str, loops: bool = False) -> str:
        """A few statements."""
        made = "".join(self.statement(depth, indent) for _ in range(self.rng.randint(1, 3)))
        if loops and self.rng.random() < 0.3:
            made += f"{indent}if {self.test()}: {self.rng.choice(('break', 'continue'))}\n"
        return made

    def statement(self, depth: int, indent: str) -> str:
        """One statement."""
        kind = self.rng.random()
        if depth >= DEEPEST or kind < 0.5:
            effect = self.rng.random() < self.effects
            return f"{indent}{self.filled(self.rng.choice(EFFECTS if effect else PLAIN))}\n"
        inner = indent + "    "
        head, tail = f"{indent}if {self.test()}:\n", ""
        if kind < 0.72:
            if self.rng.random() < 0.6:
                tail = f"{indent}else:\n{self.block(depth + 1, inner)}"
            return head + self.block(depth + 1, inner) + tail
        return self.compound(depth, indent, inner)

    def compound(self, depth: int, indent: str, inner: str) -> str:
        """A loop, a try, a with or a function."""
        limit, name = f"limit{len(indent)}_{self.rng.randrange(99)}", self.rng.randrange(99)
        kind = self.rng.choice(
            ("while", "while", "for", "count", "generator", "try", "with", "def")
        )
        body = self.block(depth + 1, inner, kind in ("while", "for", "count", "generator"))
        if kind == "while":
            head = f"{indent}{limit} = 0\n{indent}while {limit} < 4 and {self.test()}:\n"
            return f"{head}{inner}{limit} += 1; a = a * 0.5\n{body}"
        if kind == "for":
            head = f"{indent}for t in [a, b, x][: 1 + ({self.test()})]:\n"
            return f"{head}{inner}b = b + t.sum()\n{body}"
        if kind == "count":
            return f"{indent}for i in range(int(abs({self.filled('{s}')})) % 3):\n{body}"
        if kind == "generator":
            return f"{indent}for t in halves(a):\n{inner}b = b + t.sum()\n{body}"
        if kind == "try":
            caught = self.block(depth + 1, inner)
            risky = f"{inner}if {self.test()}: raise KeyError('asked', n)\n"
            return f"{indent}try:\n{risky}{body}{indent}except KeyError:\n{caught}"
        if kind == "with":
            around = self.rng.choice(("gn.no_grad()", "BOX", "gn.enable_grad()"))
            return f"{indent}with {around}:\n{body}"
        head = f"{indent}def f{name}(a, b=b):\n{inner}nonlocal n\n{inner}v = 0.5\n"
        return f"{head}{body}{inner}return a * b\n{indent}a = f{name}(a)\n"

    def program(self) -> str:
        """A whole program."""
        text = HEAD + "def outer(x, r=0.5, q=1):\n    n, v, a, b = 0, 0.5, x * 1, x.sum()\n"
        text += "    def step():\n        nonlocal n, v, a, b\n        global COUNT\n"
        text += self.block(0, " " * 8) + self.block(0, " " * 8) + self.block(0, " " * 8)
        if self.rng.random() < 0.2:
            text += f"        if {self.test()}: raise ValueError('ended', n)\n"
        if self.rng.random() < 0.3:
            text += f"        if {self.test()}: {self.filled(self.rng.choice(RETURNS))}\n"
        return text + f"        {self.filled(self.rng.choice(RETURNS))}\n    return step()\n"


def run(text: str, around: Callable, grad: bool, calls: Sequence[Call]) -> tuple[list[Any], Any]:
    """What can be seen of the calls of a program, and the function that ran."""
    names: dict[str, Any] = {"__name__": "fuzzed_breaks"}
    gn.manual_seed(0)
    found: list[Any] = []
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(text, FILE, "exec"), names)
        step = around(names["outer"])
        for k, *numbers in calls:
            x = gn.tensor(VALUES[k], requires_grad=grad)
            found.append(called(functools.partial(step, x, *numbers), x, names))
            if is_refused(found[-1]):
                break
            found.append(out.getvalue())
    return found, step


def called(step: Callable, x: gn.Tensor, names: dict[str, Any]) -> Any:
    """What a call gives or raises, and what is to be seen after it."""
    try:
        made = step()
    except Exception as error:
        if is_refused(error):
            return error
        made = error
    tensors: list[gn.Tensor] = []
    told = [told_of(made, tensors), left(x, names)]
    places = [x._storage, names["OUT"]._storage, names["W"]._storage]
    told.append([next((k for k, s in enumerate(places) if s is t._storage), None) for t in tensors])
    told.append([[s._storage is t._storage for s in tensors] for t in tensors])
    wanted = [t for t in tensors if t.requires_grad and not t.is_leaf]
    if wanted:
        try:
            sum(t.sum() for t in wanted).backward()
        except Exception as error:
            told.append(type(error).__name__)
    for t in tensors:
        with gn.no_grad(), contextlib.suppress(Exception):
            t.add_(1)
    return repr([*told, [told_of(t, []) for t in tensors], left(x, names)])


def told_of(value: Any, tensors: list[gn.Tensor]) -> Any:
    """A result with its types; its tensors are noted."""
    if isinstance(value, gn.Tensor):
        tensors.append(value)
        return (str(value.dtype), value.requires_grad, value.is_leaf, value.tolist())
    if isinstance(value, dict):
        return {k: told_of(v, tensors) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(told_of(v, tensors) for v in value)
    if hasattr(value, "tobytes"):
        return (type(value).__name__, str(value.dtype), value.tolist())
    return (type(value).__name__, str(value))


def left(x: gn.Tensor, names: dict[str, Any]) -> Any:
    """What a call leaves behind."""
    kept = [names[name] for name in ("W", "OUT")]
    grads = [None if t.grad is None else t.grad.tolist() for t in (x, *kept)]
    box = {k: told_of(v, []) for k, v in vars(names["BOX"]).items()}
    state = gn.default_generator.get_state().tolist() if hasattr(gn, "default_generator") else None
    return [x.tolist(), [t.tolist() for t in kept], grads, names["LOG"], names["COUNT"], box, state]


def is_refused(found: Any) -> bool:
    """Whether a call was refused in the way that is allowed: with a line and what to do."""
    is_ours = isinstance(found, (CompileError, TraceError))
    return is_ours and re.search(rf"\. [A-Z].*\[{FILE}:\d+", str(found)) is not None


def differ(text: str, grad: bool, calls: Sequence[Call]) -> str:
    """What a compiled run gives otherwise than a plain one; nothing if they are alike."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted, _ = run(text, lambda f: f, grad, calls)
        got, step = run(text, gn.compile, grad, calls)
    TALLY["programs"] += 1
    TALLY["captures"] += step.captures
    TALLY["breaks"] += any(hasattr(p, "root") for p in step._kept())
    for k, (a, b) in enumerate(zip(wanted, got, strict=False)):
        if is_refused(b):
            TALLY["refused"] += 1
            TALLY[f"refused: {str(b)[:40]}"] += 1
            return ""
        if a != b:
            told = f"{text[len(HEAD) :]}call {k // 2} of {list(calls)}, grad {grad}"
            return f"{told}\n  plain    {a}\n  compiled {b}\n"
    return ""


def tried(rng: random.Random) -> str:
    """One random program."""
    text = Writer(rng, rng.choice((0.0, 0.1, 0.3))).program()
    numbers = rng.random() < 0.5
    calls: list[Call] = [
        (rng.randrange(len(VALUES)), *((rng.choice(RATES), rng.randrange(3)) if numbers else ()))
        for _ in range(CALLS)
    ]
    return differ(text, rng.random() < 0.4, calls)


def main() -> None:
    """Try programs for a while, and print what differs."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seconds", type=float, default=60.0)
    words.add_argument("--seed", type=int, default=0)
    words.add_argument("--most", type=int, default=5, help="findings to stop at")
    given = words.parse_args()
    until, findings, seed = time.monotonic() + given.seconds, 0, given.seed * 1_000_000
    while time.monotonic() < until and findings < given.most:
        seed += 1
        try:
            told = tried(random.Random(seed))
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
        if told:
            findings += 1
            print(f"--- seed {seed}\n{told}", flush=True)
    print(f"{findings} findings, {dict(TALLY)}")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
