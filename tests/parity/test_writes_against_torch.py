"""Writes in place under every name of a tensor: histories go on, or end, as torch's do."""

from __future__ import annotations

from itertools import product

import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity

HISTORIES = {
    "plain": lambda lib, w: lib.ones(4),
    "result": lambda lib, w: w * 2,
    "part of a result": lambda lib, w: lib.cat([w * 2, w])[2:6],
    "written result": lambda lib, w: lib.ones(4).mul_(w),
    "went backward": lambda lib, w: gone(w * 2),
    "leaf": lambda lib, w: w,
}
NAMES = {
    "itself": lambda lib, x: x,
    "detach": lambda lib, x: x.detach(),
    "data": lambda lib, x: x.data,
    "part": lambda lib, x: x[:2],
    "view": lambda lib, x: x.view(2, 2),
    "detached part": lambda lib, x: x[:2].detach(),
    "part of detached": lambda lib, x: x.detach()[1:],
    "part of data": lambda lib, x: x.data[::2],
}
WRITES = {
    "mul_": lambda lib, x, v: x.mul_(3),
    "add_": lambda lib, x, v: x.add_(v.sum()),
    "copy_": lambda lib, x, v: x.copy_(v.sum()),
    "item": lambda lib, x, v: x.__setitem__(0, 7.0),
    "flatten": lambda lib, x, v: x.flatten()[1:].mul_(2),
    "twice": lambda lib, x, v: x.mul_(3).sub_(1),
}


def gone(x):
    x.sum().backward()
    return x


def seen(lib, history, name, write, quiet):
    """The tensor and the gradients behind it; gradients of zeros are none."""
    w = lib.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
    v = lib.tensor([0.5, 0.25], requires_grad=True)
    x = HISTORIES[history](lib, w)
    w.grad = None
    with lib.set_grad_enabled(not quiet):
        WRITES[write](lib, NAMES[name](lib, x), v)
    found = [x.detach().tolist(), x.requires_grad, x.is_leaf]
    if x.requires_grad:
        (x * lib.tensor([1.0, 2.0, 4.0, 8.0])).sum().backward()
    return found, [None if t.grad is None or not t.grad.any() else t.grad.tolist() for t in (w, v)]


def outcome(*case):
    try:
        return seen(*case)
    except RuntimeError as error:
        return error


@pytest.mark.parametrize("quiet", [False, True], ids=["grad", "no_grad"])
@pytest.mark.parametrize("history", HISTORIES)
def test_a_write_leaves_a_tensor_the_history_that_torch_leaves_it(history, quiet):
    wrong = []
    for name, write in product(NAMES, WRITES):
        mine, theirs = (outcome(lib, history, name, write, quiet) for lib in (gn, torch))
        refused = isinstance(mine, RuntimeError) and isinstance(theirs, RuntimeError)
        # graphs are immutable here, so that one which torch has freed can serve again
        freed = history == "went backward" and "a second time" in str(theirs)
        if not refused and not freed and mine != theirs:
            wrong.append(f"{name}, {write}:\n    {mine}\n    {theirs}")
    assert not wrong, "\n".join(wrong)
