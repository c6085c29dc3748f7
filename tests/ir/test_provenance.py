"""Every node knows the user's lines: the innermost one, handed on, and joined when two are one."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena
from gnomon.ir.provenance import (
    PACKAGE,
    Site,
    current_sites,
    from_one_line,
    inherit,
    is_ours,
    phase,
    scope,
    union,
)
from gnomon.ops.scalars import exp
from tests.children import environment

pytestmark = pytest.mark.unit


@contextmanager
def module_path(*names: str) -> Iterator[None]:
    """Nodes built inside belong to the named part of a model."""
    before, scope.modules = scope.modules, names
    try:
        yield
    finally:
        scope.modules = before


def test_a_node_names_the_line_that_built_it():
    x = Arena().input((2,), float32)

    y, line = exp(x), sys._getframe().f_lineno

    (site,) = y.sites
    assert (site.file, site.line) == (__file__, line)
    assert site.function == "test_a_node_names_the_line_that_built_it"
    assert site.phase == "forward"


def test_equal_functions_of_two_files_have_lines_of_their_own():
    source = "def built(x):\n    return x + 2.0\n"
    functions = []
    for file in ("first.py", "second.py"):
        scene = {}
        exec(compile(source, file, "exec"), scene)
        functions.append(scene["built"])

    files = [f(Arena().input((2,), float32)).sites[0].file for f in functions * 2]

    assert files == ["first.py", "second.py"] * 2


def test_nodes_of_one_line_share_its_sites():
    x = Arena().input((2,), float32)

    y, z = exp(x), x * 2.0

    assert y.sites is z.sites


def test_a_block_gives_its_nodes_the_line_that_entered_it_or_those_that_hold_there():
    x = Arena().input((2,), float32)
    with from_one_line():
        y = exp(x)
        line = sys._getframe().f_lineno - 2
    with inherit(()), from_one_line():
        z = x + 3.0

    assert [site.line for site in y.sites] == [line]
    assert z.sites == ()
    assert scope.sites is None


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

    with module_path("blocks", "0"), phase("optimizer"):
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


def reported(tmp_path, **variables: str) -> list[str]:
    """What a script prints whose error nobody catches."""
    script = tmp_path / "script.py"
    script.write_text("import gnomon as gn\n\ngn.ones(3, 4) @ gn.ones(5)\n")
    run = subprocess.run(
        [sys.executable, str(script)],
        env=environment(**variables),
        capture_output=True,
        text=True,
    )
    return run.stderr.splitlines()


def test_an_error_that_nobody_catches_shows_the_user_s_lines(tmp_path):
    first, place, line, *marks, hidden, told = reported(tmp_path, GNOMON_DEBUG="0")
    assert (first, line) == ("Traceback (most recent call last):", "    gn.ones(3, 4) @ gn.ones(5)")
    assert place.endswith('script.py", line 3, in <module>')
    assert len(marks) <= 1
    assert re.fullmatch(r"  \[\d+ frames of gnomon: GNOMON_DEBUG=1 shows them\]", hidden)
    assert told.startswith("gnomon.errors.ShapeError: matmul: inner sizes differ")

    assert any(PACKAGE in line for line in reported(tmp_path, GNOMON_DEBUG="1"))
