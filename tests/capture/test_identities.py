"""Numbers of objects: one that only tells objects apart is no effect, any other is one."""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

import gnomon as gn


def compared(a: gn.Tensor, b: gn.Tensor) -> gn.Tensor:
    return a * (2 if id(a) == id(b) else 3)


def looked_up(a: gn.Tensor, b: gn.Tensor) -> gn.Tensor:
    names = {id(a): 2.0, (id(b), 1): 3.0}
    return a * names.get(id(b), 5.0) * names[id(a)] * ((id(b), 1) in names)


def gathered(a: gn.Tensor, b: gn.Tensor) -> gn.Tensor:
    seen = {id(x) for x in (a, b)}
    seen.add(id(a))
    place = {id(x): k for k, x in enumerate((a, b))}
    return a * len(seen) + place[id(a)]


def by_name(a: gn.Tensor, b: gn.Tensor) -> gn.Tensor:
    mine = id(a)
    return a * 2 if mine in (id(b), 0) else a * 3


TELLING = [compared, looked_up, gathered, by_name]


@pytest.mark.parametrize("function", TELLING)
def test_numbers_that_tell_apart_are_no_effect(function: Callable, recwarn):
    step = gn.compile(function)
    x, y = gn.ones(2), gn.ones(2)

    for pair in ((x, y), (y, x), (gn.ones(2), gn.ones(2)), (x, x), (y, y)):
        assert step(*pair).tolist() == function(*pair).tolist()

    assert step.captures == 2
    assert not recwarn.list


def added(a: gn.Tensor) -> gn.Tensor:
    return a * 0 + id(a) % 1000


def named(a: gn.Tensor) -> gn.Tensor:
    number = id(a)
    return a * 0 + number % 1000


def kept(a: gn.Tensor) -> gn.Tensor:
    numbers = [id(a)]
    return a * 0 + numbers[0] % 1000


def handed_on(a: gn.Tensor) -> gn.Tensor:
    return a * 0 + max(id(a), 0) % 1000


def ordered(a: gn.Tensor) -> gn.Tensor:
    return a * (2 if id(a) < id(NOBODY) else 3)


def met_before(a: gn.Tensor) -> gn.Tensor:
    known = id(a) in KNOWN
    KNOWN.add(id(a))
    return a * known


def given_back(a: gn.Tensor) -> tuple[gn.Tensor, dict[int, int]]:
    return a * 2, {id(a): 1}


def named_and_given_back(a: gn.Tensor) -> tuple[gn.Tensor, set[int]]:
    numbers = set()
    numbers.add(id(a))
    return a * 2, numbers


def compared_with_one_of_before(a: gn.Tensor, before: int = 0) -> gn.Tensor:
    return a * (id(a) == before)


def remembered(a: gn.Tensor) -> tuple[gn.Tensor, Callable]:
    mine = id(a)
    return a * 2, lambda b: id(b) == mine


NOBODY = object()
KNOWN: set[int] = set()
LEAVING = [ordered, met_before, given_back, named_and_given_back]
LEAVING += [compared_with_one_of_before, remembered]


@pytest.mark.parametrize("function", LEAVING)
def test_numbers_that_leave_are_those_of_each_call(function: Callable):
    step, held = gn.compile(function), [gn.ones(1), gn.ones(1)]

    with pytest.warns(UserWarning, match="`id` was called while it was captured"):
        found = [step(x) for x in (*held, held[1])]

    if function is met_before:
        assert [x.item() for x in found] == [0, 0, 1]
    if function in (given_back, named_and_given_back):
        assert [list(x[1]) for x in found] == [[id(x)] for x in (*held, held[1])]
    if function is remembered:
        assert [ask(x) for (_, ask), x in zip(found, (*held, held[1]), strict=True)] == [True] * 3


TEXT = "def step(a):\n    return a * 0 + id(a) % 1000\n"


@pytest.mark.parametrize("function", [added, named, kept, handed_on, "text"])
def test_numbers_that_go_elsewhere_are_those_of_each_call(function: Callable | str):
    if isinstance(function, str):
        names: dict = {}
        exec(TEXT, names)
        function = names["step"]
    step, held = gn.compile(function), [gn.ones(1, dtype=gn.float64) for _ in range(3)]

    with pytest.warns(UserWarning, match="`id` was called while it was captured"):
        found = [step(x).item() for x in held]

    assert found == [float(id(x) % 1000) for x in held]


class Held:
    """An object of Python's."""

    def __init__(self, value: float) -> None:
        self.value = value


GIVEN = {
    "map": lambda a, *held: a * next(map(id, held)) % 1000,
    "sorted": lambda a, *held: a * sorted(held, key=id)[0].value,
    "min": lambda a, *held: a * min(held, key=id).value,
    "partial": lambda a, *held: a * functools.partial(id, held[0])() % 1000,
}


@pytest.mark.parametrize("function", GIVEN.values(), ids=GIVEN)
@pytest.mark.filterwarnings("ignore:compile:UserWarning")
def test_numbers_that_python_asks_for_are_those_of_each_call(function: Callable):
    step, a = gn.compile(function), gn.ones(1, dtype=gn.float64)
    held = [Held(float(k)) for k in range(12)]
    pairs = [(one, other) for one in held for other in held]

    for pair in pairs:
        assert step(a, *pair).item() == function(a, *pair).item()
