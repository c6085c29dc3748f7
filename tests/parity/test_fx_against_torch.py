"""Traced programs have torch's nodes: kinds, names, targets and arguments."""

from __future__ import annotations

from typing import Any

import pytest

import gnomon as gn
from gnomon import fx
from tests.fx.programs import functions_of, modules_of

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = pytest.mark.parity


UNSAID = {"_stacklevel", "dtype", "size_average", "reduce", "weight"}
"""Arguments by name that torch's functions pass on though nobody gave them."""


def rows_of(graph: Any) -> list[tuple]:
    """The nodes of a graph, functions by their names."""
    found = []
    for x in graph.nodes:
        target = getattr(x.target, "__name__", x.target)
        named = {key: value for key, value in x.kwargs.items() if key not in UNSAID}
        found.append((x.op, x.name, target, shown(x.args), shown(named)))
    return found


def shown(value: Any) -> str:
    """Arguments as a text, with dtypes by their own names."""
    return str(value).replace("torch.", "").replace("gnomon.", "")


@pytest.mark.parametrize("name", ["block", "shared"])
def test_modules_have_torchs_nodes(name):
    ours, theirs = modules_of(gn)[name], modules_of(torch)[name]

    found = rows_of(fx.symbolic_trace(ours).graph)

    assert found == rows_of(torch.fx.symbolic_trace(theirs).graph)


@pytest.mark.parametrize("name", ["signs", "methods", "calls", "defaults"])
def test_functions_have_torchs_nodes(name):
    ours, theirs = functions_of(gn)[name], functions_of(torch)[name]

    assert rows_of(fx.symbolic_trace(ours).graph) == rows_of(torch.fx.symbolic_trace(theirs).graph)
