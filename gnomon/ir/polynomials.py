"""Polynomials over integers and their division, of which symbolic sizes are made.

The sizes themselves, with their values, bounds and guards, are in sizes.py.
"""

from __future__ import annotations

Monomial = tuple[int, ...]
"""A product of atoms, by their numbers in ascending order."""
Terms = dict[Monomial, int]


def long_division(a: Terms, b: Terms) -> tuple[Terms, int] | None:
    """The quotient of two polynomials and a constant remainder; None if the remainder is none.

    It undoes a multiplication by a sum, such as the size of an axis that was joined or padded.

    >>> long_division({(0,): 3, (0, 1): 1, (): 5}, {(): 3, (1,): 1})
    ({(0,): 1}, 5)
    >>> long_division({(0, 1): 1}, {(): 3, (1,): 1}) is None
    True
    """
    rest, found = {m: c for m, c in a.items() if m}, Terms()
    number, lead = a.get((), 0), max(b, key=order)
    while rest:
        top = max(rest, key=order)
        left = divide_monomial(top, lead)
        if left is None or rest[top] % b[lead]:
            return None
        by = found[left] = rest[top] // b[lead]
        for m, c in b.items():
            product = tuple(sorted((*left, *m)))
            if not product:
                number -= by * c
                continue
            rest[product] = rest.get(product, 0) - by * c
            if not rest[product]:
                del rest[product]
    return found, number


def order(m: Monomial) -> tuple[int, Monomial]:
    """The sort key of monomials, which multiplication preserves: by degree, then by atoms."""
    return len(m), m


def divide_monomial(m: Monomial, by: Monomial) -> Monomial | None:
    """A monomial divided by another one; None if it does not divide."""
    left = list(m)
    for k in by:
        if k not in left:
            return None
        left.remove(k)
    return tuple(left)
