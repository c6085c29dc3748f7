"""Random programs of choices and loops: compiled, they have the bits of Python's own control flow.

A program is a list of statements over three tensors; a statement that has statements inside is run
by Python or by Gnomon, with the same arithmetic.
"""

from __future__ import annotations

from random import Random

import pytest

import gnomon as gn

TENSORS, DEEPEST = 3, 2
SHAPE = (2, 3)
MIXES = (
    lambda a, b: (a * b).tanh(),
    lambda a, b: a * 0.5 + b,
    lambda a, b: (a - b).sigmoid() * a,
    lambda a, b: gn.where(a > b, a, b * 0.9),
)
SIMPLE = ("mix", "mix", "product", "sum", "swap")
NESTED = ("choice", "scan", "loop")


def statements(rng: Random, depth: int) -> list[tuple]:
    """One to three statements; nested ones while there is depth."""
    kinds = SIMPLE + NESTED if depth else SIMPLE
    return [statement(rng, rng.choice(kinds), depth) for _ in range(rng.randint(1, 3))]


def statement(rng: Random, kind: str, depth: int) -> tuple:
    """A statement about tensors i, j and k."""
    i, j, k = (rng.randrange(TENSORS) for _ in range(3))
    match kind:
        case "mix":
            return kind, rng.choice(MIXES), i, j, k
        case "sum":
            return kind, rng.choice([0, 1]), i, k
        case "choice":
            return kind, i, statements(rng, depth - 1), statements(rng, depth - 1)
        case "scan":
            return kind, rng.randint(0, 3), rng.random() < 0.5, i, k, statements(rng, depth - 1)
        case "loop":
            return kind, rng.randint(0, 4), i, statements(rng, depth - 1)
    return kind, i, k


class Run:
    """Runs statements; `native` says who branches and loops."""

    def __init__(self, weight: gn.Tensor, native: bool) -> None:
        self.weight, self.native = weight, native

    def all(self, program: list[tuple], tensors: tuple) -> tuple:
        """The tensors after some statements."""
        for kind, *words in program:
            tensors = getattr(self, kind)(tuple(tensors), *words)
        return tuple(tensors)

    def mix(self, tensors, function, i, j, k):
        return replaced(tensors, k, function(tensors[i], tensors[j]))

    def product(self, tensors, i, k):
        return replaced(tensors, k, (tensors[i] @ self.weight).tanh())

    def sum(self, tensors, axis, i, k):
        return replaced(tensors, k, tensors[k] * 0.5 + tensors[i].sum(axis, keepdim=True))

    def swap(self, tensors, i, k):
        return replaced(replaced(tensors, i, tensors[k]), k, tensors[i])

    def choice(self, tensors, i, yes, no):
        pred = tensors[i].sum() > 0
        if not self.native:
            return self.all(yes if bool(pred) else no, tensors)
        return gn.cond(pred, lambda: self.all(yes, tensors), lambda: self.all(no, tensors))

    def loop(self, tensors, most, i, body):
        return gn.while_loop(
            lambda *carried: carried[i].sum() < 1,
            lambda *carried: self.all(body, carried),
            tensors,
            max_iterations=most,
        )

    def scan(self, tensors, count, reverse, i, k, body):
        parts = [tensors[i] * (n + 1.0) for n in range(count)]

        def iteration(carried, x):
            made = self.all(body, replaced(carried, k, carried[k] + x))
            return made, made[k] * 2

        if self.native:
            xs = gn.stack(parts) if parts else gn.zeros(0, *SHAPE)
            tensors, rows = gn.scan(iteration, tensors, xs, reverse=reverse)
        else:
            rows = [None] * count
            for n in range(count)[:: -1 if reverse else 1]:
                tensors, rows[n] = iteration(tensors, parts[n])
        return replaced(tensors, k, rows[-1] + rows[0] * 0.1) if count else tensors


def replaced(tensors, place, value):
    """The tensors with another one at a place."""
    return (*tensors[:place], value, *tensors[place + 1 :])


def step(program: list[tuple], native: bool):
    """A training step: what the tensors become, and gradients of the sum of their squares."""

    def function(*given):
        made = Run(given[-1], native).all(program, given[:-1])
        sum((x * x).sum() for x in made).backward()
        return [x.detach() for x in made]

    return function


@pytest.mark.parametrize("seed", range(10))
def test_random_programs_of_choices_and_loops(seed):
    program = statements(Random(seed), DEEPEST)
    gn.manual_seed(seed)
    values = [gn.randn(*SHAPE).tolist() for _ in range(TENSORS)] + [gn.randn(3, 3).tolist()]
    found = []
    for function in (step(program, False), gn.compile(step(program, True))):
        given = [gn.tensor(x, requires_grad=True) for x in values]
        made = function(*given)
        found.append(([x.tolist() for x in made], [x.grad for x in given]))

    (plain, slopes), (native, compiled) = found
    assert plain == native
    for one, two in zip(slopes, compiled, strict=True):
        zero = gn.zeros(1) if one is None else one
        assert gn.allclose(zero, zero * 0 if two is None else two, rtol=1e-3, atol=1e-3)
