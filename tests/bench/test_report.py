"""Figures become tables, verdicts and plain values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.console import Console

from gnomon.bench.cases import Case, LimitShare, SpeedTarget
from gnomon.bench.harness import Figures, Result
from gnomon.bench.report import (
    as_values,
    kernel_table,
    memory_verdict,
    summary,
    table,
    unequal,
    verdicts,
)
from gnomon.profiler.limits import Limits

pytestmark = pytest.mark.unit
LIMITS = Limits(100.0, 40.0, 50.0, 30.0)
ROW = {
    **{"name": "contract", "calls": 2, "seconds": 0.5, "flops": 25, "bytes": 10},
    **{"operands": "a b -> c", "line": "here"},
}


def result(**more) -> Result:
    """Ours twice as fast as one peer; another failed."""
    case = Case(
        *("gpt", "a case", "gpt", {"width": 4}),
        targets=(SpeedTarget(("one", "other"), 1.5, 3.0), SpeedTarget(("other",), 1, 2)),
        share=LimitShare("copy", 50.0, 0.4, 0.6),
        aims={"overhead": 1e-5},
    )
    ours = Figures("gnomon", clean=[1.0, 2.0, 3.0], losses=[5.0], rows=[ROW], **more)
    one = Figures("one", dirty=[4.0], losses=[5.0001], about={"version": "7"})
    return Result(case, [ours, one, Figures("other", failed="no way")])


def text(made) -> str:
    """A table as a terminal shows it."""
    console = Console(width=160, file=None)
    with console.capture() as capture:
        console.print(made)
    return capture.get()


def test_verdicts_say_what_holds_and_what_is_reached():
    found = list(verdicts(result(about={"overhead": 2e-5}), LIMITS))

    assert [v.text for v in found] == ["2.00 × one", "50% of copy", "overhead 20.0 µs"]
    assert [v.holds for v in found] == [True, True, False]
    assert [v.style for v in found] == ["yellow", "yellow", "red"]


def test_memory_is_compared_without_results():
    made = result()
    for figures, peak in zip(made.figures, (130, 210, 0), strict=True):
        figures.before, figures.peak_first = 100, peak
    case = replace(made.case, results=10.0, memory=SpeedTarget(("one", "other"), 0.5, 0.1))

    (found,) = memory_verdict(Result(case, made.figures))

    assert found.value == 0.2
    assert (found.holds, found.reached) == (True, False)


def test_losses_that_differ_are_told():
    made = result()
    assert not unequal(made)

    made.figures[1].losses = [5.1]
    assert "one" in unequal(made)[0]


def test_a_table_names_everybody():
    shown = text(table(result(), LIMITS))

    for word in ("gnomon", "one", "no way", "2.00 s", "0+1", "100%", "2.00 × one"):
        assert word in shown


def test_the_last_table_holds_every_target_of_every_case():
    shown = text(summary([result(), result()], LIMITS))

    assert shown.count("a case") == 4
    assert shown.count("2.00 × one") == 2
    assert "≥ 0.4" in shown


def test_kernels_are_shown_beside_the_peak():
    shown = text(kernel_table(result(), LIMITS))

    assert "contract" in shown
    assert "50%" in shown


def test_values_hold_everything():
    values = as_values([result()], LIMITS, {"system": "x"})

    assert values["cases"][0]["contenders"][1]["dirty"] == [4.0]
    assert values["cases"][0]["verdicts"][0]["value"] == 2.0
    assert values["limits"]["read"] == 30.0
