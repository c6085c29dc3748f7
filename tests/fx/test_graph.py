"""Graphs: nodes are made, moved, copied and removed, and what does not fit is refused."""

from __future__ import annotations

import copy
import operator
import pickle

import pytest

import gnomon as gn
from gnomon import fx
from gnomon.errors import TraceError


def chain() -> fx.Graph:
    """x, x + 1, relu, and what nobody reads."""
    graph = fx.Graph()
    x = graph.placeholder("x")
    y = graph.call_function(operator.add, (x, 1))
    graph.call_function(gn.exp, (x,))
    graph.output(graph.call_method("relu", (y,)))
    return graph


def names(graph: fx.Graph) -> list[str]:
    """The nodes in order."""
    return [node.name for node in graph.nodes]


def test_nodes_are_inserted_where_a_block_says():
    graph = chain()
    add = graph.find_nodes(op="call_function")[0]

    with graph.inserting_after(add):
        graph.call_function(gn.sin, (add,))
        graph.call_function(gn.cos, (add,))
    with graph.inserting_before(add):
        graph.get_attr("w")

    assert names(graph) == ["x", "w", "add", "sin", "cos", "exp", "relu", "output"]
    assert [x.name for x in reversed(graph.nodes)] == names(graph)[::-1]
    assert len(graph.nodes) == 8


def test_what_nobody_reads_is_removed_and_what_writes_is_not():
    graph = chain()
    x = next(iter(graph.nodes))
    with graph.inserting_after(x):
        graph.call_method("add_", (x, 1))
        graph.call_function(operator.setitem, (x, 0, 1))

    assert graph.eliminate_dead_code()
    assert names(graph) == ["x", "add_", "setitem", "add", "relu", "output"]
    assert not graph.eliminate_dead_code()


def test_nodes_are_removed_while_somebody_walks_over_them():
    graph = chain()
    for node in graph.nodes:
        if node.name == "exp":
            graph.erase_node(node)
            graph.erase_node(node)

    assert names(graph) == ["x", "add", "relu", "output"]
    with pytest.raises(
        TraceError, match=r"erase_node: add still has users: relu\. Use replace_all"
    ):
        graph.erase_node(graph.find_nodes(op="call_function")[0])
    with pytest.raises(TraceError, match="erase_node: exp is of another graph"):
        graph.erase_node(chain().find_nodes(op="call_function", target=gn.exp)[0])


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_apart(copied):
    graph = chain()
    other = copied(graph)

    assert str(other) == str(graph)
    assert not {*other.nodes} & {*graph.nodes}
    other.eliminate_dead_code()
    assert len(graph.nodes) == 5


def test_a_long_graph_is_copied_and_written():
    graph = fx.Graph()
    x = graph.placeholder("x")
    for _ in range(3000):
        x = graph.call_function(operator.add, (x, 1))
    graph.output(x)

    assert len(pickle.loads(pickle.dumps(graph)).nodes) == 3002
    assert fx.GraphModule({}, graph)(0) == 3000


def test_lint_finds_what_does_not_fit():
    graph = chain()
    add, exp = graph.find_nodes(op="call_function")
    graph.lint()
    exp.append(add)
    relu = graph.find_nodes(op="call_method")[0]
    add.prepend(relu)

    with pytest.raises(TraceError, match="lint: relu reads add before it runs"):
        graph.lint()
    relu.args = (chain().find_nodes(op="placeholder")[0],)
    with pytest.raises(TraceError, match="lint: relu reads x of another graph"):
        graph.lint()
    relu.args = (exp,)
    exp.target = "exp"
    with pytest.raises(TraceError, match="lint: exp calls what is no function: 'exp'"):
        graph.lint()


def test_names_are_unused_and_no_words_of_pythons():
    graph = fx.Graph()

    found = [
        graph.placeholder(name).name for name in ("x", "x", "x_1", "0", "if", "a.b", "sum", "")
    ]

    assert found == ["x", "x_1", "x_2", "_0", "if_1", "a_b", "sum_1", "_unnamed"]


def test_a_table_lists_all(capsys):
    chain().print_tabular()

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["opcode", "name", "target", "args", "kwargs"]
    assert lines[3].split(maxsplit=3) == ["call_function", "add", "_operator.add", "(x, 1)   {}"]
