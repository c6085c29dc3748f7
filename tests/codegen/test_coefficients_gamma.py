"""The zeros of lgamma are zeros, and the tables are what tools/fit_math.py makes."""

from __future__ import annotations

import subprocess
import sys

import mpmath
import pytest

from gnomon.codegen.coefficients_gamma import LGAMMA_ZEROS
from tests.house import PACKAGE, ROOT


@pytest.mark.unit
def test_lgamma_is_nothing_at_its_zeros():
    with mpmath.workdps(60):
        for high, low, cotangent, whole in LGAMMA_ZEROS["double"]:
            zero = mpmath.mpf(high) + mpmath.mpf(low)

            assert mpmath.floor(zero) == whole
            digits = max(abs(low), high * 2.0**-53) * 2.0**-52
            assert abs(mpmath.loggamma(-zero).real) < (4 * abs(cotangent) + 10) * digits


@pytest.mark.long
def test_the_tables_are_those_that_the_script_makes():
    made = subprocess.run(
        [sys.executable, ROOT / "tools" / "fit_math.py", "gamma"],
        capture_output=True,
        check=True,
        text=True,
    )
    path = PACKAGE / "codegen" / "coefficients_gamma.py"

    assert made.stdout == path.read_text(encoding="utf-8")
