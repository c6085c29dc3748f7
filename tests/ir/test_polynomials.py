"""Division of polynomials: exact where it comes out, or comes out but for a number."""

from __future__ import annotations

from random import Random

import pytest

from gnomon.ir.polynomials import Terms, divide_monomial, long_division

pytestmark = pytest.mark.unit


def drawn(chance: Random, terms: int) -> Terms:
    """A polynomial in three atoms."""
    found: Terms = {}
    while len(found) < terms:
        atoms = tuple(sorted(chance.choices(range(3), k=chance.randint(0, 2))))
        found[atoms] = chance.choice((-3, -1, 1, 2, 5))
    return found


def product(a: Terms, b: Terms) -> Terms:
    """a * b."""
    found: Terms = {}
    for m, c in a.items():
        for n, d in b.items():
            key = tuple(sorted((*m, *n)))
            found[key] = found.get(key, 0) + c * d
    return {m: c for m, c in found.items() if c}


@pytest.mark.parametrize("seed", range(30))
def test_a_product_is_divided_by_its_factors(seed: int):
    chance = Random(seed)
    a, b = drawn(chance, chance.randint(1, 4)), drawn(chance, chance.randint(2, 4))
    whole = product(a, b)

    assert long_division(whole, b) == (a, 0)
    moved = {**whole, (): whole.get((), 0) + 7}
    assert long_division({m: c for m, c in moved.items() if c}, b) == (a, 7)
    assert long_division({**whole, (0, 1, 2, 2, 2): 1}, b) is None


def test_atoms_are_taken_out_as_often_as_they_are_in():
    assert divide_monomial((0, 0, 1), (0,)) == (0, 1)
    assert divide_monomial((0, 1), (0, 0)) is None
