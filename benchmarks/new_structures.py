"""Loops whose programs are new or small, in eager mode: milliseconds of a step beside torch's.

Run by hand (python -m benchmarks.new_structures [--only NAME;...] [--turns N] [--json PATH]). Each
loop is one source for both libraries. It takes 25 steps in a process of its own with nothing on the
disk, one here and one there in turn, on one thread. What counts are steps 6 to 25: their mean, as a
structure that comes once is paid once, and their median; the columns are medians of the turns. The
time is the processor's, of all threads: others' work on the machine counts less so. The last column
is the largest difference of the losses, of their size.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from benchmarks.first_steps import measured_apart

Step = Callable[[int], float]
STEPS = 25
LIBRARIES = ("gnomon", "torch")


def filled(t: Any, net: Any) -> Any:
    """A module with numbers that are the same in both libraries."""
    rng = np.random.default_rng(3)
    with t.no_grad():
        for p in net.parameters():
            p.copy_(t.from_numpy(rng.normal(0, 0.3, tuple(p.shape)).astype("float32")))
    return net


def data(t: Any, *shape: int) -> Any:
    """Numbers that are the same in both libraries."""
    return t.from_numpy(np.random.default_rng(5).normal(size=shape).astype("float32"))


def policy(t: Any) -> Step:
    """A policy stepped observation by observation over episodes of 10 to 32, and its gradient."""
    nn = t.nn
    net = filled(t, nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2)))
    optimizer = t.optim.Adam(net.parameters(), lr=1e-2)
    seen = data(t, 33, 4)

    def step(k: int) -> float:
        rng = np.random.default_rng(k)
        logs, rewards = [], []
        for i in range(int(rng.integers(10, 33))):
            logs.append(net(seen[i]).log_softmax(-1)[int(rng.integers(2))])
            rewards.append(float(rng.normal()))
        loss = -(t.stack(logs) * t.tensor(rewards)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def lbfgs(t: Any) -> Step:
    """LBFGS with strong Wolfe on an MLP of 193 numbers."""
    nn = t.nn
    net = filled(t, nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1)))
    optimizer = t.optim.LBFGS(net.parameters(), line_search_fn="strong_wolfe")
    pairs = data(t, 1024, 5)  # more of them than fit, so that it has work to do in every step
    x, y = pairs[:, :4].sin(), pairs[:, 4:]

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        return loss

    return lambda k: optimizer.step(closure).item()


def experts(t: Any) -> Step:
    """A loop over four experts, each on the rows that chose it."""
    nn = t.nn
    gate = filled(t, nn.Linear(8, 4))
    each = [
        filled(t, nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))) for _ in range(4)
    ]
    parameters = [*gate.parameters(), *(p for net in each for p in net.parameters())]
    optimizer = t.optim.SGD(parameters, lr=0.05)
    rows = data(t, STEPS + 1, 64, 8)

    def step(k: int) -> float:
        x = rows[k]
        shares = gate(x).softmax(-1)
        chosen, out = shares.argmax(-1), t.zeros_like(x)
        for i, net in enumerate(each):
            (places,) = t.where(chosen == i)
            if places.numel():
                out = out.index_add(0, places, net(x[places]) * shares[places, i].unsqueeze(1))
        loss = ((out - x) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def mlp(t: Any) -> Step:
    """A step of an MLP with Adam."""
    nn = t.nn
    net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
    net = filled(t, nn.Sequential(*net, nn.Linear(64, 4)))
    optimizer = t.optim.Adam(net.parameters(), lr=1e-3)
    x, y = data(t, 32, 16), t.arange(32) % 4

    def step(k: int) -> float:
        loss = nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def scalars(t: Any) -> Step:
    """Fifty operations on tensors of no axes, and the gradient of two leaves."""
    a, b = (t.tensor(x, requires_grad=True) for x in (0.3, 0.7))

    def step(k: int) -> float:
        a.grad = b.grad = None
        x, y = a, b
        for _ in range(10):
            x, y = (x * y + 0.1).tanh(), (y - x * 0.5)
        x.backward()
        return x.item() + a.grad.item() + b.grad.item()

    return step


def passing(t: Any) -> Step:
    """Two rounds of messages along the edges of a graph."""
    nn = t.nn
    first, second, head = (filled(t, nn.Linear(n, m)) for n, m in ((8, 16), (16, 16), (16, 3)))
    parameters = [p for net in (first, second, head) for p in net.parameters()]
    optimizer = t.optim.SGD(parameters, lr=0.05)
    x, edges = data(t, 40, 8), np.random.default_rng(7).integers(0, 40, (2, 160))
    sent, got = map(t.from_numpy, edges)
    labels = t.arange(40) % 3

    def step(k: int) -> float:
        h = x
        for layer in (first, second):
            m = layer(h)
            h = t.zeros_like(m).index_add(0, got, m[sent]).relu()
        loss = nn.functional.cross_entropy(head(h), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


CASES: dict[str, Callable[[Any], Step]] = {
    "policy": policy,
    "lbfgs": lbfgs,
    "experts": experts,
    "mlp": mlp,
    "scalars": scalars,
    "passing": passing,
}


def turn(name: str) -> dict[str, list[list[float]]]:
    """The milliseconds of each step in each library, and the losses."""
    steps: dict[str, Step] = {}
    for library in LIBRARIES:
        t = importlib.import_module(library)
        t.set_num_threads(1)
        steps[library] = CASES[name](t)
    found: dict[str, list[list[float]]] = {library: [[], []] for library in LIBRARIES}
    for k in range(1, STEPS + 1):
        for library, step in steps.items():
            began = process_time()
            loss = step(k)
            found[library][0].append(1e3 * (process_time() - began))
            found[library][1].append(loss)
    return found


def row(turns: list[dict[str, list[list[float]]]]) -> list[float]:
    """A line: mean, median and first step of Gnomon, then torch's, and the ratio of the means."""
    told = []
    for library in LIBRARIES:
        times = [each[library][0] for each in turns]
        told.append(statistics.median([statistics.mean(x[5:]) for x in times]))
        told.append(statistics.median([statistics.median(x[5:]) for x in times]))
        told.append(statistics.median([x[0] for x in times]))
    return [*told, told[0] / told[3]]


def difference(found: dict[str, list[list[float]]]) -> float:
    """The largest difference of the losses, of their size."""
    pairs = zip(*(found[library][1] for library in LIBRARIES), strict=True)
    return max(abs(ours - theirs) / max(1e-3, abs(theirs)) for ours, theirs in pairs)


def main() -> None:
    """Print a line for each loop."""
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--only", default=";".join(CASES))
    words.add_argument("--turns", type=int, default=3)
    words.add_argument("--json", type=Path)
    words.add_argument("--child", default="")
    asked = words.parse_args()
    if asked.child:
        print(json.dumps(turn(asked.child)))
        return
    found = {}
    heads = ("mean", "median", "first", "torch", "median", "first", "ratio")
    print(f"{'ms':<10}" + "".join(f"{x:>10}" for x in heads) + f"{'losses':>10}")
    for name in asked.only.split(";"):
        turns = []
        for _ in range(asked.turns):
            with tempfile.TemporaryDirectory() as folder:
                turns.append(measured_apart("benchmarks.new_structures", ["--child", name], folder))
        found[name] = turns
        told = "".join(f"{x:>10.2f}" for x in row(turns))
        print(f"{name:<10}{told}{difference(turns[0]):>10.0e}", flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(found))


if __name__ == "__main__":
    main()
