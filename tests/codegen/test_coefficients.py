"""The coefficients are numbers of their type, and are what tools/fit_math.py makes."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from gnomon.codegen import coefficients
from tests.codegen.vectors import DTYPES
from tests.house import PACKAGE, ROOT

TABLES = {name: table for name, table in vars(coefficients).items() if name.isupper()}


@pytest.mark.unit
@pytest.mark.parametrize("name", TABLES)
def test_coefficients_are_numbers_of_their_type(name):
    for scalar, values in TABLES[name].items():
        numbers = np.array(values)

        assert (numbers.astype(DTYPES[scalar]) == numbers).all()


@pytest.mark.long
def test_the_coefficients_are_those_that_the_script_makes():
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / "fit_math.py"], capture_output=True, check=True, text=True
    )

    assert made.stdout == (PACKAGE / "codegen" / "coefficients.py").read_text(encoding="utf-8")
