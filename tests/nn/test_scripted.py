"""Modules that programs derive from PyTorch's class for its older compiler."""

from __future__ import annotations

import gnomon as gn
from gnomon.nn.scripted import ScriptModule


class Doubled(ScriptModule):
    def __init__(self):
        super().__init__()
        self.layer = gn.nn.Linear(2, 3)

    def forward(self, x):
        return 2 * self.layer(x)


def test_such_a_module_is_called_and_trained_as_any_other():
    made = Doubled()
    made(gn.ones(1, 2)).sum().backward()
    assert [name for name, p in made.named_parameters() if p.grad is not None] == [
        "layer.weight",
        "layer.bias",
    ]


def test_no_other_module_is_of_that_class():
    assert not isinstance(gn.nn.Linear(1, 1), ScriptModule)
