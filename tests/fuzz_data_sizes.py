"""Compiled functions beside plain ones, whose sizes follow from values.

A program takes masks, positions, distinct values and counts of what it computes, and goes on with
what it found; what both runs give, and their errors, must be equal for all values, among them such
that nothing is found. Its argument has one of two shapes.
By hand: python -m tests.fuzz_data_sizes --seconds 600 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter

import numpy as np

import gnomon as gn
from tests import fuzz_sizes
from tests.fuzz_sizes import functions, outcome, parts_of, plain

DATA = (
    *("y = y[y[:, 0] > {c}]", "y = y[y.sum(1) > {c}] * 2", "y = y[(y > {c}).any(1)]"),
    *("y = y[:, y.sum(0) > {c}]", "y = y[y > {c}][None]", "y = y.masked_select(y > {c})[:, None]"),
    "i = (y[:, 0] > {c}).nonzero(as_tuple=True)[0]\ny = y[i] + i[:, None]",
    "i = (y[:, -1] < {c}).nonzero()[:, 0]\ny = y.index_add(0, i, y[i] * 0.5)",
    "i = (y.sum(1) > {c}).nonzero()[:, 0]\nif i.numel():\n    y = y.index_copy(0, i, y[i] - 1)",
    "i = (y.sum(1) > {c}).nonzero()[:, 0]\ny = gn.zeros_like(y).index_add(0, i, y[i] @ W)",
    *("y = gn.unique(y)[:, None] * 1", "y = gn.unique(y, dim=0)", "y = (y > {c}).nonzero() * 0.5"),
    "u, i = gn.unique(y.round(), return_inverse=True)\ny = y + i * u.shape[0]",
    "u, i = gn.unique_consecutive(y.flatten(), return_counts=True)\ny = gn.stack([u, i * 1.0], 1)",
    "y = gn.repeat_interleave(y, (y[:, 0] > {c}).long() + 1, dim=0)",
    "y = gn.bincount(y.abs().long().flatten(), minlength=3)[:, None] * 0.5",
    *("y = gn.histc(y, 4)[None] + 1", "y = gn.nonzero_static(y > {c}, size=3) * 0.5"),
    "y = y * 1\ny[y > {c}] = 0.25",
    "y = y * 1\ny[y[:, 0] > {c}] *= 2",
    "y[y > {c}] = 0.5",
    "if y[y > {c}].numel() > {i}:\n    y = y * 2",
    "k = (y > {c}).sum().item()\ny = y[:k] * k",
    "k = (y[:, 0] > {c}).long().tolist()\ny = y * (len(k) + sum(k))",
    "k = gn.bincount((y[:, 0] > {c}).long(), minlength=2).tolist()\ny = gn.cat(y.split(k)[::-1])",
    "k = int((y > {c}).sum())\ny = y[: max(k, 1)]",
    "for k in range(2):\n    at = y[:, 0] > k\n    y = gn.cat([y[at] * 2, y[~at]])",
    "for k in y[y[:, 0] > {c}][:2]:\n    y = y + k",
    *("y = y * (1.0 / max(1, {i}))", "y = y + n * 0.5 - m / 3", "y = y * y.numel() ** -0.5"),
    *("y = y - {i} * 0.25", "y = y * ({i} / max(1, {j}))", "y = y[: int(m * 0.5) + 1]"),
    "r = y.shape[0] / max(1, y.shape[1])\nif r > 1:\n    y = y * r",
    "y, _ = gn.scan(lambda c, s: (c * 0.5 + s, c), gn.zeros_like(y[:1]).sum(0), y)\ny = y[None]",
    "_, y = gn.scan(lambda c, s: (c + s.sum(), s * c), y.sum(), y[y[:, 0] > {c}])",
    "y = gn.cond(y.sum() > {c}, lambda: y * 2, lambda: y - 1)",
    "if y.sum() > {c}:\n    y = y[y.sum(1) > 0]\nelse:\n    y = y.flip(0)",
    "state['kept'] = y[y > {c}].shape, [y[y[:, 0] > {c}].shape[0]]",
)
STEPS = (*DATA, *DATA, *fuzz_sizes.STEPS)
RESULTS = (*fuzz_sizes.RESULTS, "y[y > 0]", "y, y[y > 0].shape", "y, n / 7", "(y > 0).nonzero(), y")
SHAPES = ((6, 4), (9, 3), (8, 8), (3, 5), (12, 2), (1, 4), (5, 1))
CALLS = 9
TALLY: Counter[str] = Counter()


def text_of(rng: random.Random) -> str:
    """The text of a program."""
    lines = [] if rng.random() < 0.3 else ["y = y @ y.mT @ y * 0.1"]
    for k in range(rng.randint(1, 4)):
        step = rng.choice(STEPS if k else DATA).replace("{c}", rng.choice(("0", "1", "-1")))
        step = step.replace("{i}", rng.choice(fuzz_sizes.NUMBERS))
        lines += step.replace("{j}", rng.choice(fuzz_sizes.NUMBERS)).split("\n")
        lines.append("y = y[:12, :12].clamp(-9, 9)")
    body = "".join(f"    {line}\n" for line in lines)
    return f"{fuzz_sizes.HEAD}{body}    return {rng.choice(RESULTS)}\n"


def differ(rng: random.Random) -> str:
    """How a random program and its compiled form differ; nothing where they do not."""
    text = text_of(rng)
    (one, state, names), (other, twin, more) = functions(text), functions(text)
    names["W"] = more["W"] = gn.ones(12, 12)
    compiled, shapes = gn.compile(other), rng.sample(SHAPES, 2)
    for name in (names, more):
        name["W"] = gn.ones(shapes[0][1], shapes[0][1]) * 0.5
    for k in range(CALLS):
        if rng.random() < 0.2:
            state["s"] = twin["s"] = rng.randint(1, 3) / 2
        shape = shapes[rng.random() < 0.2]
        values = np.random.default_rng(k).integers(-3, 4, shape).astype(np.float32)
        values *= rng.choice((1, 1, 1, 1, -1, 0))
        given = [gn.tensor(values) for _ in range(2)]
        wanted, found = outcome(one, given[0]), outcome(compiled, given[1])
        wanted, found = (wanted, plain(state)), (found, plain(twin))
        if wanted != found:
            pairs = zip(parts_of(wanted), parts_of(found), strict=False)
            parts = next((p for p in pairs if p[0] != p[1]), ())
            told = "".join(f"\n  {str(part)[:300]}" for part in parts)
            return f"{text}\ncall {k} at {shape}:{told}"
    for family in compiled.size_families.known.values():
        TALLY["ways for many sizes"] += family.grown
    TALLY["programs"] += 1
    TALLY["captures"] += compiled.captures
    return ""


def main() -> None:
    """Try programs until the time is over; print those that differ."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--seconds", type=float, default=60)
    words.add_argument("--seed", type=int, default=0)
    given = words.parse_args()
    warnings.simplefilter("ignore")
    until, seed, findings = time.monotonic() + given.seconds, given.seed, 0
    while time.monotonic() < until:
        told = differ(random.Random(seed))
        if told:
            findings += 1
            print(f"seed {seed}:\n{told}\n", flush=True)
        seed += 1
    print(f"{findings} findings; {dict(TALLY)}")
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
