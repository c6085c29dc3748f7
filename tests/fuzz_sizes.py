"""Compiled functions beside plain ones, at sizes that vary from call to call.

A program computes with the sizes of its argument as Python does with integers: compares them, uses
them as keys, bounds, counts of turns, shapes and factors. What both runs give, and their errors,
must be equal at every size, 0 and 1 among them, while a value that it reads changes now and then.
By hand: python -m tests.fuzz_sizes --seconds 600 --seed 1
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import gnomon as gn
from gnomon.nn import functional as F

NUMBERS = (
    *("n", "m", "n + m", "n * m", "n - 1", "m // 2", "n % 3", "max(n, m)", "min(n, 3)", "-n"),
    *("2 * n - m", "abs(n - m)", "y.shape[0]", "y.shape[1]", "y.numel()", "int(n)", "len(x)"),
    *("sorted([n, m])[0]", "sum(y.shape)", "(n if n > m else m)", "TABLE.get(n, m)", "[n, m][-1]"),
    *("n ** 2", "divmod(m, 3)[1]", "round(n)", "x.size(0)", "x.dim()", "n & 3", "n << 1"),
    *("hash(n) % 7", "int(str(n))", "int(f'{m}')", "bool(n)", "(n == 4)", "x.stride(0)", "3", "0"),
    *("sum(range(n % 5))", "(n, m)[n > m]", "copied(n)", "(n or m)", "int(np.sqrt(m))", "x.size"),
    *("math.prod(y.shape)", "operator.index(m)", "(n in (2, 3, 5))", "(m in {2, 3, 5})", "~n"),
)
STEPS = (
    *("y = y * ({i})", "y = y + ({i})", "y = y / max(1, {i})", "y = ({i}) - y", "y = y[: {i}]"),
    *("y = y[:, {i} :]", "y = y[-({i}) :]", "y = y[:: max(1, {i})]", "y = y.flip(1)"),
    *("y = y.sum(0, keepdim=True)", "y = y.mean(1, keepdim=True)", "y = y.transpose(0, 1)"),
    *("y = gn.cat([y, y[: {i} % 4]], 0)", "y = y.flatten()[None]", "y = y @ y.mT"),
    *("y = y + gn.arange(y.shape[1])", "y = y * gn.full((y.shape[0], 1), {i})", "y = y.tril()"),
    *(
        "y = y.softmax(1)",
        "y = F.pad(y, (0, {i} % 3))",
        "y = F.pad(y, (1, {i} % 3, 2, 0))",
        "y = y.expand(2, *y.shape).sum(0)",
    ),
    *("y = y.repeat({i} % 3 + 1, 1)", "y = y.cumsum(0)", "y = gn.zeros(y.shape) + y"),
    *("if {i} > {j}:\n    y = y * 2\nelse:\n    y = y - 1", "if {i} == {j}:\n    y = y + 3"),
    *("if y.shape == x.shape:\n    y = y + x", "for k in range({i} % 4):\n    y = y + k"),
    "try:\n    y = y.view({i}, -1)\nexcept Exception:\n    y = y + 5",
    "try:\n    y = y.reshape({i}, {j})\nexcept ValueError as error:\n    y = y + len(str(error))",
    *("y = y * TABLE.get({i}, 1.5)", "y = y * state['s']", "a, b = y.shape\ny = y.reshape(b, a)"),
    *("y = y.roll({i}, 0)", "y = y.split(max(1, {i} % 5), 0)[0]", "y = y.unsqueeze(0).mean(0)"),
    *("y = y.index_select(0, gn.arange(y.shape[0]))", "assert {i} < 60, 'too many: ' + str({i})"),
    *("y = y.var(0, keepdim=True)", "y = y.narrow(0, 0, min(2, y.shape[0]))", "y = y.diag()[None]"),
    "if {i} > 9:\n    state['kept'] = ({i}, [m, (n, y.shape)], {{n, {j}}}, {{'m': m, n: 1}})",
    "if {i} > 5:\n    box.kept = y.shape, n\n    box.made = y * 1",
    *("n, m = m, n", "n = {i}", "y = y.new_ones(y.shape[0], 2)", "y = gn.eye(y.shape[0]) @ y"),
    *(
        "y = gn.where(gn.arange(y.shape[0])[:, None] < {i}, y, 0.5)",
        "y = y.unflatten(0, (-1, 1))[:, 0]",
    ),
)
RESULTS = (
    *("y", "y, y.sum()", "y, n", "y.sum()", "{'y': y, 'n': m}", "y[0]", "y.shape, y * 2"),
    *(
        "y[:1], y[1:], y",
        "y.chunk(2, 0)",
        "Box(y, n)",
        "Box((y * 2)[:, :1], [m, {'n': (n, y.shape)}])",
    ),
    *(
        "[y, [y.T, n]]",
        "x[:, 1:], y",
        "y, {n, m}",
        "y, f'{n}'",
        "{n: y}",
        "x, y + 1",
        "y, x.shape[0] * 2",
    ),
)
HEAD = "def program(x):\n    n, m = x.shape\n    y = x\n"
SIZES = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17)
CALLS = 10
TALLY: Counter[str] = Counter()


class Box:
    """An object that programs give back."""

    def __init__(self, made: Any, more: Any) -> None:
        self.made, self.more = made, more


def text_of(rng: random.Random) -> str:
    """The text of a program."""
    lines = []
    for _ in range(rng.randint(1, 5)):
        step = rng.choice(STEPS).replace("{i}", rng.choice(NUMBERS))
        lines += step.replace("{j}", rng.choice(NUMBERS)).split("\n")
        lines.append("y = y[:12, :12].clamp(-9, 9)")
    body = "".join(f"    {line}\n" for line in lines)
    return f"{HEAD}{body}    return {rng.choice(RESULTS)}\n"


def functions(text: str) -> tuple[Callable, dict[str, Any], dict[str, Any]]:
    """The program, what it reads, and all its names."""
    state = {"s": 1.5}
    names: dict[str, Any] = {"gn": gn, "F": F, "np": np, "TABLE": {3: 2.0, 5: 0.5}, "state": state}
    names |= {"math": __import__("math"), "operator": __import__("operator")}
    names |= {"copied": __import__("copy").deepcopy, "Box": Box, "box": Box(None, None)}
    state["box"] = names["box"]
    exec(compile(text, "sized.py", "exec"), names)
    return names["program"], state, names


def plain(found: Any) -> Any:
    """A result as something to compare."""
    if isinstance(found, gn.Tensor):
        return str(found.dtype), tuple(found.shape), found.numpy().tobytes()
    if isinstance(found, dict):
        return {repr(key): plain(x) for key, x in found.items()}
    if isinstance(found, (tuple, list)):
        return type(found).__name__, [plain(x) for x in found]
    if isinstance(found, Box):
        return "Box", plain(vars(found))
    return type(found).__name__, repr(found)


def tensors_of(found: Any) -> list[gn.Tensor]:
    """The tensors of a result."""
    if isinstance(found, gn.Tensor):
        return [found]
    found = [*vars(found).values()] if isinstance(found, Box) else found
    found = [*found.values()] if isinstance(found, dict) else found
    return [t for x in found for t in tensors_of(x)] if isinstance(found, (tuple, list)) else []


def outcome(function: Callable, x: gn.Tensor) -> Any:
    """What a call gives, and what it is once its first tensor is written to; or its error."""
    try:
        made = function(x)
        told = plain(made)
        for t in tensors_of(made)[:1]:
            t.fill_(7.0)
        return told, plain(made), plain(x)
    except Exception as error:
        return type(error).__name__, str(error).partition("   [")[0]


def parts_of(found: Any) -> Iterator[Any]:
    """What is compared, part by part."""
    if isinstance(found, (tuple, list)):
        yield len(found)
        for part in found:
            yield from parts_of(part)
    elif isinstance(found, dict):
        yield from parts_of([*found.items()])
    else:
        yield found


def differ(rng: random.Random) -> str:
    """How a random program and its compiled form differ; nothing where they do not."""
    text = text_of(rng)
    (one, state, _), (other, twin, _) = functions(text), functions(text)
    compiled = gn.compile(other, dynamic=rng.random() < 0.7 or None)
    shapes = [(rng.choice(SIZES), rng.choice(SIZES)) for _ in range(CALLS)]
    for k, shape in enumerate((*shapes, *shapes[:3])):
        if rng.random() < 0.2:
            state["s"] = twin["s"] = rng.randint(1, 3) / 2
        values = np.random.default_rng(k).integers(-3, 4, shape).astype(np.float32)
        given = [gn.tensor(values) for _ in range(2)]
        wanted, found = outcome(one, given[0]), outcome(compiled, given[1])
        wanted, found = (wanted, plain(state)), (found, plain(twin))
        if wanted != found:
            parts = next(
                (p for p in zip(parts_of(wanted), parts_of(found), strict=False) if p[0] != p[1]),
                (),
            )
            told = "".join(f"\n  {str(part)[:300]}" for part in parts)
            return f"{text}\ncall {k} at {shape} of {shapes}:{told}"
    for family in compiled.size_families.known.values():
        TALLY["sized"] += bool(family.made)
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
