"""A look at a value that is not known yet is refused, whatever the function does with the error."""

import contextlib
import functools

import pytest

import gnomon as gn
from gnomon.errors import TraceError


def by_exception(x):
    try:
        if x.sum() > 0:
            return x
    except Exception:
        pass
    return -x


def by_everything(x):
    try:
        if x.sum() > 0:
            return x
    except:  # noqa: E722
        return -x


def by_finally(x):
    try:
        if x.sum() > 0:
            return x
    finally:
        return -x  # noqa: B012


def by_suppress(x):
    with contextlib.suppress(RuntimeError):
        if x.sum() > 0:
            return x
    return -x


def by_another_error(x):
    try:
        return x if x.sum() > 0 else -x
    except Exception:
        raise KeyError("not found") from None


def in_a_branch(x):
    try:
        return gn.cond(x.sum() > 0, by_exception, lambda x: -x, (x,))
    except Exception:
        return x


whole = functools.partial(gn.compile, breaks="error")
SWALLOWERS = (by_exception, by_everything, by_finally, by_suppress, by_another_error, in_a_branch)


@pytest.mark.parametrize("around", [whole, gn.vmap], ids=["compile", "vmap"])
@pytest.mark.parametrize("function", SWALLOWERS)
def test_a_refusal_that_the_function_caught_arrives_outside(function, around):
    with pytest.raises(TraceError, match=r"this value is not known yet.*test_swallowed\.py:\d+"):
        around(function)(gn.ones(2, 3))


def test_after_a_refusal_all_is_as_before():
    with pytest.raises(TraceError, match="not known yet"):
        whole(by_suppress)(gn.ones(3))

    assert by_suppress(gn.ones(3)).tolist() == [1.0, 1.0, 1.0]
    assert gn.compile(lambda x: x * 2)(gn.ones(3)).tolist() == [2.0, 2.0, 2.0]


def test_an_error_of_the_function_itself_stays_its_own():
    def careful(x):
        try:
            raise ValueError("mine")
        except ValueError:
            return x * 2

    assert gn.compile(careful)(gn.ones(3)).tolist() == [2.0, 2.0, 2.0]
