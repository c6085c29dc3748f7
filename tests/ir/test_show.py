"""What the debug dial lets through."""

from __future__ import annotations

import io
import sys
import time

import pytest

from gnomon.dtypes import float32
from gnomon.ir import show
from gnomon.ir.node import Arena, Graph
from gnomon.ir.show import log, waited_for
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


class Terminal(io.StringIO):
    """Standard error as somebody sees it."""

    def isatty(self) -> bool:
        """Somebody is there."""
        return True


def test_who_waits_at_a_terminal_is_told_what_for_and_how_long(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(show, "PATIENCE", 0.0)

    with waited_for(lambda: "compiling"):
        while not sys.stderr.getvalue():
            time.sleep(0.001)

    assert sys.stderr.getvalue().startswith("compiling ... ")
    assert sys.stderr.getvalue().endswith(" s\n")


def test_what_is_quick_is_not_told(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setattr(show, "PATIENCE", 60.0)

    with waited_for(lambda: "compiling"):
        pass

    assert sys.stderr.getvalue() == ""


def test_nobody_is_told_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(show, "PATIENCE", 0.0)

    with waited_for(lambda: "compiling"):
        time.sleep(0.01)

    assert capsys.readouterr().err == ""
