"""Modules that load when they are first used, and modules of PyTorch's names, made when imported.

`import gnomon` must be quick, and the compiler is a third of the package and most of its
dependencies' loading time. Whoever needs it only to evaluate imports its name from here, at the top
of the file like any import, and it loads with the first evaluation. The order of layers holds for
these names too.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import FunctionType, ModuleType
from typing import Any

from gnomon.forking import held

_loading = held(RLock())
"""A child of a fork would wait for a module that another thread was loading."""

OF_MODULES = frozenset({"__file__", "__name__", "__path__", "__spec__", "__version__"})
"""The names of Python's own that a module answers to."""


def load(name: str) -> ModuleType:
    """A module, imported while no other thread forks."""
    with _loading:
        return importlib.import_module(name)


class Lazy:
    """Stands for a module until something of it is used.

    >>> Lazy("math").sqrt(4.0)
    2.0
    """

    __slots__ = ("_loaded", "_name")

    def __init__(self, name: str) -> None:
        self._name, self._loaded = name, None

    def __getattr__(self, attribute: str) -> Any:
        if self._loaded is not None:
            return getattr(self._loaded, attribute)
        if attribute.startswith("__") and attribute not in OF_MODULES:
            # inspect and its like ask anything so, whether or not the module can be loaded
            raise AttributeError(f"{self!r} has no attribute {attribute!r}")
        found = sys.modules.get(self._name)
        if found is None or getattr(found.__spec__, "_initializing", False):
            found = load(self._name)
        else:
            self._loaded = found
        return getattr(found, attribute)

    def __repr__(self) -> str:
        return f"Lazy({self._name!r})"


