"""Random functions of lists, dictionaries and objects, compiled beside plain.

A function is text: it reads, writes, keeps and gives back containers that it was given, that it
makes and that lie outside. It runs twice, plain and compiled, over equal calls. After each call the
arguments, everything that was ever given back, and what lies outside must be equal: values, and
which places hold one object. By hand: python -m tests.fuzz_objects --seconds 600 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from typing import Any

import numpy as np

import gnomon as gn

HEAD = """
import dataclasses
from collections import OrderedDict, defaultdict
from types import SimpleNamespace
import gnomon as gn
class Box:
    def __init__(self): self.n = 0
    def grow(self, t): self.n += 1; self.t = t; return self
@dataclasses.dataclass
class Pair:
    x: object
    y: object = 1
@dataclasses.dataclass(slots=True)
class Slim:
    x: object
@dataclasses.dataclass(frozen=True)
class Ice:
    x: object
    k: int = 2
class Words(dict):
    pass
KEEP, BOX = [], Box()
BOX.t = gn.tensor([0.5, 0.25])
P = gn.tensor([1.0, 4.0])
"""
CALLS = 4
FILE = "fuzzed_objects.py"
MADE = (
    *("{{}}", "[]", "[v]", "{{'k': v}}", "{{'k': v, 'l': l}}", "Box()", "Box().grow(v)", "Pair(v)"),
    *("Pair(d, l)", "Slim(v)", "Ice(v)", "OrderedDict(k=v)", "defaultdict(list)", "Words(k=v)"),
    *("SimpleNamespace(x=v)", "(v, l)", "[d, d]", "{{'o': o}}", "[e]", "[x * 2 for x in (v, a)]"),
    *("dict(d)", "list(l)", "[l, o]", "{{1, 2}}", "[v, v]"),
)
STEPS = (
    *("v = v * {n} + a", "v = a * {n}", "v = v.clone()", "v = v + o.n", "o.n += 1", "o.x = v"),
    *("d['k'] = v", "d['{n}'] = v", "l.append(v)", "l.append({n})", "l.insert(0, a)", "l[0] = v"),
    *("v = v + d.get('k', a)", "v = v + l[0]", "v = v * len(l)", "d['l'] = l", "o.l = l"),
    *("l.reverse()", "l.pop() if len(l) > 1 else None", "d.pop('k', None)", "d.update(j=v)"),
    *("v.add_({n})", "l[0].mul_(2)", "d['k'].zero_() if 'k' in d else None", "d.setdefault('z')"),
    *("e = d", "e = l", "e = o", "d['e'] = e", "l.append(e)", "o.e = e", "l += [v, v]"),
    *("o.n = o.n * 2", "del d['k'] if 'k' in d else None", "v = v + getattr(o, 'x', a)"),
    *("d, l = dict(d), list(l)", "t = d", "v = v + (e is d)", "v = v + (e is l) * 2"),
)
OUTSIDE = (
    *("KEEP.append(e)", "KEEP.append(v)", "BOX.e = e", "BOX.n += 1", "v = v + BOX.n", "BOX.o = o"),
    *("e = KEEP", "e = BOX", "BOX.v = v", "KEEP[:] = KEEP[-2:]", "v = v + len(KEEP)", "BOX.l = l"),
    *("v = v + BOX.t", "e = BOX.t", "BOX.t = v", "BOX.u = BOX.t", "d['b'] = BOX.t", "e = [BOX.t]"),
    *("KEEP.append(BOX.t)", "v = BOX.t", "BOX.t.mul_(2)", "e = BOX.t[:1]", "o.t = BOX.t.detach()"),
    *("BOX.t = P[...]", "BOX.t = P", "v = v + P", "e = P[:]", "KEEP.append(P)", "BOX.u = P.T"),
    *("v = v + (KEEP[0] if KEEP else a)", "e = (KEEP[-1], 1) if KEEP else 2"),
)
GIVEN = ("v", "e", "d", "l", "o", "a", "3", "(v, e)", "[e, d]", "{{'v': v, 'o': o}}", "[v, l, v]")
SEEN = (
    "P",
    "(P, BOX.t)",
    "BOX.t",
    "(BOX.t, v)",
    "BOX.t[:1]",
    "{{'t': BOX.t}}",
    "KEEP[-1] if KEEP else v",
    "BOX",
    "KEEP",
)
TALLY: Counter[str] = Counter()


def program(rng: random.Random) -> str:
    """The text of a function of a tensor, a dictionary, a list and an object."""
    outside = rng.random() < 0.4
    lines = ["v = a * 2", f"e = {rng.choice(MADE)}"]
    for _ in range(rng.randint(1, 6)):
        kind = rng.random()
        if kind < 0.2:
            lines.append(f"e = {rng.choice(MADE)}")
        else:
            lines.append(rng.choice(OUTSIDE if outside and kind < 0.5 else STEPS))
    lines.append(f"return {rng.choice((*GIVEN, *SEEN) if outside else GIVEN)}")
    text = "\n".join(f"    {line}" for line in lines if not line.startswith("del"))
    return "def f(a, d, l, o):\n" + text.format(n=rng.randint(1, 3))


def world(text: str) -> dict[str, Any]:
    """A program's names, made anew."""
    names: dict[str, Any] = {"__name__": __name__}
    exec(compile(HEAD + text, FILE, "exec"), names)
    return names


