"""Modules by PyTorch's names: while they are installed, and whatever they stand for."""

from __future__ import annotations

import importlib
import pickle
import sys
from operator import attrgetter
from types import ModuleType

import pytest

import gnomon as gn
from gnomon.drop_in.modules import TorchModule, installed
from gnomon.drop_in.names import ANSWERS, answer_no, target_of
from gnomon.drop_in.report import NameReport
from gnomon.lazy import HOMES

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("path", sorted(HOMES))
def test_each_place_has_its_module(path: str):
    with installed(NameReport()):
        module = importlib.import_module(f"torch.{path}")

        assert isinstance(module, TorchModule)
        assert module.__name__ == f"torch.{path}"


def test_what_was_imported_before_comes_back(monkeypatch: pytest.MonkeyPatch):
    stood = ModuleType("torch")
    monkeypatch.setitem(sys.modules, "torch", stood)

    with installed(NameReport()):
        assert importlib.import_module("torch") is not stood
    assert sys.modules["torch"] is stood


def test_classes_of_tensors_are_those_of_pytorchs_modules():
    """Libraries for several frameworks choose their functions by these."""
    with installed(NameReport()):
        torch = importlib.import_module("torch")
        made = torch.ones(2), torch.nn.Parameter(torch.ones(2)), torch.ones(2, dtype=torch.cfloat)

        assert [x.__class__.__module__ for x in made] == ["torch", "torch.nn.parameter", "torch"]
        assert pickle.loads(pickle.dumps(made[0])).tolist() == [1.0, 1.0]
    assert gn.Tensor.__module__ == "gnomon.tensor.tensor"


def test_names_are_those_of_gnomon_and_are_kept():
    with installed(NameReport()):
        torch = importlib.import_module("torch")

        assert torch.nn.Linear is gn.nn.Linear
        assert "Linear" in vars(importlib.import_module("torch.nn"))
        assert {"nn", "ones", "__version__"} <= set(dir(torch))


@pytest.mark.parametrize(
    ("module", "name"), [("distributions", "Normal"), ("nn", "Linear"), ("nn.functional", "relu")]
)
def test_who_walks_over_a_module_finds_its_names(module: str, name: str):
    with installed(NameReport()):
        found = importlib.import_module(f"torch.{module}")

        assert found.__dict__[name] is getattr(found, name)


def test_the_root_is_below_itself():
    with installed(NameReport()):
        torch = importlib.import_module("torch")

        assert torch.torch is torch


@pytest.mark.parametrize("name", ["exp", "equal", "var", "meshgrid", "nn.functional.gelu"])
def test_functions_are_pickled_by_their_place(name: str):
    with installed(NameReport()):
        function = attrgetter(name)(importlib.import_module("torch"))

        assert pickle.loads(pickle.dumps(function)) is function


def test_a_module_that_is_not_there_is_an_import_error_and_is_noted():
    report = NameReport()
    with installed(report), pytest.raises(ModuleNotFoundError, match=r"'torch\.nowhere' in Gnomon"):
        importlib.import_module("torch.nowhere")

    assert list(report.missing) == ["torch.nowhere"]


def test_classes_are_no_modules():
    with installed(NameReport()), pytest.raises(ModuleNotFoundError):
        importlib.import_module("torch.nn.modules.conv.Conv2d")
    assert target_of("nn.modules.conv") is gn.nn


def test_private_names_that_programs_import_are_found_where_they_lie():
    with installed(NameReport()):
        module = importlib.import_module("torch.nn.modules.linear")
        init = importlib.import_module("torch.nn.init")

        assert issubclass(module.NonDynamicallyQuantizableLinear, gn.nn.Linear)
        assert init._calculate_correct_fan(gn.empty(5, 3), "fan_in") == 3


QUESTIONS = [path for path, answer in ANSWERS.items() if answer is answer_no]


@pytest.mark.parametrize("path", QUESTIONS)
def test_who_asks_for_what_only_pytorch_has_is_told_no(path: str):
    home, _, name = path.rpartition(".")
    with installed(NameReport()):
        module = importlib.import_module(f"torch.{home}")

        assert getattr(module, name)() is False


def test_names_at_which_transformers_and_lightning_stopped_are_there():
    with installed(NameReport()):
        trees = importlib.import_module("torch.utils._pytree")
        index = importlib.import_module("torch._dynamo._trace_wrapped_higher_order_op")
        constants = importlib.import_module("torch.distributed.constants")

        assert trees._dict_flatten_with_keys({"a": 1}) == ([(trees.MappingKey("a"), 1)], ["a"])
        assert constants.default_pg_timeout.total_seconds() == 1800
        with index.TransformGetItemToIndex():
            assert isinstance(importlib.import_module("torch.distributed").ReduceOp.RedOpType, type)


def test_names_at_which_gpytorch_pyro_and_kornia_stopped_are_there():
    names = """
        distributions.transforms._InverseTransform distributions.utils._sum_rightmost
        distributions.utils._standard_normal nn.modules.transformer._get_activation_fn hub.urlparse
        optim.optimizer.ParamsT optim.optimizer.required serialization.MAP_LOCATION GradScaler
        _standard_gamma
    """
    with installed(NameReport()):
        torch = importlib.import_module("torch")

        assert all(attrgetter(name)(torch) is not None for name in names.split())
        assert torch._cast_Long(torch.tensor(2.5)).item() == 2
        torch._assert_async(torch.tensor(True))
        with pytest.raises(RuntimeError, match="none"):
            torch._assert_async(torch.tensor(False), "none")
        assert repr(torch.ones(2, 3).shape) == "torch.Size([2, 3])"
