"""Modules that wait until they are used."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

import gnomon as gn
from gnomon import lazy
from gnomon.drop_in.modules import installed
from gnomon.drop_in.report import NameReport
from gnomon.lazy import HOMES, Lazy


def test_a_module_loads_when_it_is_first_used():
    script = (
        "import sys; from gnomon.lazy import Lazy; json = Lazy('wave');"
        "before = 'wave' in sys.modules; json.open; print(before, 'wave' in sys.modules)"
    )

    command = [sys.executable, "-c", script]
    said = subprocess.run(command, capture_output=True, text=True, check=True)

    assert said.stdout.split() == ["False", "True"]


def test_who_inspects_it_loads_nothing():
    for absent in (Lazy("nowhere.at_all"), Lazy("wave")):
        assert inspect.unwrap(absent) is absent
        assert not hasattr(absent, "__array_interface__")

    with pytest.raises(ModuleNotFoundError):
        _ = Lazy("nowhere.at_all").__file__


def test_it_gives_what_the_module_has():
    assert Lazy("math").pi == __import__("math").pi
    assert repr(Lazy("math")) == "Lazy('math')"


def test_the_package_shows_what_loads_late_and_gives_it():
    program = (
        "import gnomon as gn; listed = {'accumulate', 'finfo', 'linalg', 'load', 'nn', 'optim'};"
        "assert listed <= set(dir(gn)); assert 'finfo' in gn.__all__;"
        "gn.nn.Linear, gn.optim.AdamW, gn.linalg.norm;"
        "from gnomon import accumulate, load, nn; import gnomon.nn.functional as F; F.relu;"
        "print(gn.finfo('float32').bits, load.__module__)"
    )

    said = subprocess.check_output([sys.executable, "-c", program], text=True)

    assert said.split() == ["32", "gnomon.serialization.files"]


IMPORTED = (
    *("amp.autocast_mode.autocast", "amp.grad_scaler.GradScaler", "autograd.Variable"),
    *("autograd.function.Function", "autograd.functional.jacobian", "autograd.grad_mode.no_grad"),
    *("autograd.profiler.profile", "autograd.variable.Variable", "backends.cudnn.benchmark"),
    *("backends.cuda.matmul", "backends.mps.is_available", "cuda.is_available"),
    *("cuda.amp.autocast", "cuda.amp.GradScaler", "cuda.amp.grad_scaler.GradScaler"),
    *("distributions.Normal", "distributions.categorical.Categorical"),
    *("distributions.kl.kl_divergence", "distributions.normal.Normal"),
    *("distributions.one_hot_categorical.OneHotCategorical",),
    *("distributions.independent.Independent", "distributions.uniform.Uniform", "func.vmap"),
    *("functional.einsum", "linalg.norm", "nn.Module", "nn.functional.relu"),
    *("nn.init.xavier_uniform_", "nn.modules.Module", "nn.modules.activation.ReLU"),
    *("nn.modules.batchnorm.BatchNorm2d", "nn.modules.batchnorm._BatchNorm"),
    *("nn.modules.container.Sequential", "nn.modules.conv.Conv2d", "nn.modules.conv._ConvNd"),
    *("nn.modules.dropout.Dropout", "nn.modules.instancenorm._InstanceNorm"),
    *("nn.modules.linear.Linear", "nn.modules.loss.CrossEntropyLoss", "nn.modules.loss._Loss"),
    *("nn.modules.loss._WeightedLoss", "nn.modules.module.Module"),
    *("nn.modules.normalization.LayerNorm", "nn.modules.pooling.MaxPool3d", "nn.modules.rnn.LSTM"),
    *("nn.modules.sparse.Embedding", "nn.modules.transformer.Transformer"),
    *("nn.modules.utils._pair", "nn.modules.utils._single", "nn.modules.utils._triple"),
    *("nn.parallel.DistributedDataParallel", "nn.parallel.distributed.DistributedDataParallel"),
    *("nn.parameter.Parameter", "nn.utils.clip_grad.clip_grad_norm_", "nn.utils.rnn.pad_sequence"),
    *("nn.utils.convert_parameters.parameters_to_vector", "nn.utils.parametrizations.weight_norm"),
    *("optim.Adam", "optim.adam.Adam", "optim.adamw.AdamW", "optim.lr_scheduler.LRScheduler"),
    *("optim.lr_scheduler._LRScheduler", "optim.optimizer.Optimizer", "optim.sgd.SGD"),
    *("optim.radam.RAdam", "optim.swa_utils.AveragedModel", "profiler.profile"),
    *("random.manual_seed", "utils.checkpoint.checkpoint", "utils.data.DataLoader"),
    *("utils.data.dataloader.DataLoader", "utils.data._utils.collate.default_collate"),
    *("utils.data.dataset.Dataset", "utils.data.sampler.Sampler"),
    *("utils.data.dataloader.default_collate", "utils.data.distributed.DistributedSampler"),
    *("version.__version__",),
)
"""Names as programs import them, by the modules that they have there."""


@pytest.fixture(scope="module", params=["gnomon", "torch"])
def root(request):
    """The package from which a program imports: ours, or PyTorch's while ours stands for it."""
    with installed(NameReport()):
        yield request.param


