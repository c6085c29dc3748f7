"""Tuples of tensors that a compiled function puts in attributes and containers, as LSTMs do."""

from __future__ import annotations

import warnings
from collections import namedtuple
from types import SimpleNamespace

import pytest

import gnomon as gn

State = namedtuple("State", "hidden cell")


def told(value: object) -> object:
    """A nested value with its tensors as lists, and the names of its classes."""
    if isinstance(value, gn.Tensor):
        return value.tolist()
    if isinstance(value, (tuple, list)):
        return type(value).__name__, [told(x) for x in value]
    return {k: told(x) for k, x in value.items()} if isinstance(value, dict) else value


def reads_and_writes(kept, x):
    hidden = kept.state[0] + x
    kept.state = (hidden, x * 2)
    return hidden


def begins(kept, x):
    kept.state = (x * 3, x * 2)
    return x + 1


def begins_from_none(kept, x):
    hidden, cell = kept.first or (x * 0, x * 0)
    kept.first = (hidden + x, cell + hidden)
    return kept.first[1]


def of_a_class(kept, x):
    kept.named = State(kept.named.hidden + x, kept.named.cell * 2)
    return kept.named.hidden


def nested(kept, x):
    hidden, (cell, number) = kept.nested[0]
    kept.nested[0] = (hidden + x, (cell + hidden, number))
    return cell + x


def counts(kept, x):
    value, number = kept.counted
    kept.counted = (value + x, number + 1)
    return value * number


def becomes_longer(kept, x):
    kept.one = (*kept.one, x * 2)[-2:]
    return kept.one[0] + x


def changes_places(kept, x):
    kept.pair = (kept.pair[1], kept.pair[0] + x)
    return kept.pair[0] + x


def in_a_dictionary(kept, x):
    kept.table["s"] = (x + kept.table.get("s", (0.0,))[0],)
    return x * 1


CASES = [
    *[(reads_and_writes, 1), (begins, 1), (begins_from_none, 2), (of_a_class, 1), (nested, 1)],
    *[(counts, 5), (becomes_longer, 2), (changes_places, 5), (in_a_dictionary, 2)],
]


@pytest.mark.parametrize(("function", "captures"), CASES)
def test_a_tuple_is_what_the_plain_function_leaves(function, captures: int):
    seen = []
    for compiles in (False, True):
        kept = SimpleNamespace(
            state=(gn.zeros(2), gn.zeros(2)),
            first=None,
            named=State(gn.zeros(2), gn.ones(2)),
            nested=[(gn.zeros(2), (gn.zeros(2), 3)), 1],
            counted=(gn.zeros(2), 0),
            one=(gn.zeros(2),),
            pair=(gn.zeros(2), gn.ones(2)),
            table={},
        )
        step = gn.compile(function) if compiles else function
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = [told(step(kept, gn.full((2,), float(k)))) for k in range(5)]
        seen.append((results, {name: told(value) for name, value in vars(kept).items()}))

    assert seen[1] == seen[0]
    assert step.captures <= captures