# what of ours waits, and under which name: `from gnomon.lazy import pipeline`
aliasing = Lazy("gnomon.capture.aliasing")
call_objects = Lazy("gnomon.capture.call_objects")
effects = Lazy("gnomon.capture.effects")
endings = Lazy("gnomon.capture.endings")
guards = Lazy("gnomon.capture.guards")
held_numbers = Lazy("gnomon.capture.held_numbers")
object_state = Lazy("gnomon.capture.object_state")
compile_options = Lazy("gnomon.capture.compile_options")
number_places = Lazy("gnomon.capture.number_places")
panels = Lazy("gnomon.capture.panels")
paths = Lazy("gnomon.capture.paths")
precompiled = Lazy("gnomon.capture.precompiled")
recompile_reasons = Lazy("gnomon.capture.recompile_reasons")
replay = Lazy("gnomon.capture.replay")
storage_names = Lazy("gnomon.capture.storage_names")
target = Lazy("gnomon.compiler.target")
dissected = Lazy("gnomon.ir.dissected")
sym_float = Lazy("gnomon.ir.sym_float")
size_families = Lazy("gnomon.capture.size_families")
segments = Lazy("gnomon.capture.segments")
sized_captures = Lazy("gnomon.capture.sized_captures")
sized_trees = Lazy("gnomon.capture.sized_trees")
host_calls = Lazy("gnomon.tensor.host_calls")
pieces = Lazy("gnomon.tensor.pieces")
repeats = Lazy("gnomon.tensor.repeats")
traced_sizes = Lazy("gnomon.tensor.traced_sizes")
tracing = Lazy("gnomon.capture.tracing")
trees = Lazy("gnomon.capture.trees")
varying = Lazy("gnomon.capture.varying")
backends = Lazy("gnomon.runtime.backend")
vision_ops = Lazy("gnomon.drop_in.vision_ops")
cuda_driver = Lazy("gnomon.runtime.cuda.driver")
card_memories = Lazy("gnomon.runtime.cuda.memory")
autotuning = Lazy("gnomon.compiler.autotuning")
commands = Lazy("gnomon.commands")
conformance = Lazy("gnomon.compiler.conformance")
build = Lazy("gnomon.compiler.build")
table_programs = Lazy("gnomon.compiler.table_programs")
elsewhere = Lazy("gnomon.compiler.elsewhere")
pipeline = Lazy("gnomon.compiler.pipeline")
sized = Lazy("gnomon.compiler.sized")
tiers = Lazy("gnomon.compiler.tiers")
between = Lazy("gnomon.ir.between")
collector = Lazy("gnomon.ir.collector")
show = Lazy("gnomon.ir.show")
sizes = Lazy("gnomon.ir.sizes")
specializations = Lazy("gnomon.ir.specializations")
autograd_graph = Lazy("gnomon.tensor.autograd.graph")
accumulation = Lazy("gnomon.tensor.autograd.accumulation")
dropping = Lazy("gnomon.tensor.autograd.dropping")
moves = Lazy("gnomon.tensor.autograd.moves")
release = Lazy("gnomon.tensor.autograd.release")
encoded = Lazy("gnomon.tensor.encoded")
encodings = Lazy("gnomon.ops.blocks")
integer_blocks = Lazy("gnomon.ops.integer_blocks")
ending = Lazy("gnomon.distributed.ending")
fitting = Lazy("gnomon.ops.fitting")
gradient_layouts = Lazy("gnomon.passes.gradient_layouts")
inlining = Lazy("gnomon.passes.inline")
leaving = Lazy("gnomon.passes.leaving")
loosen = Lazy("gnomon.passes.loosen")
exporting = Lazy("gnomon.export.exporting")
program_capture = Lazy("gnomon.export.program_capture")
assembly = Lazy("gnomon.program.assembly")
blocks = Lazy("gnomon.program.blocks")
bound = Lazy("gnomon.program.bound")
communication = Lazy("gnomon.program.communication")
listing = Lazy("gnomon.program.listing")
memory_check = Lazy("gnomon.program.memory_check")
records = Lazy("gnomon.program.records")
here = Lazy("gnomon.runtime.comm.here")
shared = Lazy("gnomon.runtime.shared")
threads = Lazy("gnomon.runtime.threads")
excerpt = Lazy("gnomon.schedule.excerpt")
complex_parameter = Lazy("gnomon.nn.complex_parameter")
complex_calls = Lazy("gnomon.tensor.complex_calls")
complex_factorizations = Lazy("gnomon.tensor.complex_factorizations")
layouts = Lazy("gnomon.tensor.layouts")
modes = Lazy("gnomon.tensor.modes")
numpy_calls = Lazy("gnomon.tensor.numpy_calls")
out = Lazy("gnomon.tensor.out")
placements = Lazy("gnomon.tensor.placements")
causal = Lazy("gnomon.models.causal")
pretrained = Lazy("gnomon.models.pretrained")
runs = Lazy("gnomon.train.runs")
text_commands = Lazy("gnomon.train.text_commands")
read_numbers = Lazy("gnomon.tensor.read_numbers")


# modules of PyTorch's names

