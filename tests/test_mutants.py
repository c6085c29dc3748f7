"""What counts as catching a mutant: an assertion of a test, or the error that is declared."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.errors import GnomonError, ShapeError
from tests.house import PACKAGE
from tests.mutants import Refusal, caught

pytestmark = pytest.mark.unit
DECLARED = Refusal(ShapeError, "do not fit")


def raising(error: Exception):
    """A judge that meets an error."""

    def judge() -> None:
        raise error

    return judge


def waits_for_an_error() -> None:
    """A judge whose error does not come."""
    with pytest.raises(ShapeError, match="do not fit"):
        pass


def inside_the_package() -> None:
    """An assertion of the package itself."""
    exec(compile("assert False", str(PACKAGE / "ir" / "node.py"), "exec"), {})


def test_an_assertion_of_a_test_is_a_catch():
    assert caught(raising(AssertionError("other bits")))
    assert caught(lambda: np.testing.assert_array_equal(np.zeros(2), np.ones(2)))
    assert caught(waits_for_an_error)


def test_a_judge_without_complaint_has_caught_nothing():
    assert not caught(lambda: None)


def test_only_the_declared_error_is_a_catch():
    assert caught(raising(ShapeError("sizes do not fit")), DECLARED)


@pytest.mark.parametrize(
    "judge",
    [
        raising(TypeError("takes 1 positional argument but 2 were given")),
        raising(ShapeError("something else")),
        raising(GnomonError("sizes do not fit")),
        inside_the_package,
    ],
)
def test_any_other_error_means_that_the_mutant_is_broken(judge):
    with pytest.raises(pytest.fail.Exception, match=r"^the mutant is broken, not caught: "):
        caught(judge, DECLARED)
