"""Backward hooks of modules beside torch's: what they see, and what becomes of what they give."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import gnomon as gn

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:Full backward hook is firing:UserWarning"),
]
ANSWERS = {
    "nothing": lambda gradients: None,
    "doubled": lambda gradients: tuple(g if g is None else g * 2 for g in gradients),
    "one left out": lambda gradients: (None, *gradients[1:]),
    "too few": lambda gradients: gradients[:1],
}


def shown(value: Any) -> Any:
    """Nested lists of tensors."""
    if isinstance(value, tuple):
        return tuple(map(shown, value))
    return None if value is None else value.tolist()


def outcome(lib: Any, wanted: tuple, used: tuple, first: str, then: str, passes: int) -> Any:
    """What the hooks of a module with three outputs see, and the gradients of its inputs."""

    class Several(lib.nn.Module):
        def forward(self, a, b, scale=2):
            return a * scale, b * 3, a * b

    seen: list[Any] = []

    def before(module, outputs):
        seen.append(("before", shown(outputs)))
        return ANSWERS[first](outputs)

    def after(module, inputs, outputs):
        seen.append(("after", shown(inputs), shown(outputs)))
        return ANSWERS[then](inputs)

    module = Several()
    module.register_full_backward_hook(after)
    module.register_full_backward_pre_hook(before)
    a = lib.tensor([1.0, 2.0], requires_grad=wanted[0])
    b = lib.tensor([3.0, 5.0], requires_grad=wanted[1])
    try:
        made = module(a, b)
        loss = sum((made[k] * (k + 1)).sum() for k in used)
        for _ in range(passes):
            loss.backward(retain_graph=True)
    except RuntimeError:
        return seen, "refused"
    return seen, shown(a.grad), shown(b.grad)


@pytest.mark.parametrize("then", ANSWERS)
@pytest.mark.parametrize("first", ["nothing", "doubled", "too few"])
def test_hooks_of_a_module_see_and_change_the_gradients_that_torchs_do(first, then):
    wrong = []
    wanted = [(True, True), (True, False), (False, True), (False, False)]
    for case in itertools.product(wanted, [(0,), (1,), (2,), (0, 1, 2)], [1, 2]):
        mine, theirs = (outcome(lib, *case[:2], first, then, case[2]) for lib in (gn, torch))
        if mine != theirs:
            wrong.append(f"{case}:\n    {mine}\n    {theirs}")
    assert not wrong, "\n".join(wrong)
