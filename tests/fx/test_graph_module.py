"""Modules of graphs: what they take, what they write, and their copies."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest

import gnomon as gn
from gnomon import fx, nn
from gnomon.errors import TraceError
from tests.fx.programs import modules_of


def test_a_graph_that_changed_runs_when_it_is_compiled_anew():
    traced = fx.symbolic_trace(lambda x: gn.relu(x))
    node = traced.graph.find_nodes(op="call_function")[0]
    node.target = gn.sin

    assert "gnomon.relu" in traced.code
    traced.recompile()
    assert traced(gn.zeros(1)).tolist() == [0.0]
    assert "gnomon.sin" in traced.code


def test_each_module_has_its_own_forward():
    first, second = (fx.symbolic_trace(f) for f in (lambda x: x + 1, lambda x: x * 3))

    assert (first(gn.ones(1)).item(), second(gn.ones(1)).item()) == (2.0, 3.0)
    assert isinstance(first, fx.GraphModule)
    assert isinstance(first, nn.Module)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_have_their_own_parameters(copied):
    traced = fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2), nn.ReLU())).eval()
    other, x = copied(traced), gn.ones(1, 2)

    assert other(x).tolist() == traced(x).tolist()
    assert other.state_dict().keys() == traced.state_dict().keys()
    assert not other.training
    with gn.no_grad():
        other.get_parameter("0.weight").zero_()
    assert traced.get_parameter("0.weight").abs().sum() > 0
    other.recompile()


def test_a_shallow_copy_shares_parameters():
    traced = fx.symbolic_trace(nn.Linear(2, 2))

    assert copy.copy(traced).weight is traced.weight


def test_only_what_the_graph_names_is_taken():
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(1, 1), nn.Linear(1, 1)

        def forward(self, x: gn.Tensor) -> gn.Tensor:
            return self.used(x)

    assert fx.symbolic_trace(Two()).state_dict().keys() == {"used.weight", "used.bias"}


def test_modules_are_put_in_and_removed():
    traced = fx.symbolic_trace(modules_of(gn)["block"])

    assert traced.add_submodule("more.deep", nn.ReLU())
    assert traced.get_submodule("more.deep")
    assert not traced.delete_submodule("none.such")
    traced.delete_all_unused_submodules()
    assert "more" not in dict(traced.named_children())
    assert traced(gn.ones(1, 2, 8))["y"].shape == (1, 2, 8)


def test_a_module_is_let_go():
    traced = fx.symbolic_trace(lambda x: x + 1)
    gone = weakref.ref(traced)
    del traced
    gc.collect()

    assert gone() is None


def test_what_is_no_graph_is_refused():
    traced = fx.symbolic_trace(lambda x: x + 1)

    with pytest.raises(TraceError, match="GraphModule: expected a Graph: got str"):
        traced.graph = "x + 1"


def test_a_graph_is_printed_as_a_class(capsys):
    traced = fx.symbolic_trace(lambda x: x + 1)

    assert traced.print_readable() in capsys.readouterr().out
    assert "return add" in str(traced)
