"""A compiled program told as text."""

from __future__ import annotations

from gnomon.compiler.build import compile_graph
from gnomon.compiler.target import context
from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ir.operators import elementwise
from gnomon.ir.provenance import Site, inherit
from gnomon.ops.primitives import contract, expand, reduce, unsqueeze
from gnomon.program.executable import Executable
from gnomon.program.listing import listing
from gnomon.settings import override


def small_model() -> Graph:
    """Two lines of a model: a product, and rows scaled to length 1."""
    arena = Arena()
    x = arena.input((6, 5), float32, "x")
    w = arena.input((5, 7), float32, "w")
    with inherit((Site("model.py", 3, "forward", "layers.0", op="linear"),)):
        y = contract("mk,kn->mn", x, w)
    with inherit((Site("model.py", 4, "forward", "norm", op="unit"),)):
        length = elementwise("rsqrt", reduce("add", y * y, (1,)))
        z = y * expand(unsqueeze(length, 1), y.shape)
    return Graph([x, w], [z])


def compiled(graph: Graph) -> Executable:
    """A new executable."""
    return compile_graph(graph, context())


def test_a_listing_names_kernels_lines_shapes_work_and_memory(golden):
    assert compiled(small_model()).explain() == golden


def test_a_listing_can_be_of_some_kernels_only():
    made = compiled(small_model())

    one = listing(made.kernels, made.memory, "unit").splitlines()

    assert len(one) == 2
    assert "model.py:4 in norm" in one[1]


def test_many_operands_are_counted_rather_than_written():
    arena = Arena()
    leaves = [arena.input((3,), float32) for _ in range(9)]
    total = leaves[0]
    for x in leaves[1:]:
        total = total + x

    text = compiled(Graph(leaves, [total])).explain()

    assert "float32[3] and 5 more -> float32[3]" in text


def test_a_program_of_no_kernels_has_a_listing():
    x = Arena().input((3,), float32)

    assert compiled(Graph([x], [x])).explain().startswith("0 kernels of 0 codes; 0 flop")


def test_each_level_of_the_dial_adds_a_layer(capsys):
    lengths, words = [], {1: "compile: ", 2: "model.py:4", 3: "partition: ", 4: "define void @"}
    for level in (0, 1, 2, 3, 4):
        with override(debug=level):
            compiled(small_model())
        text = capsys.readouterr().err
        lengths.append(len(text.splitlines()))
        assert [k for k, word in words.items() if word in text] == list(range(1, level + 1))

    assert lengths == sorted(set(lengths))
