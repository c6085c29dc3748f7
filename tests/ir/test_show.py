"""What the debug dial lets through."""

from __future__ import annotations

import pytest

from gnomon.dtypes import float32
from gnomon.ir.node import Arena, Graph
from gnomon.ir.show import log
from gnomon.passes.simplify import simplify
from gnomon.settings import override

pytestmark = pytest.mark.unit


def test_a_level_shows_itself_and_what_is_below(capsys):
    with override(debug=2):
        for level in (1, 2, 3):
            log(level, lambda level=level: f"level {level}")

    shown = capsys.readouterr()
    assert shown.err == "level 1\nlevel 2\n"
    assert shown.out == ""


def test_a_text_that_nobody_asked_for_is_not_built():
    def never() -> str:
        raise AssertionError("built for nobody")

    with override(debug=0):
        log(1, never)
    with override(debug=4, debug_only="norm"):
        log(4, never, "softmax")


def test_a_name_is_asked_for_by_any_part_of_it(capsys):
    with override(debug=4, debug_only="norm"):
        log(4, lambda: "a kernel", "rms_norm_mul")
        log(1, lambda: "the whole program")

    assert capsys.readouterr().err == "a kernel\nthe whole program\n"


def test_the_highest_level_shows_each_rewrite(capsys):
    x = Arena().input((2,), float32)

    with override(debug=5):
        simplify(Graph([x], [x * 1.0]))

    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("rewrite: ")
