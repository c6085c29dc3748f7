"""The main namespace computes what the array API standard's strict reference computes.

Values, dtypes, shapes, signs of zeros; which names there are and how they are called; promotion.
Where the reference itself is known to err it is not asked.
"""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import gnomon as gn
from tests.standard.cases import ALL, CASES, Case, Dtype

COMPLEX = {"conj", "imag", "real"}
"""Functions that tests/tensor/test_complex.py asks for."""
EXTENSIONS = {"fft", "linalg"}
ITS_OWN = {"ArrayAPIStrictFlags", "Device", "get_array_api_strict_flags"} | {
    "reset_array_api_strict_flags",
    "set_array_api_strict_flags",
}
NAMES = sorted(set(strict.__all__) - EXTENSIONS - ITS_OWN)
FUNCTIONS = [name for name in NAMES if inspect.isfunction(getattr(strict, name))]
CLOSE = {"float32": 2e-5, "float64": 1e-12}


def brought(value: Any, library: Any) -> Any:
    """A case's argument in a library's terms."""
    if isinstance(value, np.ndarray):
        return library.asarray(value)
    if isinstance(value, Dtype):
        return getattr(library, value.name)
    if isinstance(value, list | tuple) and any(isinstance(v, np.ndarray) for v in value):
        return type(value)(brought(v, library) for v in value)
    return value


def called(case: Case, library: Any) -> list[Any]:
    """What a case gives under a library, tuples laid flat."""
    args = [brought(value, library) for value in case.args]
    kwargs = {word: brought(value, library) for word, value in case.kwargs.items()}
    return flat(getattr(library, case.name)(*args, **kwargs))


def flat(answer: Any) -> list[Any]:
    """The arrays of an answer."""
    if type(answer) is list or isinstance(answer, tuple):
        return [leaf for part in answer for leaf in flat(part)]
    return [answer]


def told(array: Any) -> tuple[str, tuple[int, ...]]:
    """An array's dtype by name, and its shape."""
    return str(array.dtype).rpartition(".")[2], tuple(array.shape)


def assert_same(case: Case, ours: Any, theirs: Any) -> None:
    """Compare two arrays; signs of zeros count, except where the standard leaves them open."""
    if isinstance(theirs, int | bool):
        assert ours == theirs
        return
    assert told(ours) == told(theirs)
    mine, truth = np.asarray(ours), np.asarray(theirs)
    if case.name.startswith("empty"):
        return
    if truth.dtype.kind != "f":
        np.testing.assert_array_equal(mine, truth)
        return
    close = CLOSE[str(truth.dtype)]
    np.testing.assert_allclose(mine, truth, rtol=close, atol=close)
    zeros = (truth == 0) & (mine == 0)
    np.testing.assert_array_equal(np.signbit(mine[zeros]), np.signbit(truth[zeros]))


@pytest.mark.parametrize("name", sorted({case.name for case in CASES}))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_values_dtypes_and_shapes_are_the_references(name: str):
    for case in CASES:
        if case.name == name:
            ours, theirs = called(case, gn), called(case, strict)

            assert len(ours) == len(theirs), str(case)
            for mine, truth in zip(ours, theirs, strict=True):
                assert_same(case, mine, truth)


def test_every_function_of_the_standard_is_there_and_has_a_case():
    met = {case.name for case in CASES}
    asked_otherwise = {"__array_namespace_info__", "can_cast", "finfo", "from_dlpack", "iinfo"}
    asked_otherwise |= {"isdtype", "result_type"}

    assert not [name for name in NAMES if not hasattr(gn, name)]
    assert not [name for name in FUNCTIONS if name not in met | asked_otherwise | COMPLEX]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_called_as_the_standard_says(name: str):
    ours = list(inspect.signature(getattr(gn, name)).parameters.values())
    by_word = {p.name for p in ours if p.kind not in (p.POSITIONAL_ONLY, p.VAR_POSITIONAL)}
    theirs = inspect.signature(getattr(strict, name)).parameters.values()
    places = [p for p in theirs if p.kind is not p.KEYWORD_ONLY]

    for mine, wanted in zip(ours, places, strict=False):
        assert mine.kind is not mine.KEYWORD_ONLY
        assert (mine.kind is mine.VAR_POSITIONAL) == (wanted.kind is wanted.VAR_POSITIONAL)
        if wanted.kind is wanted.POSITIONAL_OR_KEYWORD:
            assert mine.name == wanted.name
    assert len(ours) >= len(places)
    assert {p.name for p in theirs if p.kind is p.KEYWORD_ONLY} <= by_word