def form(value: Any, numbers: dict[int, int]) -> Any:
    """A value as something to compare: which objects are one, and what is inside."""
    if isinstance(value, (int, float, str, type(None))):
        return value
    if isinstance(value, tuple):
        return ("tuple", *[form(x, numbers) for x in value])
    number = numbers.get(id(value))
    if number is not None:
        return ("met", number)
    numbers[id(value)] = len(numbers)
    kind = type(value).__name__
    if isinstance(value, gn.Tensor):
        return ("tensor", np.array(value.tolist()).tobytes())
    if isinstance(value, (list, set)):
        return (kind, *[form(x, numbers) for x in value])
    inside: list[Any] = []
    if isinstance(value, dict):
        inside += [(x, form(value[x], numbers)) for x in value]
    slots = [x for x in getattr(type(value), "__slots__", ()) if hasattr(value, x)]
    own = {**getattr(value, "__dict__", {}), **{x: getattr(value, x) for x in slots}}
    return (kind, *inside, *[(x, form(own[x], numbers)) for x in own])


class Side:
    """One of the two runs: its names, its arguments, all that it was given back."""

    def __init__(self, text: str, is_compiled: bool) -> None:
        self.names = world(text)
        self.function = self.names["f"]
        if is_compiled:
            self.function = gn.compile(self.function)
        self.kept: list[Any] = []
        self.objects: tuple[Any, ...] = ()

    def call(self, number: int, fresh: str, shared: str) -> Any:
        """One call, and all that can be seen after it."""
        a = gn.tensor([float(number + 1), -2.0])
        made = ({"k": a + 1}, [a * 3], self.names["Box"]())
        made[2].x = made[1][0] if shared == "part" else a * 5
        if shared == "outside":
            made = (made[0], self.names["KEEP"], self.names["BOX"])
            made[1][:] = made[1] or [a * 7]
        if shared == "turned":
            self.names["BOX"].t = gn.tensor([number + 0.5, 0.25])
        kept = zip(fresh, made, self.objects or made, strict=True)
        self.objects = tuple(x if how == "f" else y for how, x, y in kept)
        try:
            given = self.function(a, *self.objects)
        except (AttributeError, TypeError, LookupError, NameError) as error:
            given = type(error).__name__
        self.kept.append((given, a, self.objects))
        names = self.names
        return form((self.kept, names["KEEP"], names["BOX"]), {})


def tried(rng: random.Random) -> str:
    """What differs in one random program, or nothing."""
    text, fresh = program(rng), "".join(rng.choice("fk") for _ in range(3))
    shared = rng.choice(("", "", "part", "outside", "turned"))
    plain, compiled = Side(text, False), Side(text, True)
    TALLY["programs"] += 1
    for number in range(CALLS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = plain.call(number, fresh, shared)
            try:
                found = compiled.call(number, fresh, shared)
            except gn.errors.TraceError as refused:
                TALLY[f"refused: {str(refused)[:60]}"] += 1
                return ""
        if wanted != found:
            return f"call {number}, {fresh}, {shared}:\n{text}\nplain {wanted}\nfound {found}"
    TALLY["captures"] += compiled.function.captures
    return ""


def main() -> None:
    """Programs for so many seconds."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--seconds", type=float, default=60)
    asked.add_argument("--seed", type=int, default=1)
    asked.add_argument("--keep", action="store_true", help="go on after a finding")
    given = asked.parse_args()
    end, seed, findings = time.monotonic() + given.seconds, given.seed, 0
    while time.monotonic() < end and (given.keep or not findings):
        told = tried(random.Random(seed))
        findings += bool(told)
        print(f"seed {seed}: {told}\n" if told else "", end="", flush=True)
        seed += 1
    print(f"{findings} findings, {dict(TALLY)}, next seed {seed}")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
