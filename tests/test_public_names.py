"""What a module offers is what it says it offers: `__all__` is sorted and true, and documented."""

from __future__ import annotations

import copy
import importlib
import inspect
import pickle
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

import gnomon
from gnomon.lazy import reached
from gnomon.ops.registry import OPS
from tests.house import module, sources

pytestmark = pytest.mark.unit

# packages that some machines do not have; a module that needs one is looked at where it is
OPTIONAL = frozenset({"cuda", "mpi4py", "nccl", "triton"})


def modules() -> Iterator[ModuleType]:
    """Every module of the package that this machine can load."""
    for path in sources():
        try:
            yield importlib.import_module(module(path))
        except ModuleNotFoundError as missing:
            if (missing.name or "").partition(".")[0] not in OPTIONAL:
                raise


def offered(found: ModuleType) -> dict[str, object]:
    """The functions and classes that a module defines for others, or that it lists."""
    return {
        name: value
        for name, value in vars(found).items()
        if not name.startswith("_")
        and (inspect.isclass(value) or inspect.isfunction(value))
        and value.__name__ == name
        and (value.__module__ == found.__name__ or name in getattr(found, "__all__", ()))
    }


def test_the_list_of_public_names_is_sorted_and_true():
    for found in modules():
        listed = list(getattr(found, "__all__", ()))

        assert listed == sorted(set(listed)), found.__name__
        assert not [name for name in listed if not hasattr(found, name)], found.__name__
        assert not [x for x in listed if x.startswith("_") and x != "__version__"], found.__name__


def test_every_public_function_and_class_says_what_it_is():
    silent = [
        f"{found.__name__}.{name}"
        for found in modules()
        for name, value in offered(found).items()
        if not inspect.getdoc(value)
    ]

    assert not silent


PLACES = (
    *("", "autograd", "distributed", "fft", "func", "linalg", "masked", "nn.functional"),
    *("nn.init", "nn.utils", "random", "signal.windows", "special", "Tensor"),
)
"""Where programs find functions."""


@pytest.mark.parametrize("place", PLACES)
def test_functions_are_pickled_and_copied_by_their_public_place(place: str):
    found = reached(place)
    listed = getattr(found, "__all__", None) or dir(found)
    values = {name: getattr(found, name) for name in listed if not name.startswith("_")}
    functions = {name: x for name, x in values.items() if inspect.isfunction(x)}

    assert functions
    for name, function in functions.items():
        assert copy.deepcopy(function) is function, name
        assert pickle.loads(pickle.dumps(function)) is function, name


@pytest.mark.parametrize("place", PLACES)
def test_signatures_speak_of_tensors(place: str):
    found = reached(place)
    listed = getattr(found, "__all__", None) or dir(found)
    functions = [x for name in listed if inspect.isfunction(x := getattr(found, name))]
    shown = {x.__name__: str(inspect.signature(x)) for x in functions if public_place(x)}

    assert not {name: text for name, text in shown.items() if "Node" in text}


def public_place(function: Callable) -> bool:
    """Whether users reach a function; a module may import others for itself."""
    return function.__module__.partition(".ops.")[2] == ""


def test_an_alias_is_pickled_by_the_place_that_has_it():
    functional = gnomon.nn.functional

    assert pickle.dumps(gnomon.exp) == pickle.dumps(gnomon.Tensor.exp)
    assert pickle.loads(pickle.dumps(functional.relu_)) is functional.relu_
    assert pickle.loads(pickle.dumps(gnomon.FloatTensor)) is gnomon.FloatTensor
    assert pickle.loads(pickle.dumps(gnomon.linalg.svd)) is not gnomon.svd


def test_every_operation_says_what_it_is():
    list(modules())

    assert not [name for name, op in OPS.items() if not (op.__doc__ or "").strip()]


def test_every_file_opens_by_saying_what_it_is():
    assert not [x.__name__ for x in modules() if not (x.__doc__ or "").strip()]


def test_every_name_of_the_package_is_there():
    assert [name for name in dir(gnomon) if not hasattr(gnomon, name)] == []
