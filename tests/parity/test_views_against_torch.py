"""Functions that view or copy: writes under either name, and gradients, as torch has them."""

from __future__ import annotations

from itertools import product
from math import prod

import pytest

import gnomon as gn
from tests.tensor.view_table import FUNCTIONS, LAYOUTS

torch = pytest.importorskip("torch", reason="needs torch: pip install -e '.[parity]'")
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore:torch.asarray.*:UserWarning"),
]

LENIENT = frozenset({"view", "view_as", "view_copy"})
"""Functions that torch refuses where strides do not show the shape: here they are views always."""
UNSEEN = frozenset({"unsafe_chunk", "unsafe_split"})
"""Functions whose results torch's gradients do not follow when they are written."""
ELSEWHERE = {
    *("ccol_indices", "coalesce", "col_indices", "crow_indices", "indices", "row_indices"),
    *("values", "cuda", "lift_fresh", "linalg_diagonal", "pin_memory", "slice", "slice_inverse"),
    *("imag", "view_as_complex", "view_as_real"),
}
"""Functions of sparse and complex tensors, other names, and what is for other devices."""


def filled(function, base, view):
    """The base after the function's result was given one value."""
    y = function(view(base))
    y.fill_(50.0)
    return base, y


def scaled(function, base, view):
    """The same where the result is read and written."""
    y = function(view(base))
    y.mul_(3.0)
    return base, y


def behind(function, base, view):
    """The result after its base was written."""
    y = function(view(base))
    base.add_(100.0)
    return base, y


def passed(function, base, view):
    """What gradients pass: a result of which a part is written, and read under both names."""
    leaf = base.detach().clone().requires_grad_()
    base = leaf * 1.0
    y = function(view(base))
    y[:1].fill_(2.0)
    base.mul_(2.0)
    ((y * y).sum() + (base * (base.detach() + 1)).sum()).backward()
    return leaf.grad, y.detach(), base.detach()


PROGRAMS = {"filled": filled, "scaled": scaled, "behind": behind, "passed": passed}
WAYS = ("eager", "compiled", "of a view")


def outcome(lib, function, layout, program, way="eager"):
    """The values that a program leaves, as lists.

    Compiled as a whole, or the function alone, whose argument is a view then.
    """
    shape, view = LAYOUTS[layout]
    whole = PROGRAMS[program]

    def run(base):
        return whole(lambda x: function(lib, x), base, view)

    if way == "compiled":
        run = gn.compile(run)
    if way == "of a view":
        inside = gn.compile(lambda x: function(lib, x))
        inside(view(lib.zeros(shape)))  # what follows is a replay, where nothing else differs

        def run(base):
            return whole(inside, base, view)

    try:
        found = run(lib.arange(1.0, 1.0 + prod(shape)).reshape(shape))
        return [x.tolist() for x in found]
    except (AttributeError, RuntimeError, TypeError, ValueError) as error:
        return error


def is_alike(name, program, mine, theirs):
    """Whether two outcomes agree, or differ as they may."""
    if isinstance(theirs, Exception):
        # histories are immutable here: what torch must refuse has a value
        known = name in LENIENT or program == "passed" or "multiple views" in str(theirs)
        return known or isinstance(mine, Exception)
    if program == "scaled" and "in several places" in str(mine):
        return True  # torch reads what it has written there itself
    return mine == theirs or (program == "passed" and name in UNSEEN)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_shares_memory_where_torchs_does(name, way):
    wrong = []
    layouts = LAYOUTS if way == "eager" else ("turned", "steps", "wide")
    for layout, program in product(layouts, PROGRAMS):
        theirs = outcome(torch, FUNCTIONS[name], layout, program)
        mine = outcome(gn, FUNCTIONS[name], layout, program, way)
        if not is_alike(name, program, mine, theirs):
            wrong.append(f"{layout}, {program}:\n    {mine!r}\n    {theirs!r}")
    assert not wrong, "\n".join(wrong)


OWN = frozenset({"flip", "fliplr", "index array", "pad", "rot90", "select_scatter"})
"""Functions of which torch leaves the result in the order of an argument that is not contiguous."""


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - OWN - LENIENT))
def test_strides_are_torchs(name):
    for layout, (shape, view) in LAYOUTS.items():
        mine, theirs = (
            FUNCTIONS[name](lib, view(lib.arange(1.0, 1.0 + prod(shape)).reshape(shape)))
            for lib in (gn, torch)
        )
        strides = [
            [s for s, n in zip(x.stride(), x.shape, strict=True) if n != 1] for x in (mine, theirs)
        ]
        assert strides[0] == strides[1], layout
        assert mine.is_contiguous() == theirs.is_contiguous(), layout
        assert mine.storage_offset() == theirs.storage_offset(), layout


def test_all_of_torchs_functions_that_view_are_in_the_table():
    views = {
        schema.name.removeprefix("aten::")
        for schema in torch._C._jit_get_all_schemas()
        if schema.name.startswith("aten::")
        and any(x.alias_info and not x.alias_info.is_write for x in schema.returns)
        and str(schema.arguments[0].type) == "Tensor"
    }
    known = {name.partition(" ")[0] for name in FUNCTIONS}

    missing = {name for name in views - known if not name.startswith("_")}
    assert missing == ELSEWHERE
