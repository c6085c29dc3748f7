"""The signature of a call says what a program fixes of its arguments."""

from __future__ import annotations

import gnomon as gn
from gnomon.capture.signature import signature_of, structure_of_call
from gnomon.tensor.pytree import flatten


def test_tensors_alone_have_the_structure_that_the_long_way_gives():
    x, y = gn.ones(2), gn.ones(2)

    for args in ((), (x,), (x, y), (x, x)):
        assert structure_of_call(args, {})[0] == flatten((args, {}), [])


def test_a_signature_tells_shape_dtype_and_gradients_and_no_values():
    x = gn.ones(2, 3)
    wanting = gn.ones(2, 3, requires_grad=True)

    assert signature_of(x) == signature_of(gn.zeros(2, 3))
    others = (gn.ones(3, 2), gn.ones(2, 3, dtype=gn.float64), wanting, wanting * 1, wanting[:])
    found = [signature_of(other) for other in (x, *others)]
    assert len(set(found)) == len(found)
    (wanting * 2).sum().backward()
    assert signature_of(wanting) not in found
