"""What Python can ask of traced values, and what of it makes a way of its own."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.capture.looks import LONGEST_ANSWER, truth, whole_value
from gnomon.errors import TraceError

LOOKS = {
    "bool": lambda x: 1 if x.sum() else 2,
    "int": lambda x: int(x[0]),
    "float": lambda x: float(x.sum()),
    "index": lambda x: [1, 2, 3][x.long()[0]],
    "item": lambda x: x.mean().item(),
    "list": lambda x: x.tolist()[1],
    "array": lambda x: np.asarray(x).max().item(),
    "numpy": lambda x: x.numpy().sum().item(),
    "format": lambda x: len(f"{x[0]:.3f}"),
    "text": lambda x: len(str(x)),
    "in": lambda x: 1 if 2.0 in x else 3,
    "mask": lambda x: len(x[x > 0]),
    "positions": lambda x: len(gn.argwhere(x)),
    "distinct": lambda x: len(gn.unique(x)),
    "size": lambda x: x[: int(x[0])].numel(),
    "equal": lambda x: 1 if x.equal(gn.ones(2)) else 0,
}
VALUES = ([1.0, 1.0], [2.0, 0.0], [1.0, 1.0], [0.0, 0.0])


@pytest.mark.parametrize("name", LOOKS)
def test_python_gets_the_value_that_it_asks_for(name):
    def step(x):
        y = x * 1
        return y * LOOKS[name](y)

    compiled = gn.compile(step)
    told = [[run(gn.tensor(x)).tolist() for x in VALUES] for run in (step, compiled)]

    assert told[0] == told[1]
    assert compiled.captures <= 3


def test_one_bit_of_a_value_is_one_answer():
    step = gn.compile(lambda x: x + 1 if x.sum() else x)
    for k in range(5):
        step(gn.tensor([float(k)]))

    assert step.captures == 2


def test_long_answers_are_digests():
    long = gn.arange(LONGEST_ANSWER)

    assert truth(gn.tensor([2.0])) is True
    assert whole_value(gn.tensor([1.0])) == np.float32(1).tobytes()
    assert len(whole_value(long)) == 32 != whole_value(long + 1)


def test_what_vmap_runs_over_has_no_value():
    inner = gn.vmap(lambda x: x if x.sum() > 0 else -x)

    with pytest.raises(TraceError, match="not known yet"):
        gn.compile(lambda x: inner(x))(gn.ones(2, 3))