OWN = (
    "accelerator amp autograd autograd.forward_ad autograd.functional autograd.graph backends "
    "backends.cpu backends.cuda backends.cudnn backends.mkl backends.mkldnn backends.mps "
    "backends.openmp backends.opt_einsum backends.quantized cpu cuda cuda.nvtx fft func futures "
    "jit linalg masked mps mtia nested nn.grad overrides quasirandom random signal "
    "signal.windows sparse special storage utils.benchmark utils.tensorboard version xpu"
)
"""Modules that are reached by the same path here."""
HOMES = dict(zip(OWN.split(), OWN.split(), strict=True)) | {
    under + name: home
    for home, under, names in (
        ("", "", "functional utils.dlpack"),
        ("amp", "amp.", "autocast_mode grad_scaler"),
        ("export.dynamic", "export.", "dynamic_shapes"),
        ("fx.tracer", "fx.", "_symbolic_trace"),
        ("compiler", "", "_dynamo _inductor"),
        ("compiler.config", "", "_dynamo.config _inductor.config compiler.config"),
        ("amp.of_cpu", "", "cpu.amp cpu.amp.autocast_mode cpu.amp.grad_scaler"),
        ("amp.of_cuda", "", "cuda.amp"),
        ("cuda", "cuda.", "graphs memory random streams"),
        ("amp.of_cuda", "cuda.amp.", "autocast_mode grad_scaler"),
        ("autograd", "autograd.", "anomaly_mode function grad_mode variable"),
        ("distributed", "distributed.", "algorithms distributed_c10d"),
        ("distributed.checkpoint_wrapper", "distributed.algorithms.", "_checkpoint"),
        ("distributed.comm_hooks", "distributed.algorithms.", "ddp_comm_hooks"),
        ("distributed.functional", "distributed.", "_functional_collectives"),
        (
            "distributed.fsdp",
            "distributed.",
            "_composable _composable.fsdp _composable.fsdp.fully_shard",
        ),
        (
            "distributed.checkpoint_wrapper",
            "distributed.algorithms._checkpoint.",
            "checkpoint_wrapper",
        ),
        ("distributed.comm_hooks", "distributed.algorithms.ddp_comm_hooks.", "default_hooks"),
        ("distributed.nn", "distributed.nn.", "functional"),
        ("distributed.optim", "distributed.optim.", "zero_redundancy_optimizer"),
        ("distributed.pipelining", "distributed.pipelining.", "microbatch schedules stage"),
        ("distributed.wrapping", "distributed.fsdp.", "wrap"),
        (
            "distributed.tensor",
            "distributed.",
            "_tensor _tensor.api _tensor.device_mesh _tensor.placement_types",
        ),
        ("distributed.tensor", "distributed.tensor.", "api device_mesh placement_types"),
        ("distributions", "distributions.", "bernoulli beta binomial categorical cauchy chi2"),
        ("distributions", "distributions.", "continuous_bernoulli dirichlet exp_family"),
        ("distributions", "distributions.", "exponential fishersnedecor gamma generalized_pareto"),
        ("distributions", "distributions.", "geometric gumbel half_cauchy half_normal independent"),
        ("distributions", "distributions.", "inverse_gamma kl kumaraswamy laplace lkj_cholesky"),
        ("distributions", "distributions.", "log_normal logistic_normal"),
        ("distributions", "distributions.", "lowrank_multivariate_normal mixture_same_family"),
        ("distributions", "distributions.", "multinomial multivariate_normal negative_binomial"),
        ("distributions", "distributions.", "normal one_hot_categorical pareto poisson"),
        ("distributions", "distributions.", "relaxed_bernoulli relaxed_categorical studentT"),
        ("distributions", "distributions.", "transformed_distribution uniform von_mises weibull"),
        ("distributions", "distributions.", "transforms wishart"),
        ("distributions.parameters", "distributions.", "utils"),
        ("nn", "", "nn.modules"),
        ("nn", "nn.modules.", "activation adaptive batchnorm channelshuffle container conv"),
        ("nn", "nn.modules.", "distance dropout flatten fold instancenorm linear"),
        ("nn", "nn.modules.", "linear_cross_entropy loss module normalization padding"),
        ("nn", "nn.modules.", "pixelshuffle pooling rnn sparse transformer upsampling utils"),
        ("nn.lazy_layers", "nn.modules.", "lazy"),
        ("nn.flex_attention", "nn.attention.", "flex_attention"),
        ("nn.parallel", "nn.parallel.", "data_parallel distributed"),
        ("nn.utils", "nn.utils.", "clip_grad convert_parameters fusion init memory_format"),
        ("nn.utils", "nn.utils.", "stateless"),
        ("optim", "optim.", "adadelta adamax adamw nadam radam"),
        ("profiler", "", "autograd.profiler profiler.profiler"),
        ("utils.pytree", "utils.", "_pytree"),
        ("utils.data", "utils.data.", "_utils _utils.collate dataloader dataset sampler"),
    )
    for name in names.split()
}
"""PyTorch's module -> where its names are here; real files of a name come first."""


