"""Hooks and kept gradients, at any moment of random small programs: each hook is called as torch's.

A program is a list of steps, chosen beside torch as it runs, and run again by Gnomon: views, writes
in place, hooks before and after a tensor is used, and backward passes to all or some inputs.
"""

from __future__ import annotations

import operator
from random import Random
from typing import Any

import numpy as np
import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity

STEPS = 14
PROGRAMS = 30
FAMILIES = 4
VIEWS = {
    "row": lambda x: x[1],
    "tail": lambda x: x[1:],
    "turned": lambda x: x.transpose(0, 1),
    "flat": lambda x: x.view(-1),
    "part": lambda x: x.narrow(0, 0, 1),
}
MADE = {
    "scaled": lambda x, c: x * c,
    "moved": lambda x, c: x + c,
    "sine": lambda x, c: (x * c).sin(),
    "folded": lambda x, c: x.sum(0, keepdim=True) * c,
}
PAIRS = {"mul": operator.mul, "sub": operator.sub}
WRITES = {
    "mul_": lambda x, c: x.mul_(c),
    "sub_": lambda x, c: x.sub_(c),
    "row_": lambda x, c: x[0].mul_(c),
    "item_": lambda x, c: x.__setitem__(0, c),
}
KINDS = (
    *("view", "view", "make", "make", "pair", "write", "write_pair", "quiet"),
    *("hook", "hook", "hook", "retain", "retain", "remove", "back", "ask"),
)
Step = tuple[Any, ...]


class Run:
    """One library's run of a program: its tensors, its handles, and what hooks saw."""

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        numbers = np.arange(12, dtype=np.float64).reshape(4, 3) / 8 - 0.5
        self.tensors = [self.leaf(numbers), self.leaf(numbers[::-1].copy() * 1.5)]
        self.handles: list[Any] = []
        self.seen: dict[int, list] = {}
        self.hooked: dict[int, int] = {}
        """Tensors with hooks, and in torch their versions when the first one was added."""
        self.nested: list[Any] = []
        """Tensors of which views of views are."""
        self.changed: set[int] = set()
        """Tensors whose hooks change gradients."""

    def leaf(self, numbers: np.ndarray) -> Any:
        return self.lib.tensor(numbers.tolist(), dtype=self.lib.float64, requires_grad=True)

    def do(self, step: Step) -> None:
        kind, *rest = step
        getattr(self, kind)(*rest)

    def view(self, name: str, x: int) -> None:
        self.tensors.append(VIEWS[name](self.tensors[x]))

    def make(self, name: str, x: int, c: float) -> None:
        self.tensors.append(MADE[name](self.tensors[x], c))

    def pair(self, name: str, x: int, y: int) -> None:
        self.tensors.append(PAIRS[name](self.tensors[x], self.tensors[y]))

    def write(self, name: str, x: int, c: float) -> None:
        WRITES[name](self.tensors[x], c)

    def quiet(self, name: str, x: int, c: float) -> None:
        with self.lib.no_grad():
            WRITES[name](self.tensors[x], c)

    def write_pair(self, x: int, y: int, c: float) -> None:
        self.tensors[x].sub_(self.tensors[y] * c)

    def hook(self, x: int, factor: float | None) -> None:
        seen = self.seen.setdefault(len(self.handles), [])

        def hook(g: Any) -> Any:
            seen.append(g.tolist())
            return None if factor is None else g * factor

        _ = self.tensors[x].grad_fn  # torch crashes where a written view was not asked before
        self.handles.append(self.tensors[x].register_hook(hook))
        self.changed |= {x} if factor is not None else set()

    def remove(self, k: int) -> None:
        self.handles[k].remove()

    def retain(self, x: int) -> None:
        self.tensors[x].retain_grad()

    def loss(self, roots: list[int]) -> Any:
        return sum((self.tensors[x] * (k + 0.5)).sum() for k, x in enumerate(roots))

    def back(self, roots: list[int], inputs: list[int] | None) -> None:
        inputs = None if inputs is None else [self.tensors[x] for x in inputs]
        self.loss(roots).backward(inputs=inputs, retain_graph=True)

    def ask(self, roots: list[int], inputs: list[int]) -> None:
        asked = [self.tensors[x] for x in inputs]
        found = self.lib.autograd.grad(
            self.loss(roots), asked, retain_graph=True, allow_unused=True
        )
        key = -1 - len(self.seen)
        self.seen[key] = [None if g is None else g.tolist() for g in found]

    def shown(self) -> tuple[Any, ...]:
        kept = [x.grad if x.is_leaf or x.retains_grad else None for x in self.tensors]
        grads = [None if g is None else g.tolist() for g in kept]
        return self.seen, grads, [x.detach().tolist() for x in self.tensors]


