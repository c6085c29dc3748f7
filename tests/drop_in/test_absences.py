"""PyTorch's names that are not here: each can be imported in every way, and refuses when used."""

from __future__ import annotations

import importlib
import sys
from typing import get_type_hints

import pytest

from gnomon.drop_in.absences import table
from gnomon.drop_in.modules import installed
from gnomon.drop_in.report import NameReport
from gnomon.errors import ArgumentError
from gnomon.lazy import HOMES

pytestmark = pytest.mark.unit

FUNCTIONS = {
    *("torch.__config__", "torch.autograd.gradcheck"),
    *("torch.nn.utils.spectral_norm", "torch.nn.utils.weight_norm"),
}
"""Modules whose name is another thing's in the one above, in PyTorch too."""
MODULES = sorted({*table(), *(f"torch.{path}" for path in HOMES)})


@pytest.fixture(scope="module", autouse=True)
def torch():
    report = NameReport()
    with installed(report):
        yield importlib.import_module("torch")


def reached(module: str):
    """A module by its parents' attributes."""
    found = sys.modules["torch"]
    for part in module.split(".")[1:]:
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_one_by_every_way(module: str):
    first = importlib.import_module(module)
    home, _, name = module.rpartition(".")
    space: dict = {}
    exec(f"from {home or module} import {name if home else 'nn'} as found", space)

    assert sys.modules[module] is first
    if home:
        assert (space["found"] is first) != (module in FUNCTIONS) or module == "torch.__config__"
        assert reached(module) is space["found"]


@pytest.mark.parametrize("module", sorted(table()))
def test_each_name_is_there_by_every_way(module: str):
    for name in table()[module]:
        space: dict = {}
        exec(f"from {module} import {name} as found", space)

        assert getattr(importlib.import_module(module), name) is space["found"]


def test_a_class_annotates_has_subclasses_and_makes_nothing(torch):
    export = torch.export

    class Mine(export.UnflattenedModule):
        """A program's own."""

        def run(
            self, root: export.ShapesCollection | None, kind: export.ShapesCollection[int]
        ) -> export.AdditionalInputs: ...

    assert get_type_hints(Mine.run, {"export": export})["return"] is export.AdditionalInputs
    assert not isinstance(1, export.ShapesCollection)
    assert export.ShapesCollection.__module__ == "torch.export"
    for make in (Mine, export.AdditionalInputs, export.ShapesCollection.anything):
        with pytest.raises(
            ArgumentError, match=r"torch\.export\.\w+(\.anything)?: Gnomon has this name"
        ):
            make()


def test_a_function_refuses_with_its_name_and_is_noted():
    report = NameReport()
    with installed(report):
        export = importlib.import_module("torch.export").draft_export
        assert report.missing == {}
        with pytest.raises(ArgumentError, match=r"torch\.export\.draft_export: "):
            export(print)
    assert list(report.missing) == ["torch.export.draft_export"]


def test_what_annotates_and_registers_gives_back_what_it_was_given(torch):
    record = torch.distributed.elastic.multiprocessing.errors.record
    fake = torch.library.register_fake

    assert record(len) is len
    assert fake("a::b")(len) is len
    assert torch.library.register_autograd("a::b", len, setup_context=len)() is None
    assert torch.library.Library("a", "DEF").define("b() -> ()") == "b() -> ()"
    keys = torch._C.DispatchKeySet
    assert isinstance(keys(torch._C.DispatchKey.CPU) | keys(1), keys)


def test_operators_have_names(torch):
    aten = torch.ops.aten

    assert {aten.mm.default: 1}[aten.mm.default] == 1
    assert repr(aten.mm.default) == "torch.ops.aten.mm.default"
    assert not hasattr(torch.ops.torchaudio, "forced_align")
    with pytest.raises(ArgumentError, match=r"torch\.ops\.aten\.mm\.default: "):
        aten.mm.default(1)
    with pytest.raises(OSError, match="load_library"):
        torch.ops.load_library("x.so")


def test_errors_are_caught_and_values_are_values(torch):
    assert issubclass(torch.distributed.DistBackendError, RuntimeError)
    assert issubclass(torch.jit.TracerWarning, Warning)
    assert torch.multiprocessing.get_context().get_start_method()
    assert repr(torch.qint8) == "torch.qint8"
    assert torch.utils.checkpoint is importlib.import_module("torch.utils.checkpoint")


def test_what_pytorch_lacks_is_not_there(torch):
    for name in ("npu", "hpu", "frobnicate"):
        assert not hasattr(torch, name)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("torch.fx.nowhere")


def test_a_name_of_another_module_is_that_modules_object(torch):
    rows = [(m, name, kind) for m, names in table().items() for name, kind in names.items()]
    aliases = [(module, name, value) for module, name, (kind, value) in rows if kind == "alias"]

    assert len(aliases) > 150
    for module, name, value in aliases:
        home, _, attribute = value.rpartition(".")
        found = getattr(importlib.import_module(module), name)
        assert found is getattr(importlib.import_module(home), attribute)
    assert torch._C.Size is torch.Size
    assert importlib.import_module("torch.autograd.gradcheck").gradcheck is torch.autograd.gradcheck
