"""Every rewrite rule, evaluated on both sides over the numbers that break rules."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gnomon.dtypes import dtype_of
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.operators import constant
from gnomon.ir.rewrite import Pattern, Rule, build
from gnomon.ops.interpret import interpret
from gnomon.passes.simplify import ALL, simplify

FLOATS = [0.0, -0.0, 1.0, -1.0, 3.7, -2.5e-41, 1e-45, 6e4, -3e38, np.inf, -np.inf, np.nan]
INTEGERS = [0, 1, -1, 7, -8, 2**31 - 1, -(2**31)]
CONSTANTS = [0.0, -0.0, 1.0, -1.0, 2.0, -0.25, 3.0, 2.0**100, 2.0**-126, np.inf]
RULES = [rule for rules in ALL for rule in rules]


def leaves_of(
    rule: Rule, arena: Arena, values: list, dtype: np.dtype
) -> dict[str, tuple[Node, np.ndarray]]:
    """Each variable as an input that runs through all pairs of values; `c` is a condition."""
    names = sorted({name for name in rule.left.variables() if not name.isupper()})
    grids = np.array(list(itertools.product(values, repeat=max(len(names), 1)))).T
    found = {}
    for name, row in zip(names, grids, strict=False):
        array = np.asarray(row, dtype) if name != "c" else np.asarray(row != values[0])
        found[name] = (arena.input(array.shape, dtype_of(array.dtype)), array)
    return found


def sides(
    rule: Rule, values: list, dtype: np.dtype, number: float | None
) -> tuple[np.ndarray, np.ndarray] | None:
    """Both sides on all values; None where the rule does not apply."""
    arena = Arena()
    leaves = leaves_of(rule, arena, values, dtype)
    found = {name: node for name, (node, _) in leaves.items()}
    if number is not None:
        found["C"] = constant(arena, number, dtype_of(dtype))
    like = next(node for name, node in found.items() if name not in ("c", "C"))
    left = build(rule.left, found, like)
    right = rule.apply(left)
    if right is None:
        return None
    feeds = dict(leaves.values())
    return tuple(interpret([left, right], feeds))


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_both_sides_have_the_same_bits(rule: Rule):
    numbers = CONSTANTS if "C" in set(rule.left.variables()) else [None]
    checked = 0

    for values, dtype in kinds_of(rule):
        for number in numbers:
            both = sides(rule, values, np.dtype(dtype), number)
            if both is not None:
                checked += 1
                assert canonical(both[0]).tobytes() == canonical(both[1]).tobytes(), (dtype, number)

    assert checked, "the rule never applied: its pattern or guard is wrong"


def kinds_of(rule: Rule) -> list[tuple[list, type]]:
    """The values and dtypes on which a rule's functions are defined."""
    if rule.left.f == "not":
        return [([0, 1], np.bool_), (INTEGERS, np.int32)]
    floats = [(FLOATS, np.float32), (FLOATS, np.float64)]
    return floats if "C" in set(rule.left.variables()) else [*floats, (INTEGERS, np.int32)]


def canonical(x: np.ndarray) -> np.ndarray:
    """x with one NaN."""
    return np.where(np.isnan(x), np.nan, x).astype(x.dtype) if x.dtype.kind == "f" else x


def test_a_wrong_rule_is_caught():
    x = Pattern(name="x")
    wrong = x + 0.0 >> x

    left, right = sides(wrong, FLOATS, np.dtype(np.float32), None)

    assert canonical(left).tobytes() != canonical(right).tobytes()


def test_views_that_follow_each_other_become_one():
    arena = Arena()
    x = arena.input((2, 3, 5), dtype_of(np.float32))
    turned = arena.node("permute", (arena.node("permute", (x,), order=(1, 2, 0)),), order=(2, 0, 1))
    flat = arena.node("reshape", (arena.node("reshape", (x,), shape=(6, 5)),), shape=(30,))

    graph = simplify(Graph([x], [turned, flat]))

    assert graph.outputs[0] is graph.inputs[0]
    assert graph.outputs[1].inputs == graph.inputs


def test_stopping_gradients_costs_nothing_once_they_are_taken():
    arena = Arena()
    x = arena.input((2, 3), dtype_of(np.float32))
    made = arena.node("contract", (x, x), spec="ab,cb->ac", dtype=x.dtype, leaves=(1,))

    graph = simplify(Graph([x], [arena.node("detach", (made,)), made]))

    assert graph.outputs[0] is graph.outputs[1]


def test_rewriting_keeps_sites():
    arena = Arena()
    x = arena.input((2,), dtype_of(np.float32))
    y = -(-x) + 1.0

    graph = simplify(Graph([x], [y]))

    assert graph.outputs[0].sites == y.sites
