"""The page of names that a script missed; nothing where it missed none."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from gnomon.drop_in.report import NameReport

pytestmark = pytest.mark.unit


def page(report: NameReport) -> str:
    shown = io.StringIO()
    report.show(Console(file=shown, width=100))
    return shown.getvalue()


def test_nothing_is_said_of_nothing():
    assert page(NameReport()) == ""


def test_a_name_stands_once_with_its_first_line():
    report = NameReport()
    for _ in range(2):
        report.lacks("torch.a")
    report.idles("torch.cuda")

    rows = [line.split() for line in page(report).splitlines() if "torch." in line]

    assert [row[-2] for row in rows] == ["torch.a", "torch.cuda"]
    assert rows[0][-1].startswith("test_report.py:")
