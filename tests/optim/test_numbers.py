"""Numbers of groups: the same tensor while the value stays, another when it changes."""

from __future__ import annotations

from gnomon.optim.numbers import NumberTensors


def test_a_number_keeps_its_tensor_until_it_changes():
    numbers, groups = NumberTensors(), [{"lr": 0.1, "betas": (0.9, 0.99)}]

    first = numbers.get(groups, (0, "lr", None))
    again = numbers.get(groups, (0, "lr", None))
    groups[0]["lr"] = 0.2
    changed = numbers.get(groups, (0, "lr", None))

    assert first is again
    assert changed.item() == 0.2
    assert numbers.get(groups, (0, "betas", 1)).item() == 0.99
