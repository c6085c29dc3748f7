"""Promise 2 for programs that were traced: kernels name the lines that were."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle

import pytest

import gnomon as gn
from gnomon import fx, nn
from gnomon.ir import provenance
from gnomon.tensor.tensor import node_of


def pickled(module: nn.Module) -> nn.Module:
    """A module as it comes back from a file."""
    return pickle.loads(pickle.dumps(module))


class Deep(nn.Module):
    """A part that is traced through."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        y = self.linear(x)  # a line that is traced
        return gn.softmax(y, -1)  # and another


DEEP = inspect.getsourcelines(Deep.forward)[1]
"""The line of its `def`."""


def named(module: nn.Module) -> set[tuple[str, int]]:
    """The files and lines that a module's kernels name, in its forward."""
    run = gn.compile(lambda x: module(x))
    gn.evaluate(run(gn.ones(2, 4)))
    (program,) = run.captured()
    return {(x.file, x.line) for k in program.executable.kernels for x in k.sites}


@pytest.mark.parametrize("copied", [lambda x: x, copy.deepcopy, copy.copy, pickled])
def test_kernels_of_a_traced_module_name_the_lines_that_were_traced(copied):
    traced = copied(fx.symbolic_trace(nn.Sequential(Deep())))

    assert {(__file__, DEEP + 1), (__file__, DEEP + 2)} <= named(traced)
    assert not any(file.startswith("<graph") for file, _ in named(traced))


def test_what_an_interpreter_runs_names_the_lines_that_were_traced():
    traced = fx.symbolic_trace(Deep())

    site = node_of(fx.Interpreter(traced).run(gn.ones(2, 4))).sites[0]

    assert (site.file, site.line) == (__file__, DEEP + 2)
    again = fx.Transformer(traced).transform()
    assert {(__file__, DEEP + 1), (__file__, DEEP + 2)} <= named(again)


def test_lines_of_texts_that_are_gone_are_dropped():
    traced = fx.symbolic_trace(Deep())
    before = len(provenance._written)

    for _ in range(20):
        traced.recompile()
    gc.collect()

    assert len(provenance._written) <= before
