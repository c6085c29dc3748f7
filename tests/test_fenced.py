"""Fenced memory: what other tests left waiting is not computed in it."""

from __future__ import annotations

import gnomon as gn
from gnomon.runtime.buffer import memory
from gnomon.tensor.tensor import value_of
from tests.fenced import fenced


def test_tensors_that_waited_before_have_the_hosts_memory():
    waiting = gn.ones(3)
    p = gn.nn.Parameter(gn.ones(2))
    optimizer = gn.optim.SGD([p], lr=0.1)

    with fenced():
        (p * p).sum().backward()
        optimizer.step()  # computes all that waits

    assert value_of(waiting).memory is memory
    assert (waiting + 1).tolist() == [2.0, 2.0, 2.0]