@pytest.mark.parametrize("path", IMPORTED)
def test_names_are_imported_by_pytorchs_modules_each_way(path, root):
    module, _, name = f"{root}.{path}".rpartition(".")
    scopes = {}
    exec(f"from {module} import {name}", scopes)
    exec(f"import {module} as found; by_module = found.{name}", scopes)
    exec(f"import {root}; by_path = {root}.{path}", scopes)

    assert scopes["by_module"] == scopes[name] == scopes["by_path"]
    assert importlib.import_module(module).__name__


def test_every_module_of_the_table_is_imported_alone():
    program = "; ".join(f"import gnomon.{path}" for path in HOMES) + "; print('all')"

    said = subprocess.check_output([sys.executable, "-c", program], text=True)

    assert said.split() == ["all"]


def test_attributes_need_no_import_and_stars_bring_all():
    program = (
        "import gnomon as gn; gn.nn.modules.conv.Conv2d; gn.cuda.amp.GradScaler;"
        "gn.utils.data.dataloader.DataLoader; gn.distributions.normal.Normal;"
        "from gnomon.nn.modules import *; from gnomon.nn.modules.conv import *; print(Conv2d)"
    )

    said = subprocess.check_output([sys.executable, "-c", program], text=True)

    assert "Conv2d" in said


def test_it_is_no_file_and_loses_nobodys():
    modules = importlib.import_module("gnomon.nn.modules")
    linear = importlib.import_module("gnomon").nn.Linear

    assert not hasattr(modules, "__file__")
    assert inspect.getmodule(linear) is sys.modules["gnomon.nn.linear"]
    assert "Linear" in dir(modules)


def test_a_module_that_pytorch_has_not_is_not_found():
    with pytest.raises(ModuleNotFoundError, match=r"gnomon\.nn\.modules\.nowhere"):
        importlib.import_module("gnomon.nn.modules.nowhere")
    with pytest.raises(AttributeError, match=r"module 'gnomon\.cuda' has no attribute 'nowhere'"):
        _ = importlib.import_module("gnomon").cuda.nowhere


def test_no_thread_forks_while_another_loads(monkeypatch):
    free: list[bool] = []

    def load(name: str) -> object:
        other = threading.Thread(target=lambda: free.append(lazy._loading.acquire(blocking=False)))
        other.start()
        other.join()
        return SimpleNamespace(sqrt=2)

    monkeypatch.setattr(lazy, "importlib", SimpleNamespace(import_module=load))
    monkeypatch.delitem(sys.modules, "wave", raising=False)

    assert gn._part("gnomon.nowhere").sqrt == 2
    assert Lazy("wave").sqrt == 2
    assert free == [False, False]
