"""The worked example of docs/concepts.md is what the compiler does: each block, to the letter.

What a block should hold is printed by `python -m tests.test_worked_example`.
"""

from __future__ import annotations

import re

import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph, Node
from gnomon.ir.provenance import Site, inherit
from gnomon.ops.registry import OPS
from gnomon.passes.inline import inline
from gnomon.passes.legalize import legalize
from gnomon.passes.simplify import simplify
from tests.compiled import program
from tests.house import ROOT

SECTION = "## One expression, all the way"
REPEATED = re.compile(r"<(\w+ [^,<>]+)(?:, \1)+>")
"""A vector of one number, which newer LLVM writes shorter."""


def graph() -> Graph:
    """softmax(x @ w), from two lines of a program."""
    arena = Arena()
    x, w = arena.input((8, 64), float32, "x"), arena.input((64, 32), float32, "w")
    with inherit((Site("model.py", 3, ""),)):
        scores = OPS["matmul"](x, w)
    with inherit((Site("model.py", 4, ""),)):
        return Graph([x, w], [OPS["softmax"](scores, -1)])


def line(node: Node, names: dict[Node, str]) -> str:
    """A node as an assignment."""
    names[node] = "abcdefghij"[len(names) - 2]
    given = ", ".join(names[x] for x in node.inputs)
    how = node.params.get("f") or node.params.get("monoid") or node.params.get("spec") or ""
    called = f"{node.op} {how}".strip() if node.op != "region" else f"region {node.params['name']}"
    return f"{names[node]} = {called}({given}): {node.dtype.name}{list(node.shape)}"


def listed(shown: Graph) -> str:
    """A graph, a line for each node."""
    names: dict[Node, str] = {}
    for x, name in zip(shown.inputs, ("x", "w"), strict=True):
        names[x] = name
    return "\n".join(line(x, names) for x in shown.nodes if x not in shown.inputs)


def sum_of_a_row(text: str) -> str:
    """Of softmax's kernel: from the sum of a row's lanes to the first quotient."""
    lines = [REPEATED.sub(r"splat(\1)", part.strip()) for part in text.splitlines()]
    start, end = (next(k for k, x in enumerate(lines) if word in x) for word in ("fadd", "fdiv"))
    wanted = [x for x in lines[start:end] if "fadd" in x or "shufflevector" in x]
    return "\n".join([*wanted, lines[end]])


def blocks() -> dict[str, str]:
    """The texts of the section, in order."""
    whole = graph()
    opened = simplify(legalize(inline(whole, lambda node: False)))
    made = program(whole)
    return {
        "the graph": listed(whole),
        "the opened graph": listed(opened),
        "the kernels": made.explain(),
        "the text": sum_of_a_row(made.kernels[-1].code.text),
    }


def kept() -> list[str]:
    """The blocks as the page has them."""
    page = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    section = page[page.index(SECTION) :].split("\n## ")[0]
    return re.findall(r"```text\n(.*?)\n```", section, re.S)


@pytest.mark.parametrize("name", ["the graph", "the opened graph", "the kernels", "the text"])
def test_the_page_shows_what_the_compiler_does(name):
    made = blocks()

    assert kept()[list(made).index(name)] == made[name]


if __name__ == "__main__":
    for title, text in blocks().items():
        print(f"{title}\n{text}\n")
