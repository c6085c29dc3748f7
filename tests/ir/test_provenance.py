"""Every node knows the user's lines: the innermost one, handed on, and joined when two are one."""

from __future__ import annotations

import sys
import threading

import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena
from gnomon.ir.provenance import (
    PACKAGE,
    Site,
    current_sites,
    inherit,
    is_ours,
    module_path,
    phase,
    union,
)
from gnomon.ops.scalars import exp

pytestmark = pytest.mark.unit


def test_a_node_names_the_line_that_built_it():
    x = Arena().input((2,), float32)

    y, line = exp(x), sys._getframe().f_lineno

    (site,) = y.sites
    assert (site.file, site.line) == (__file__, line)
    assert site.function == "test_a_node_names_the_line_that_built_it"
    assert site.phase == "forward"


def test_a_node_built_by_two_lines_has_both():
    x = Arena().input((2,), float32)

    first = x + 1.0
    second = x + 1.0

    assert first is second
    assert [site.line for site in first.sites] == [
        first.sites[0].line,
        first.sites[0].line + 1,
    ]


def test_what_replaces_a_node_inherits_its_lines():
    x = Arena().input((2,), float32)
    old = x * 2.0

    with inherit(old.sites):
        new = x + x

    assert new.sites == old.sites


def test_the_part_of_the_model_and_of_the_step_are_kept():
    x = Arena().input((2,), float32)

    with module_path("blocks"), module_path("0"), phase("optimizer"):
        y = -x

    assert (y.sites[0].module, y.sites[0].phase) == ("blocks.0", "optimizer")
    assert str(y.sites[0]).endswith("in blocks.0")
    assert current_sites()[0].module == ""


def test_scopes_belong_to_their_thread():
    seen: list[str] = []
    with module_path("mine"):
        other = threading.Thread(target=lambda: seen.append(current_sites()[0].module))
        other.start()
        other.join()

    assert seen == [""]


def test_joining_keeps_the_first_line_first():
    a, b = Site("a.py", 1, "f"), Site("b.py", 2, "g")

    assert union((a,), (b,)) == (a, b)
    assert union((a, b), (b,)) == (a, b)
    assert union((a,), ()) == (a,)
    assert union((), (b,)) == (b,)


@pytest.mark.parametrize(
    ("file", "ours"),
    [("models/llama.py", False), ("train/step.py", False), ("nn/layers.py", True)],
)
def test_our_models_are_written_as_users_would_and_the_rest_is_the_package(file, ours):
    code = compile("x", PACKAGE + file, "eval")

    assert is_ours(code) is ours
    assert not is_ours(compile("x", PACKAGE.rstrip("/") + "_other/layers.py", "eval"))


def test_equal_functions_of_two_files_name_their_own():
    x = Arena().input((2,), float32)
    text = "def build(x):\n    return exp(x)\n"
    sites = []

    for file in ("one.py", "two.py"):
        names = {"exp": exp}
        exec(compile(text, file, "exec"), names)
        sites.append(names["build"](x).sites)

    assert [[site.file for site in each] for each in sites] == [["one.py"], ["two.py"]]
