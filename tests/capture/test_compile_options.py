"""What gn.compile refuses to take, and what it then says."""

from __future__ import annotations

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"fast": True}, r"compile: no option 'fast'\. It takes fullgraph, .*, options\."),
        ({"mode": "fastest"}, r"compile: mode must be one of None, 'default', .*: got 'fastest'\."),
        ({"options": {"freeze": True}}, r"compile: options: no optimisation 'freeze'\. There are"),
        ({"options": {"fuse": 0}}, r"compile: options: fuse must be True or False: got 0\."),
    ],
    ids=str,
)
def test_what_has_no_meaning_is_refused(options, told):
    with pytest.raises(ArgumentError, match=told):
        gn.compile(lambda x: x, **options)


def test_options_wait_for_their_function():
    double = gn.compile(options={"fuse": False, "batch": True})(lambda x: x + x)

    assert double.options.without == "fuse"
    assert double(gn.ones(3)).tolist() == [2.0, 2.0, 2.0]
