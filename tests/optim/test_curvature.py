"""The guess of LBFGS at the inverse curvature: the bits of the two loops written out."""

from __future__ import annotations

import copy

import pytest

import gnomon as gn
from gnomon import optim
from gnomon.errors import ArgumentError
from gnomon.optim import curvature
from gnomon.optim.curvature import Curvature

Row = tuple[gn.Tensor, gn.Tensor, float]


def written_out(slope: gn.Tensor, past: list[Row], scale: float) -> gn.Tensor:
    """The recursion, an operation at a time."""
    q, shares = -slope, []
    for change, step, inverse in reversed(past):
        shares.append(gn.dot(step, q) * inverse)
        q = q - change * shares[-1]
    r = q * scale
    for change, step, inverse in past:
        r = r + step * (shares.pop() - gn.dot(change, r) * inverse)
    return r


def drawn(size: int, dtype: gn.dtype) -> gn.Tensor:
    """A vector around 0."""
    return gn.rand(size, dtype=dtype) - 0.5


@pytest.mark.parametrize("dtype", [gn.float32, gn.float64])
@pytest.mark.parametrize(("size", "most"), [(1, 1), (5, 3), (193, 20), (0, 4)])
@pytest.mark.parametrize("small", [1, 1 << 20])
def test_a_direction_has_the_bits_of_the_loops(size, most, dtype, small, monkeypatch):
    monkeypatch.setattr(curvature, "FIRST_NUMBERS", small)
    monkeypatch.setattr(curvature, "FIRST_ROWS", 2)
    guess, past = Curvature(most, drawn(size, dtype)), []
    for k in range(2 * most + 2):
        slope = drawn(size, dtype)
        assert guess.direction(slope, 0.75).tolist() == written_out(slope, past, 0.75).tolist()
        row = drawn(size, dtype), drawn(size, dtype), 0.125 * k
        guess.append(*row)
        past = [*past, row][-most:]

    found = guess.lists()
    assert [x.tolist() for x in found["old_dirs"]] == [row[0].tolist() for row in past]
    assert [x.tolist() for x in found["old_stps"]] == [row[1].tolist() for row in past]
    assert found["ro"] == [row[2] for row in past]


def valley() -> tuple[gn.Tensor, optim.LBFGS, object]:
    """A point, an optimizer that keeps three steps, and its closure: Rosenbrock's valley."""
    point = gn.tensor([-1.5, 2.0], requires_grad=True)
    optimizer = optim.LBFGS([point], max_iter=3, history_size=3, line_search_fn="strong_wolfe")

    def closure() -> gn.Tensor:
        optimizer.zero_grad()
        x, y = point
        loss = (1 - x) ** 2 + 100 * (y - x * x) ** 2
        loss.backward()
        return loss

    return point, optimizer, closure


@pytest.mark.parametrize("steps", [1, 4])
def test_a_state_goes_on_from_a_copy_and_from_what_was_loaded(steps):
    point, optimizer, closure = valley()
    for _ in range(steps):
        optimizer.step(closure)
    other, loaded, again = valley()
    loaded.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    with gn.no_grad():
        other.copy_(point)
    third, first_of_third, last = valley()
    with gn.no_grad():
        third.copy_(point)
    # a state that was loaded over another one takes its place
    first_of_third.step(last)
    with gn.no_grad():
        third.copy_(point)
    first_of_third.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for _ in range(3):
        losses = [o.step(c).item() for o, c in ((optimizer, closure), (loaded, again))]
        assert losses == [first_of_third.step(last).item()] * 2
    assert point.tolist() == other.tolist() == third.tolist()


def test_a_history_of_no_steps_is_refused():
    with pytest.raises(ArgumentError, match="history_size"):
        optim.LBFGS([gn.ones(2, requires_grad=True)], history_size=0)
