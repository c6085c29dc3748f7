"""PyTorch's own test files on Gnomon: their `torch` is Gnomon's, their tools are PyTorch's.

What passes between the two is changed at the border: tensors, dtypes, devices and sizes. A test of
the operator database is skipped, since that runs functions of its own; what an error says is not
compared. How the files are run is in torch_files.py.
"""

from __future__ import annotations

import builtins
import functools
import importlib
import inspect
import pkgutil
import sys
import unittest
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import torch
from torch.testing._internal import common_device_type, common_utils
from torch.testing._internal.opinfo.core import OpInfo

import gnomon as gn
from gnomon.drop_in.absences import NamedValue
from gnomon.drop_in.modules import TorchFinder, TorchModule, is_theirs
from gnomon.drop_in.report import NameReport

TOOLS, COMPARISON = "torch.testing._internal", "torch.testing._comparison"
DTYPES = {
    getattr(gn, name): getattr(torch, name)
    for name in (
        *("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
        *("float8_e4m3fn", "float8_e5m2"),
    )
}
OURS = {theirs: ours for ours, theirs in DTYPES.items()}


# values


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Nested tuples, lists, sets and dicts with every leaf changed."""
    if isinstance(value, dict):
        return {mapped(k, change): mapped(v, change) for k, v in value.items()}
    if type(value) in (list, set, frozenset) or isinstance(value, tuple):
        if type(value).__module__.startswith(TOOLS) and hasattr(value, "_fields"):  # tolerances
            return value
        kind = tuple if isinstance(value, tuple) else type(value)
        return change(value) if hasattr(value, "numel") else kind(mapped(x, change) for x in value)
    return change(value)


def theirs_of(leaf: Any) -> Any:
    """PyTorch's tensor, dtype, device or size for Gnomon's; anything else as it is."""
    if isinstance(leaf, gn.Tensor):
        return tensor_of_theirs(leaf)
    if isinstance(leaf, gn.dtype):
        return DTYPES[leaf]
    if isinstance(leaf, gn.device):
        return torch.device(str(leaf))
    if isinstance(leaf, NamedValue):
        return getattr(torch, str(leaf).removeprefix("torch."), leaf)
    return torch.Size(leaf) if isinstance(leaf, gn.Size) else leaf


def tensor_of_theirs(leaf: Any) -> torch.Tensor:
    """A copy of a tensor; through float32 where numpy has no such dtype."""
    kind = DTYPES[leaf.dtype]
    found = leaf.detach()
    found = found if gn.can_cast(leaf.dtype, gn.float64) or leaf.is_complex() else found.float()
    narrow = leaf.dtype in (gn.bfloat16, gn.float8_e4m3fn, gn.float8_e5m2)
    return torch.tensor((found.float() if narrow else found).numpy(force=True)).to(kind)


def opened(value: Any) -> Any:
    """A container of modules or parameters as a list or dict, by which PyTorch's tools compare."""
    if isinstance(value, (gn.nn.Sequential, gn.nn.ModuleList, gn.nn.ParameterList)):
        return list(value)
    return dict(value) if isinstance(value, (gn.nn.ModuleDict, gn.nn.ParameterDict)) else value


def ours_of(leaf: Any) -> Any:
    """Gnomon's tensor, dtype, device or size for PyTorch's; anything else as it is."""
    if isinstance(leaf, torch.Tensor):
        kind = OURS.get(leaf.dtype)
        if kind is None or leaf.layout != torch.strided:
            raise unittest.SkipTest(f"border: {leaf.dtype} of {leaf.layout}")
        wide = leaf.detach().float() if leaf.dtype == torch.bfloat16 else leaf.detach()
        made = gn.from_numpy(wide.resolve_conj().resolve_neg().numpy().copy()).to(kind)
        return made.requires_grad_(leaf.requires_grad)
    if isinstance(leaf, torch.dtype):
        return OURS.get(leaf, leaf)
    if isinstance(leaf, torch.device):
        return gn.device(str(leaf))
    if isinstance(leaf, OpInfo):
        raise unittest.SkipTest("border: of the operator database")
    return gn.Size(leaf) if isinstance(leaf, torch.Size) else leaf


def to_theirs(value: Any) -> Any:
    """What is nested in a value, as PyTorch has it."""
    return mapped(value, theirs_of)


def to_ours(value: Any) -> Any:
    """What is nested in a value, as Gnomon has it."""
    return mapped(value, ours_of)


# tools


def crossing(tool: Any) -> Any:
    """A tool of PyTorch's tests for a file whose torch is Gnomon."""
    if isinstance(tool, ModuleType):
        return facade(tool.__name__, tool) if tool.__name__.startswith(TOOLS) else tool
    if isinstance(tool, type):
        if issubclass(tool, unittest.TestCase):
            return case_over(tool)
        return across(tool) if any("__call__" in vars(kind) for kind in tool.__mro__) else tool
    if tool is common_device_type.instantiate_device_type_tests:
        return instantiate
    if tool is common_utils.set_default_dtype:
        return default_dtype
    if tool is common_utils.instantiate_parametrized_tests:
        return instantiate_parameters
    if getattr(tool, "__name__", "") in OF_MODULES:
        return with_ours(tool)
    if getattr(tool, "__name__", "") in ("gradcheck", "gradgradcheck"):
        return getattr(gn.autograd, tool.__name__)
    if inspect.isfunction(tool) or inspect.isbuiltin(tool):
        return across(tool)
    if isinstance(tool, dict):
        return {OURS.get(k, k): crossing(v) for k, v in tool.items()}
    return OURS.get(tool, tool) if isinstance(tool, torch.dtype) else tool


OF_MODULES = [
    *("_assertGradAndGradgradChecks", "_create_basic_net", "_test_bfloat16_ops"),
    "_test_module_empty_input",
]
"""Tools that call modules and functions of a file, and see Gnomon as the file does."""


def with_ours(tool: Any) -> FunctionType:
    """A tool whose torch is Gnomon."""
    seen = {**tool.__globals__, "torch": importing("torch"), "nn": gn.nn, "F": gn.nn.functional}
    seen |= {name: getattr(gn.autograd, name) for name in ("gradcheck", "gradgradcheck")}
    return FunctionType(tool.__code__, seen, None, tool.__defaults__)


def across(function: Callable) -> Callable:
    """A function that is given PyTorch's values and gives Gnomon's."""

    def call(*args: Any, **kwargs: Any) -> Any:
        made = function(*to_theirs(args), **to_theirs(kwargs))
        return made if callable(made) else to_ours(made)

    return call


@contextmanager
def default_dtype(dtype: Any) -> Iterator[None]:
    """Gnomon's default dtype, for a while."""
    before = gn.get_default_dtype()
    gn.set_default_dtype(dtype)
    try:
        yield
    finally:
        gn.set_default_dtype(before)


@functools.cache
def case_over(case: type) -> type:
    """A class of tests whose comparisons are PyTorch's, of what Gnomon computed."""

    def setUp(self: Any) -> None:
        gn.manual_seed(1234)
        case.setUp(self)

    def assertRaisesRegex(self: Any, error: Any, text: Any, *args: Any, **kwargs: Any) -> Any:
        raising = self.assertRaises
        return raising(error, *args, **kwargs)

    def comparison(name: str) -> Callable:
        def compare(self: Any, *args: Any, **kwargs: Any) -> Any:
            given = to_theirs([opened(x) for x in args])
            return getattr(case, name)(self, *given, **to_theirs(kwargs))

        return compare

    def compare_with_numpy(
        self: Any,
        call: Any,
        theirs: Any,
        value: Any,
        device: Any = None,
        dtype: Any = None,
        **k: Any,
    ) -> None:
        x = value if isinstance(value, gn.Tensor) else gn.tensor(value, dtype=dtype)
        plain = tensor_of_theirs(x)
        plain = plain.float() if x.dtype is gn.bfloat16 else plain
        equal = self.assertEqual
        equal(np.array(theirs(plain.numpy())), call(x), **k)

    words: dict[str, Any] = {"setUp": setUp, "__module__": __name__}
    words |= {"assertRaisesRegex": assertRaisesRegex, "compare_with_numpy": compare_with_numpy}
    names = ("assertEqual", "assertNotEqual", "assertEqualIgnoreType", "assertEqualTypeString")
    words |= {name: comparison(name) for name in names if hasattr(case, name)}
    return type(case.__name__, (case,), words)


def instantiate(generic: type, scope: dict[str, Any], *args: Any, **kwargs: Any) -> None:
    """The tests of a class for the CPU, which get Gnomon's dtypes."""
    for name, test in list(vars(generic).items()):
        if name.startswith("test") and callable(test):
            setattr(generic, name, given_ours(test))
    words = {"only_for": ("cpu",), "allow_mps": False}
    common_device_type.instantiate_device_type_tests(generic, scope, **words)


def instantiate_parameters(generic: type) -> type:
    """The tests of a class for each of their parameters, which are Gnomon's."""
    for name, test in list(vars(generic).items()):
        if hasattr(test, "parametrize_fn"):
            setattr(generic, name, given_ours(test))
    return common_utils.instantiate_parametrized_tests(generic)


def given_ours(test: Callable) -> Callable:
    """A test that gets Gnomon's values for PyTorch's."""

    @functools.wraps(test)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = to_ours(kwargs)
        strange = [x for x in given.values() if isinstance(x, torch.dtype)]
        if strange:
            raise unittest.SkipTest(f"border: {strange[0]}")
        return test(self, *to_ours(args), **given)

    return call


# imports


class Facade(ModuleType):
    """A module of PyTorch's tools, seen from a file whose torch is Gnomon."""

    def __init__(self, name: str, real: ModuleType) -> None:
        super().__init__(name)
        self.__path__: list[str] = []
        self._real = real

    def __getattr__(self, name: str) -> Any:
        found = crossing(getattr(self._real, name))
        setattr(self, name, found)
        return found


@functools.cache
def facade(name: str, real: ModuleType) -> Facade:
    """The one facade of a module."""
    return Facade(name, real)


class ToolFinder:
    """Finds PyTorch's tools for files whose torch is Gnomon."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """A facade's, below the tools."""
        if name in (TOOLS, COMPARISON) or name.startswith(f"{TOOLS}."):
            return ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """The facade."""
        with world.theirs():
            return facade(spec.name, importlib.import_module(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: tools are looked up when they are read."""


class OurModule(TorchModule):
    """A module of Gnomon's under PyTorch's name, which finds those below it at any time."""

    def __getattr__(self, name: str) -> Any:
        with world.ours():
            return super().__getattr__(name)


class OurFinder(TorchFinder):
    """Finds Gnomon's modules under PyTorch's names."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module that asks Gnomon."""
        made = super().create_module(spec)
        made.__class__ = OurModule
        return made


class World:
    """The modules named torch, of which one library's are seen at a time."""

    def __init__(self) -> None:
        self.kept: dict[str, ModuleType] = {}
        self.ours_seen = False
        self.finders = [ToolFinder(), OurFinder(NameReport())]

    def swap(self) -> None:
        """The other library's modules in place of those seen."""
        seen = {name: sys.modules.pop(name) for name in list(sys.modules) if is_theirs(name)}
        sys.modules.update(self.kept)
        self.kept, self.ours_seen = seen, not self.ours_seen
        if self.ours_seen:
            sys.meta_path[:0] = self.finders
        else:
            sys.meta_path[:] = [x for x in sys.meta_path if x not in self.finders]

    @contextmanager
    def seeing(self, ours: bool) -> Iterator[None]:
        """One library's modules, for a while."""
        turn = self.ours_seen != ours
        if turn:
            self.swap()
        try:
            yield
        finally:
            if turn:
                self.swap()

    def ours(self) -> Any:
        """Gnomon's modules."""
        return self.seeing(True)

    def theirs(self) -> Any:
        """PyTorch's modules."""
        return self.seeing(False)


world = World()


def importing(name: str, *args: Any, **kwargs: Any) -> Any:
    """The import of a test file: torch is Gnomon there."""
    if not is_theirs(name):
        return __import__(name, *args, **kwargs)
    with world.ours():
        return __import__(name, *args, **kwargs)


def resolving(name: str, resolve: Callable[[str], Any] = pkgutil.resolve_name) -> Any:
    """What a dotted name means in a test file, as mock.patch asks for it."""
    with world.ours():
        return resolve(name)


LEFT_OUT: dict[str, dict[str, Any]] = {
    "common_utils": {"skipIfMps": lambda test: test},
    "common_cuda": {"tf32_is_not_fp32": lambda: False},
    "common_nn": {"new_module_tests": []},
    "common_methods_invocations": {"foreach_lerp_op_db": []},
}
"""Tools that files of older versions import, and PyTorch has no more."""


OLDER = {
    "    kineto_available,\n    _calculate_shape,\n": "",
    "torch.autograd.kineto_available()": "False",
    "kineto_available()": "False",
    "from torch.types import _TensorOrTensors": "_TensorOrTensors = object",
    "test_activations_bfloat16_cpu": "test_activations_of_bfloat16",
    "torch._C.has_mkldnn": "False",
    "torch.profiler.itt.is_available()": "False",
    "torch._nnpack_available()": "False",
    "stateless._functional_call": "stateless.functional_call",
    "binary_ufuncs_and_refs": "binary_ufuncs",
    "from torch.distributions.dirichlet import _Dirichlet_backward": "_Dirichlet_backward = None",
    "from torch.distributions.kl import _kl_expfamily_expfamily": "_kl_expfamily_expfamily = None",
    "torch._C._ConvBackend": "unittest.mock.sentinel",
    "torch._mkldnn,": "None,",
    "from torch._utils import _rebuild_tensor\n": "_rebuild_tensor = None\n",
    "from torch.serialization import check_module_version_greater_or_equal": (
        "check_module_version_greater_or_equal = lambda *_: True"
    ),
    "import torch.utils.data.datapipes as dp": "dp = IterableWrapper = None",
    "from torch.utils.data.datapipes.iter import IterableWrapper\n": "",
    "from torch.utils.data._utils import MP_STATUS_CHECK_INTERVAL\n": (
        "MP_STATUS_CHECK_INTERVAL = 5.0\n"
    ),
    "from torch._utils import ExceptionWrapper": "ExceptionWrapper = None",
    "LooseVersion = distutils.version.LooseVersion": "from distutils.version import LooseVersion",
    "from torch._utils_internal import get_file_path_2": "get_file_path_2 = os.path.join",
    "super(self.__class__, self)": "super()",
    "    EPOCH_DEPRECATION_WARNING,\n": "",
    "EPOCH_DEPRECATION_WARNING": "''",
}
"""Texts of files of older versions -> what stands for them in PyTorch's own."""


def remember() -> None:
    """Give PyTorch's tools the names that they have lost."""
    for name, values in LEFT_OUT.items():
        tools = importlib.import_module(f"{TOOLS}.{name}")
        for key, value in values.items():
            vars(tools).setdefault(key, value)


def read_file(path: Path, crossed: bool) -> ModuleType:
    """A test file as a module, whose torch is Gnomon or PyTorch."""
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    if crossed:
        vars(module)["__builtins__"] = {**vars(builtins), "__import__": importing}
        pkgutil.resolve_name = resolving
    common_utils.TEST_WITH_SLOW = False
    remember()
    sys.path.insert(0, str(next(x for x in path.parents if x.name == "test")))
    text = path.read_text(encoding="utf-8")
    for older, newer in OLDER.items():
        text = text.replace(older, newer)
    exec(compile(text, str(path), "exec"), vars(module))
    vars(module).pop("load_tests", None)
    return module