def drawn(draw: Random, run: Run) -> Step:
    """The next step, from what torch's tensors are by now."""
    places = range(len(run.tensors))
    x = draw.choice(places)
    rank, leaf, many = run.tensors[x].dim(), run.tensors[x].is_leaf, run.tensors[x].shape[0] > 1
    c = draw.randrange(3, 200) / 64
    kind = draw.choice(KINDS)
    alike = [y for y in places if run.tensors[y].shape == run.tensors[x].shape]
    if kind == "view" and (rank == 2 or many):
        flat = rank == 2 and not run.tensors[x].is_contiguous()
        names = ["turned", *([] if flat else ["flat"]), *(["row", "tail", "part"] if many else [])]
        return (kind, draw.choice(names) if rank == 2 else "tail", x)
    if kind in ("view", "make"):
        return ("make", draw.choice([*MADE]), x, c)
    if kind == "pair":
        return (kind, draw.choice([*PAIRS]), x, draw.choice(alike))
    if kind == "write_pair":
        return (kind, x, draw.choice(alike), c)
    if kind in ("write", "quiet"):
        kind = "write" if not leaf else "quiet"
        return (kind, draw.choice([*WRITES] if many else ["mul_", "sub_"]), x, c)
    if kind == "hook":
        return (kind, x, draw.choice([None, None, c]))
    if kind == "remove":
        return (kind, draw.randrange(len(run.handles))) if run.handles else ("retain", x)
    if kind == "retain":
        return (kind, x)
    roots = draw.sample(places, min(len(places), 2))
    inputs = draw.sample(places, min(len(places), 2))
    return (kind, roots, None if kind == "back" and draw.random() < 0.6 else inputs)


def program(seed: str) -> tuple[list[Step], Run]:
    """Steps that torch runs, and a run of them alone."""
    draw, run, steps = Random(seed), Run(torch), []
    while len(steps) < STEPS or steps[-1][0] != "back":
        step = drawn(draw, run)
        if is_doubtful(step, run) or (step in steps and step[0] in ("view", "make", "pair")):
            continue
        try:
            run.do(step)
        except (RuntimeError, IndexError):
            if step[0] in ("back", "ask"):
                break  # half done: the program ends before it
            continue
        steps.append(step)
        if step[0] == "hook":
            run.hooked.setdefault(step[1], run.tensors[step[1]]._version)
    return steps, ran(torch, steps)


def is_doubtful(step: Step, run: Run) -> bool:
    """Whether torch itself is of two minds about a step.

    A hook of a view is lost when it is written through, or when another one is added after that. A
    view of a view shows the tensor itself after a write, so that no gradient passes the view. A
    gradient that is asked for has been changed by its hooks only where nothing lies behind it.
    """
    kind, tensors = step[0], run.tensors
    if kind == "hook":
        version = tensors[step[1]]._version
        return run.hooked.get(step[1], version) != version and not tensors[step[1]].is_leaf
    if kind in ("write", "write_pair", "quiet"):
        x = tensors[step[1 if kind == "write_pair" else 2]]
        views = [tensors[y] for y in run.hooked if tensors[y]._is_view() and x._is_view()]
        return any(place_of(x) == place_of(y) for y in [*views, *run.nested])
    if kind == "view" and tensors[step[2]]._is_view():
        run.nested.append(tensors[step[2]])
    if kind == "retain":
        return tensors[step[1]].retains_grad
    return kind == "ask" and not run.changed.isdisjoint(step[2])


def place_of(x: Any) -> int:
    """The address of what a tensor of torch is a view of."""
    return x.untyped_storage().data_ptr()


def ran(lib: Any, steps: list[Step]) -> Run:
    """A run of a program."""
    run = Run(lib)
    for step in steps:
        run.do(step)
    return run


def near(mine: Any, theirs: Any) -> bool:
    """Whether nested lists agree."""
    if isinstance(mine, dict):
        return mine.keys() == theirs.keys() and all(near(mine[k], theirs[k]) for k in mine)
    if isinstance(mine, (list, tuple)) and isinstance(theirs, (list, tuple)):
        return len(mine) == len(theirs) and all(map(near, mine, theirs))
    if mine is None or theirs is None:
        return mine is theirs
    return abs(mine - theirs) <= 1e-9 * (1 + abs(theirs))


@pytest.mark.parametrize("family", range(FAMILIES))
def test_hooks_and_kept_gradients_of_random_programs_are_torchs(family):
    wrong = []
    for number in range(PROGRAMS):
        steps, theirs = program(f"{family}, {number}")
        try:
            found = ran(gn, steps).shown()
        except (RuntimeError, ValueError) as error:
            wrong.append((steps, error))
            continue
        if not near(found, theirs.shown()):
            wrong.append((steps, found, theirs.shown()))
    assert not wrong, f"{len(wrong)} programs; the shortest: {min(wrong, key=lambda w: len(w[0]))}"
