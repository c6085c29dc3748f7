"""Numbers per row of logits: what does not say rows, columns or pieces is refused."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.tensor.functions import FUNCTIONS

X, WEIGHT = (np.random.default_rng(k).standard_normal(s) for k, s in enumerate([(6, 4), (5, 4)]))


@pytest.mark.parametrize("cut", [1.5, (0, 1), (2**40, 1), (1,), ("x", 1)])
def test_a_cut_that_is_none_is_refused(cut):
    x, w, columns = gn.ones(4, 3), gn.ones(6, 3), gn.arange(6)

    with pytest.raises(ArgumentError, match=r"logit_rows: cut is pieces of rows and of columns"):
        FUNCTIONS["logit_rows"]([x, w, columns], softcap=None, spread=False, cut=cut)


@pytest.mark.parametrize("given", [[X], [X, WEIGHT], [X, WEIGHT, None], [X] * 8])
def test_a_list_that_does_not_say_what_logits_are_made_of_is_refused(given):
    given = [gn.tensor(x) if isinstance(x, np.ndarray) else x for x in given]

    with pytest.raises(ArgumentError, match=r"logit_rows: given is a list of x, weight, columns"):
        FUNCTIONS["logit_rows"](given, softcap=None, spread=False, cut=None)
