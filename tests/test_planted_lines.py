"""Twenty lines of a program, each with an operation of its own: forward and backward name them.

Whatever way a line is reached by, it is the innermost one of the user's that counts.
"""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path

import pytest

import gnomon as gn
from gnomon import nn
from gnomon.runtime import events
from gnomon.settings import override

HERE = __file__
MARK = "# the line" + " of "
ROWS = Path(HERE).read_text(encoding="utf-8").splitlines()
PLANTED = {row.rpartition("# ")[2]: number for number, row in enumerate(ROWS, 1) if MARK in row}
NAMES = {mark.removeprefix("the line of "): number for mark, number in PLANTED.items()}


class Scaled(nn.Module):
    """A module with a line of its own."""

    def forward(self, x):
        """Anything."""
        return x.sinh()  # the line of sinh


class Outer(nn.Module):
    """A module whose part is called through a list."""

    def __init__(self) -> None:
        super().__init__()
        self.parts = nn.ModuleList([Scaled()])

    def forward(self, x):
        """Anything."""
        for part in self.parts:
            x = part(x)
        return x.atan()  # the line of atan


def deeper(x):
    """Two calls down."""
    return x.cosh()  # the line of cosh


def deep(x):
    """One call down."""
    return deeper(x)


def generated(x):
    """A generator's line."""
    yield x.asinh()  # the line of asinh


def decorated(function):
    """A wrapper, whose own line is not the innermost."""

    @functools.wraps(function)
    def inside(x):
        return function(x)

    return inside


@decorated
def wrapped(x):
    """Behind a wrapper."""
    return x.log1p()  # the line of log1p


@contextlib.contextmanager
def opened():
    """Something to be inside of."""
    yield


def program(x, outer):
    """Twenty operations on positive numbers."""
    x = x.exp()  # the line of exp
    x = gn.log(x)  # the line of log
    x = deep(x)
    x = outer(x)
    x = (lambda t: t.tanh())(x)  # the line of tanh
    (x,) = [t.sin() for t in (x,)]  # the line of sin
    x = next(generated(x))
    x = wrapped(x)
    x = functools.partial(gn.sqrt, x)()  # the line of sqrt
    with opened():
        x = x.erf()  # the line of erf
    x = gn.nn.functional.relu(x) * 1.0
    x = (
        x.cos()  # the line of cos
    )
    x = x / (x + 2)  # the line of div
    x = x.T.rsqrt().T  # the line of rsqrt
    x = -x.expm1()  # the line of expm1
    x = (
        (x * 0.25)
        .reshape(-1)
        .acos()  # the line of acos
        .reshape(3, 4)
    )
    x = map(lambda t: t.asin(), (x * 0.25,)).__next__()  # the line of asin
    x = x * 0.25 + 3
    x = gn.pow(x, 2.5)  # the line of pow
    x = x.log2()  # the line of log2
    x = x.mT.sigmoid()  # the line of sigmoid
    return x.sum()


def records_of(function):
    """The records of everything that runs, one operation a kernel."""
    seen = []
    with override(without="claim,fuse"):
        stop = events.subscribe(lambda kind, fields: seen.append(fields) if kind == "run" else 0)
        try:
            function()
        finally:
            stop()
        return [record for fields in seen for record in fields["caller"].records]


@pytest.fixture(scope="module", params=["eager", "compiled"])
def records(request):
    """What a forward and a backward pass ran."""
    outer, x = Outer(), gn.rand(3, 4) + 0.5
    x = x.detach().requires_grad_()
    gn.evaluate(x)

    def whole(x):
        loss = program(x, outer)
        loss.backward()
        return loss.detach()

    function = whole if request.param == "eager" else gn.compile(whole)
    return records_of(lambda: (function(x).item(), x.grad.tolist()))


def test_there_are_twenty():
    assert len(NAMES) == 20


@pytest.mark.parametrize("name", sorted(NAMES))
def test_the_forward_pass_names_the_line(records, name):
    lines = {
        (x.file, x.line)
        for record in records
        for op in record.ops
        if op.name == name
        for x in op.lines
        if x.phase == "forward"
    }

    assert (HERE, NAMES[name]) in lines


@pytest.mark.parametrize("name", sorted(NAMES))
def test_the_backward_pass_names_the_line(records, name):
    lines = {(x.file, x.line) for r in records for x in r.lines if x.phase == "backward"}

    assert (HERE, NAMES[name]) in lines


def test_no_line_is_inside_of_gnomon(records):
    assert {x.file for record in records for x in record.lines} == {HERE}
    assert all(record.lines for record in records)


def test_parts_in_lists_have_their_whole_path(records):
    paths = {x.line: x.module for record in records for x in record.lines}

    assert paths[NAMES["sinh"]] == "parts.0"
    assert paths[NAMES["atan"]] == ""
