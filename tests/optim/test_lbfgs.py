"""LBFGS on losses whose least point is known."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import gnomon as gn
from gnomon import optim
from gnomon.compiler import build
from gnomon.errors import ArgumentError

SCALES = [1.0, 10.0, 0.5]


def bowl(search: str | None, lr: float = 1.0) -> tuple:
    """Two parameters, an optimizer, and its closure: a bowl around 1."""
    params = [gn.zeros(2, requires_grad=True), gn.zeros((), requires_grad=True)]
    optimizer = optim.LBFGS(params, lr=lr, max_iter=6, line_search_fn=search)

    def closure() -> gn.Tensor:
        optimizer.zero_grad()
        flat = gn.cat([params[0], params[1].reshape(1)])
        loss = (gn.tensor(SCALES) * (flat - 1.0) ** 2).sum()
        loss.backward()
        return loss

    return params, optimizer, closure


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_the_bottom_is_found(search: str | None):
    params, optimizer, closure = bowl(search, 1.0 if search else 0.5)
    first = optimizer.step(closure)
    for _ in range(6):
        optimizer.step(closure)
    assert first.item() == sum(SCALES)
    found = [*params[0].tolist(), params[1].item()]
    np.testing.assert_allclose(found, np.ones(3), atol=1e-4)


def test_a_loaded_state_continues():
    walked, resumed = bowl("strong_wolfe"), bowl("strong_wolfe")
    walked[1].step(walked[2])
    with gn.no_grad():
        for target, origin in zip(resumed[0], walked[0], strict=True):
            target.copy_(origin)
    resumed[1].load_state_dict(copy.deepcopy(walked[1].state_dict()))
    for _, optimizer, closure in (walked, resumed):
        optimizer.step(closure)
    assert [p.tolist() for p in walked[0]] == [p.tolist() for p in resumed[0]]


def test_a_closure_and_plain_python_are_needed():
    _, optimizer, closure = bowl(None)
    with pytest.raises(ArgumentError, match="closure"):
        optimizer.step()
    with pytest.raises(ArgumentError, match=r"gn\.compile"):
        gn.compile(lambda: optimizer.step(closure))()


def test_a_second_group_is_refused():
    _, optimizer, _ = bowl(None)
    with pytest.raises(ArgumentError, match="one group"):
        optimizer.add_param_group({"params": [gn.ones(1, requires_grad=True)]})


def test_a_longer_history_needs_no_more_programs(monkeypatch):
    made, anew = [], build.made_anew
    monkeypatch.setattr(build, "made_anew", lambda *a: made.append(a) or anew(*a))
    x = gn.full((6,), 2.0, requires_grad=True)
    scales = gn.tensor([1.0, 3.0, 9.0, 27.0, 81.0, 243.0])
    optimizer = gn.optim.LBFGS([x], lr=0.01, max_iter=1, tolerance_change=0.0)

    def closure() -> gn.Tensor:
        optimizer.zero_grad()
        loss = (scales * gn.cosh(x)).sum()
        loss.backward()
        return loss

    counts = []
    for _ in range(34):
        optimizer.step(closure)
        counts.append(len(made))

    history = len(optimizer.state_dict()["state"][0]["old_dirs"])
    assert history > 24
    # chunks of eight and their rests were there after the second round
    assert counts[-1] - counts[-9] == 0


def test_a_slope_of_0_moves_nothing():
    x = gn.full((2,), 3.0)
    optimizer = gn.optim.LBFGS([x], tolerance_grad=-1.0)

    assert optimizer.step(lambda: gn.tensor(10.0)).item() == 10
    assert x.tolist() == [3, 3]
