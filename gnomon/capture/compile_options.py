"""Options of gn.compile: PyTorch's, the optimisations to do, and the settings of programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from gnomon.errors import ArgumentError
from gnomon.lazy import target, tiers
from gnomon.settings import OPTIMISATIONS, current, override

if TYPE_CHECKING:
    from gnomon.compiler.tiers import KeptInputs, Tiers
    from gnomon.ir.node import Graph
    from gnomon.program.context import CompileContext
    from gnomon.program.executable import Executable, Pairs

__all__ = ["CompileOptions", "check_options"]

AUTOTUNE = 10.0
"""Seconds for measuring products, in the modes that ask for it."""

EAGER = ("aot_eager", "eager")
"""Backends that compile nothing."""
BACKENDS = ("gnomon", "inductor", "cudagraphs", *EAGER)
"""Names of compilers: one is here, whatever it is called."""
OPTIONS = {
    "fullgraph": (True, False),
    "breaks": ("allow", "error"),
    "dynamic": (None, False, True),
    "backend": BACKENDS,
    "mode": (None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"),
    "disable": (False, True),
}
"""The keyword arguments of torch.compile and ours beside `options`, with the values that have
effects."""


def check_options(options: Mapping[str, Any], switches: Mapping[str, Any]) -> None:
    """Raise ArgumentError for an option or a value that gn.compile does not have."""
    for name, value in options.items():
        if name not in OPTIONS:
            known = ", ".join((*OPTIONS, "options"))
            raise ArgumentError(f"compile: no option {name!r}. It takes {known}.")
        if value not in OPTIONS[name]:
            allowed = ", ".join(map(repr, OPTIONS[name]))
            raise ArgumentError(f"compile: {name} must be one of {allowed}: got {value!r}.")
    for name, value in switches.items():
        if name not in OPTIMISATIONS:
            known = ", ".join(OPTIMISATIONS)
            raise ArgumentError(f"compile: options: no optimisation {name!r}. There are {known}.")
        if not isinstance(value, bool):
            raise ArgumentError(f"compile: options: {name} must be True or False: got {value!r}.")


class CompileOptions(NamedTuple):
    """The options of a compiled function."""

    seconds: float = 0.0
    """The seconds for which products may be measured."""
    without: str = ""
    """Optimisations to leave out."""
    dynamic: bool | None = None
    """Whether programs serve several sizes; None: as the settings say."""

    def tiers(self, graph: Graph, name: str, rewritten: Pairs, lasting: KeptInputs) -> Tiers:
        """The executables of a captured graph; lasting: inputs that may be prepacked."""
        with override(without=f"{current().without},{self.without}") as settings:
            kept = lasting if settings.allows("prepack") else ()
            return tiers.Tiers(graph, name, rewritten, self.seconds, kept, self.dynamic)

    def filled_in(
        self, make: Callable[[CompileContext], Executable | None], lasting: KeptInputs
    ) -> Executable | None:
        """The executable that `make` builds for a context; None where sizes may not vary."""
        with override(without=f"{current().without},{self.without}") as settings:
            kept = lasting if settings.allows("prepack") else ()
            context = target.context(kept=kept, dynamic=self.dynamic)
            return make(context) if context.may_vary else None


def asked(options: Mapping[str, Any], switches: Mapping[str, Any]) -> CompileOptions:
    """The options of gn.compile as CompileOptions; `switches` are the entries of `options=`."""
    seconds = AUTOTUNE if str(options.get("mode")).startswith("max-autotune") else 0.0
    left_out = ",".join(x for x in switches if not switches[x])
    return CompileOptions(seconds, left_out, options.get("dynamic"))


def is_idle(options: Mapping[str, Any]) -> bool:
    """Whether gn.compile is to return the function as it is."""
    return bool(options.get("disable")) or options.get("backend") in EAGER