class NamesElsewhere(ModuleType):
    """A module by whose name another's names are found."""

    def __init__(self, name: str, target: Any) -> None:
        super().__init__(name, f"{name}: names that lie elsewhere in Gnomon.")
        self.__path__: list[str] = []
        self._target = target

    def __getattr__(self, name: str) -> Any:
        if name == "__all__":
            listed = [each for each in dir(self._target) if not each.startswith("_")]
            return getattr(self._target, "__all__", listed)
        if name.startswith("__") and name != "__version__":
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = below(self.__name__, name)
        return getattr(self._target, name) if found is None else found

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._target)})


def below(package: str, name: str) -> ModuleType | None:
    """The module of PyTorch's that has a name below a package; None where it has none."""
    full = f"{package}.{name}"
    return load(full) if full.partition(".")[2] in HOMES else None


def modules_below(package: str) -> Callable[[str], ModuleType]:
    """A package's `__getattr__`: modules that PyTorch has below it need no import of their own."""

    def find(name: str) -> ModuleType:
        found = below(package, name)
        if found is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return found

    return find


def names_in(modules: str, package: str) -> Callable[[str], Any]:
    """A package's `__getattr__`: public names that lie in some modules, which load when asked."""

    def find(name: str) -> Any:
        # an import of a file in the package asks here first
        file = PathFinder.find_spec(f"{package}.{name}", sys.modules[package].__path__)
        for module in modules.split() if file is None and name[:1] != "_" else ():
            if name in load(module).__all__:
                return getattr(load(module), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find


def settle(package: str, names: Mapping[str, Any], within: str = "") -> None:
    """Give functions their public place, by which they are pickled, where their own has others."""
    for name, value in names.items():
        if isinstance(value, FunctionType) and not name.startswith("_") and not is_found(value):
            value.__module__, value.__qualname__ = package, within + name


def is_found(function: FunctionType) -> bool:
    """Whether a function is in the module that it names."""
    found: Any = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = vars(found).get(part) if hasattr(found, "__dict__") else None
    return found is function


def reached(path: str) -> Any:
    """The value under a path of names in Gnomon; None where there is nothing."""
    found: Any = importlib.import_module("gnomon")
    for part in path.split(".") if path else ():
        found = getattr(found, part, None) or file_below(found, part)
        found = found._target if isinstance(found, NamesElsewhere) else found
    return found


def file_below(package: Any, name: str) -> ModuleType | None:
    """A file of a package's that nobody imported so far, but for Gnomon's own; None otherwise."""
    own = getattr(package, "__name__", "") if isinstance(package, ModuleType) else ""
    within = own.startswith("gnomon.") and getattr(package, "__path__", None)
    if not within or PathFinder.find_spec(f"{own}.{name}", package.__path__) is None:
        return None
    return load(f"{own}.{name}")


class FinderOfNames:
    """Finds modules of PyTorch's names below a root, for Python's import."""

    root = "gnomon"

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module of a name, if it is one of the table."""
        root, _, inner = fullname.partition(".")
        loader: Any = self  # importlib.abc, where loaders are declared, would load with gnomon
        known = root == self.root and inner in HOMES
        return ModuleSpec(fullname, loader, is_package=True) if known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """A module that asks another for its names."""
        return NamesElsewhere(spec.name, reached(HOMES[spec.name.partition(".")[2]]))

    def exec_module(self, module: ModuleType) -> None:
        """A module whose names lie in one of its own path is that one."""
        path, target = module.__name__.partition(".")[2], module._target
        if HOMES[path] == path and isinstance(target, ModuleType):
            vars(target).setdefault("__path__", [])
            sys.modules[module.__name__] = target


sys.meta_path.append(FinderOfNames())
