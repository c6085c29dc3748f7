"""Random programs over tensors that share memory, compiled and plain, compared in all that is seen.

A program takes views, writes in place, keeps tensors in attributes and returns what it likes. It is
called several times on tensors drawn from a pool, so that who shares memory with whom changes; then
the caller writes in place and goes backward. Both worlds must have the same values, the same
objects in the same places, the same memory shared, the same gradients, or the same error; a program
may also be refused. By hand: `python -m tests.fuzz_alias --seconds N --seed S`.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from typing import Any

import numpy as np

import gnomon as gn
from gnomon import Tensor
from gnomon.errors import GradientError, TraceError

VIEWS = (
    *("{x}[1:]", "{x}[:-1]", "{x}[::2]", "{x}.view(-1)", "{x}.reshape(-1)", "{x}.detach()"),
    *("{x}.T", "{x}.flatten()", "{x}[0:2]", "{x}.unsqueeze(0)", "{x}[...]", "{x}.data"),
)
MADE = (
    *("{x} * 2", "{x} + {y}.sum()", "{x}.clone()", "-{x}", "{x} * {x}", "{x}.flip(0)"),
    *("{x} - {y}.reshape(-1)[0]", "gn.zeros_like({x})", "{x} * w.sum()", "{x}.detach() + 1"),
)
WRITES = (
    *("{x}.add_(1)", "{x}.mul_({y}.sum())", "{x}[1:] = 3", "{x}[0] = {y}.reshape(-1)[-1]"),
    *("{x} += 1", "{x} *= {y}.reshape(-1)[0]", "{x}.copy_({y}.sum())", "{x}.zero_()"),
    *("{x}[:2] += {y}.sum()", "{x}.mul_(w.sum())", "{x}.flatten()[1:].mul_(2)"),
)
NAMES = ("a", "b", "c")
REFUSALS = ("shares memory", "keeps no history", "written over")
"""Programs that may be refused, by a word of the error."""


class Kept:
    """An object whose attributes a program reads and sets."""


def program(choose: random.Random) -> str:
    """The text of a function of a, b and perhaps c."""
    count = choose.choice((1, 2, 2, 3))
    known = [*NAMES[:count], "m.h", "p"]
    lines = []
    for k in range(choose.randint(1, 6)):
        x, y = choose.choice(known), choose.choice(known)
        kind = choose.random()
        if kind < 0.35:
            lines.append(f"v{k} = {choose.choice(VIEWS).format(x=x, y=y)}")
            known.append(f"v{k}")
        elif kind < 0.6:
            lines.append(f"v{k} = {choose.choice(MADE).format(x=x, y=y)}")
            known.append(f"v{k}")
        elif kind < 0.93:
            line = choose.choice(WRITES).format(x=x, y=y)
            if "." in x and "=" in line.split("[")[0]:
                line = f"{x}.add_(1)"
            quiet = choose.random() < 0.3
            lines.append(f"with gn.no_grad(): {line}" if quiet else line)
        else:
            lines.append(f"m.h = {x}")
    given = [choose.choice(known) for _ in range(choose.choice((0, 1, 1, 2, 2, 3)))]
    listed = ", ".join(given)
    shapes = (f"[{listed}]", f"{{0: [{listed}]}}", f"({listed}, )" if given else "()")
    lines.append(f"return {given[0] if len(given) == 1 else choose.choice(shapes)}")
    if any(line.startswith("m.h =") for line in lines):
        lines.insert(0, "m.h")
    body = "".join(f"    {line}\n" for line in lines)
    return f"def f({', '.join(NAMES[:count])}):\n{body}"


class World:
    """Tensors that are made alike for both ways of running a program."""

    def __init__(self, seed: int, text: str, compiled: bool) -> None:
        made = np.random.default_rng(seed).integers(-3, 4, (6, 6)).astype(np.float32)
        self.leaf = gn.tensor(made[0], requires_grad=True)
        self.other = gn.tensor(made[1][:3], requires_grad=True)
        base, table = gn.tensor(made[2]), gn.tensor(made[3]).view(2, 3)
        tracked = self.leaf * 2
        shown = gn.asarray(made[4], copy=False)
        p, kept = gn.tensor(made[5]), Kept()
        kept.h = gn.tensor(made[2]) + 1
        self.pool: list[Tensor] = [
            *(base, base[1:], base[:-1], base[:], gn.tensor(made[1]), table, table[0], table.T),
            *(tracked, tracked[1:], tracked.detach(), self.leaf, shown, shown[1:], p, p[1:]),
            *(kept.h, self.leaf.detach(), gn.tensor(made[0]) * 3),
        ]
        self.names: dict[str, Any] = {"gn": gn, "p": p, "m": kept, "w": self.other}
        exec(compile(text, "<program>", "exec"), self.names)
        self.arrays: list[np.ndarray] = []
        """What was exported: it shows the tensor's memory for as long as that is the tensor's."""
        self.call = gn.compile(self.names["f"]) if compiled else self.names["f"]

    def seen(self) -> list[Tensor]:
        """All tensors that anybody can see."""
        return [*self.pool, self.names["m"].h, self.leaf, self.other]


def flat(value: Any) -> list[Tensor]:
    """The tensors of a nested value."""
    if isinstance(value, Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value
    return [x for part in parts for x in flat(part)]


def relation(tensors: list[Tensor]) -> tuple[list[int], list[int]]:
    """Which tensors are the same objects, and which share memory."""
    objects, places = [id(t) for t in tensors], [id(t._storage) for t in tensors]
    return list(map(objects.index, objects)), list(map(places.index, places))


def told(tensors: list[Tensor], look: bool) -> list[tuple]:
    """What can be seen of each."""
    return [
        (
            tuple(t.shape),
            t.requires_grad,
            t.is_leaf,
            t.numpy(force=True).tobytes() if look else None,
            None if t._rare is None or t.grad is None else t.grad.numpy(force=True).tobytes(),
        )
        for t in tensors
    ]


def both(plain: World, fast: World, do: Any) -> tuple[Any, Any, str]:
    """Do the same in both worlds; why it ends here, if it does."""
    answers: list[Any] = []
    for world in (plain, fast):
        try:
            answers.append(do(world))
        except Exception as error:
            answers.append(error)
    first, second = answers
    # a captured function writes into memory; a plain write that gradients see leaves the old value
    refused = (TraceError, GradientError)
    if isinstance(second, refused) and any(told in str(second) for told in REFUSALS):
        return first, second, "refused"
    if isinstance(first, Exception) or isinstance(second, Exception):
        if type(first) is not type(second):
            raise AssertionError(f"errors differ: {first!r} and {second!r}") from (
                second if isinstance(second, Exception) else first
            )
        return first, second, "error"
    return first, second, ""


def run(seed: int, calls: int = 4) -> str:
    """One program; how it ended."""
    choose = random.Random(seed)
    text = program(choose)
    plain, fast = World(seed, text, False), World(seed, text, True)
    count = text.partition("\n")[0].count(",") + 1
    trail = [text]
    try:
        for _ in range(calls):
            end = turn(plain, fast, choose, count, trail)
            if end:
                return end
    except AssertionError as error:
        raise AssertionError(f"seed {seed}: {error}\n" + "\n".join(trail)) from error
    return "equal"


def turn(plain: World, fast: World, choose: random.Random, count: int, trail: list[str]) -> str:
    """A call, and what the caller does next."""
    places = [choose.randrange(len(plain.pool)) for _ in range(count)]
    quiet = choose.random() < 0.2
    trail.append(f"call {places}{' no_grad' if quiet else ''}")

    def call(world: World) -> list[Tensor]:
        with gn.set_grad_enabled(not quiet):
            return flat(world.call(*[world.pool[k] for k in places]))

    first, second, end = both(plain, fast, call)
    if end:
        return end
    assert len(first) == len(second), "numbers of results differ"
    plain.pool += first
    fast.pool += second
    same(plain, fast, choose.random() < 0.7, "after the call")
    for _ in range(choose.randint(0, 2)):
        target, kind = choose.randrange(len(plain.pool)), choose.random()
        if kind < 0.65:
            trail.append(f"write {target}")
            end = both(plain, fast, lambda w, k=target: w.pool[k].mul_(2))[2]
        elif kind < 0.75:
            trail.append(f"export {target}")
            both(plain, fast, lambda w, k=target: export(w, k))
        elif kind < 0.8 and plain.arrays:
            trail.append("write to an array")
            both(plain, fast, lambda w: w.arrays[-1].__imul__(2))
        else:
            trail.append(f"backward {target}")
            end = both(plain, fast, lambda w, k=target: (w.pool[k] * 1).sum().backward())[2]
        if end == "refused":
            return end
        same(plain, fast, choose.random() < 0.7, "after what the caller did")
    return ""


def export(world: World, place: int) -> None:
    """Keep a tensor's memory as an array, by numpy's own way or by DLPack."""
    tensor = world.pool[place].detach()
    world.arrays.append(tensor.numpy() if place % 2 else np.from_dlpack(tensor))


def same(plain: World, fast: World, look: bool, when: str) -> None:
    """Compare all that can be seen."""
    before, now = plain.seen(), fast.seen()
    for what, a, b in zip(("objects", "memory"), relation(before), relation(now), strict=True):
        assert a == b, f"{when}: {what} differ: {a} and {b}"
    for a, b in zip(plain.arrays, fast.arrays, strict=True):
        assert a.tobytes() == b.tobytes(), f"{when}: exported arrays differ: {a} and {b}"
    for k, (a, b) in enumerate(zip(told(before, look), told(now, look), strict=True)):
        assert a == b, f"{when}: tensor {k} of {len(before)} differs: {a} and {b}"


def main() -> None:
    """Run programs for some time."""
    wanted = argparse.ArgumentParser()
    wanted.add_argument("--seconds", type=float, default=60.0)
    wanted.add_argument("--seed", type=int, default=0)
    wanted.add_argument("--keep-going", action="store_true")
    given = wanted.parse_args()
    end, seed, found = time.monotonic() + given.seconds, given.seed, Counter()
    while time.monotonic() < end:
        try:
            found[run(seed)] += 1
        except AssertionError as error:
            found["findings"] += 1
            if not given.keep_going:
                raise
            print(error, "\n", flush=True)
        seed += 1
    print(f"{sum(found.values())} programs: {dict(found)}")
    sys.exit(bool(found["findings"]))


if __name__ == "__main__":
    main()