METHODS = [
    name
    for name, value in vars(type(strict.asarray(1.0))).items()
    if inspect.isfunction(value) and (name.startswith("__") or not name.startswith("_"))
]
BESIDE = {"__array__", "__buffer__", "__format__", "__hash__", "__init__", "__iter__", "__len__"}
BESIDE |= {"__new__", "__repr__", "__str__", "__sizeof__"}


@pytest.mark.parametrize("name", sorted(set(METHODS) - BESIDE))
def test_an_array_has_the_standards_methods(name: str):
    ours = inspect.signature(getattr(gn.Tensor, name)).parameters
    theirs = inspect.signature(getattr(type(strict.asarray(1.0)), name)).parameters.values()

    assert {p.name for p in theirs if p.kind is p.KEYWORD_ONLY} <= ours.keys()
    assert len(ours) >= len([p for p in theirs if p.kind is not p.KEYWORD_ONLY])


def test_an_array_has_the_standards_attributes():
    x = gn.ones(2, 3)

    assert (x.ndim, x.shape, x.size, x.dtype, str(x.device)) == (2, (2, 3), 6, gn.float32, "cpu")
    assert (x.T.shape, x.mT.shape) == ((3, 2), (3, 2))


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse"])
def test_results_with_names_have_the_standards(name: str):
    ours, theirs = (getattr(lib, name)(lib.asarray([1, 2, 1])) for lib in (gn, strict))

    assert ours._fields == theirs._fields


def promoted(library: Any, left: str, right: str) -> str | None:
    """The name of the dtype of a result of two; None if there is none."""
    try:
        return str(library.result_type(getattr(library, left), getattr(library, right)))
    except TypeError:
        return None


@pytest.mark.parametrize(("left", "right"), list(itertools.product(ALL, ALL)))
def test_two_dtypes_give_the_standards(left: str, right: str):
    wanted = promoted(strict, left, right)
    if wanted is None:
        return  # the standard leaves it open: an error, or PyTorch's answer

    assert promoted(gn, left, right).rpartition(".")[2] == wanted.rpartition(".")[2]
    assert gn.can_cast(getattr(gn, left), getattr(gn, right)) == strict.can_cast(
        getattr(strict, left), getattr(strict, right)
    )


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_limits_of_floats(name: str):
    ours, theirs = gn.finfo(getattr(gn, name)), strict.finfo(getattr(strict, name))

    for what in ("bits", "eps", "max", "min", "smallest_normal"):
        assert getattr(ours, what) == getattr(theirs, what)
    assert ours.dtype is getattr(gn, name)


@pytest.mark.parametrize("name", [n for n in ALL if "int" in n])
def test_limits_of_integers(name: str):
    ours, theirs = gn.iinfo(getattr(gn, name)), strict.iinfo(getattr(strict, name))

    assert (ours.bits, ours.max, ours.min) == (theirs.bits, theirs.max, theirs.min)


@pytest.mark.parametrize("kind", ["bool", "integral", "numeric", "real floating"])
@pytest.mark.parametrize("name", ALL)
def test_kinds_of_dtypes(name: str, kind: str):
    wanted = strict.isdtype(getattr(strict, name), kind)

    assert gn.isdtype(getattr(gn, name), kind) == wanted
    assert gn.isdtype(getattr(gn, name), (kind, gn.bool)) == (wanted or name == "bool")
