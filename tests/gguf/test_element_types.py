"""Types have one number and one name, and say which are plain."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.dtypes import bfloat16
from gnomon.gguf.element_types import BY_NAME, BY_NUMBER, TYPES, plain_dtype, type_of

pytestmark = pytest.mark.unit


def test_numbers_and_names_are_unique():
    assert len(BY_NUMBER) == len(BY_NAME) == len(TYPES)
    assert all(type_of(kind.number) is kind for kind in TYPES)


def test_a_type_that_nobody_knows_has_a_name_and_no_size():
    assert type_of(4) == (4, "type 4", 1, 0)


def test_plain_types_have_dtypes_of_their_size():
    plain = {x.name: plain_dtype(x.name) for x in TYPES if x.elements == 1}

    assert plain["BF16"] == bfloat16.numpy
    assert plain["I64"] == np.int64
    assert all(plain[x.name].itemsize == x.nbytes for x in TYPES if x.name in plain)
    assert not any(plain_dtype(x.name) for x in TYPES if x.elements > 1)
