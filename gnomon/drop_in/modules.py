"""Modules torch and torch.* with Gnomon's names, provided by an import hook.

While it is installed, the hook precedes all others, so that PyTorch is not loaded even if it is
there. A module looks a name up in Gnomon when it is first read.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from types import FunctionType, ModuleType, SimpleNamespace
from typing import Any

from gnomon.drop_in.absences import absent_module, absent_value
from gnomon.drop_in.names import ANSWERS, IDLE, MEANINGS, SPELLED, target_of
from gnomon.drop_in.printing import printed
from gnomon.drop_in.report import NameReport
from gnomon.lazy import FinderOfNames, NamesElsewhere, reached
from gnomon.tensor.absent import Absent
from gnomon.tensor.tensor import Tensor

__all__ = ["TorchModule", "installed"]

ROOT = "torch"
OWN, PARAMETERS = Tensor.__module__, "gnomon.nn.parameter"
"""The modules of the tensor class and of Parameter."""
HOLDERS = (ModuleType, SimpleNamespace, Absent)
"""Types of objects that can stand for a module."""


own_names = ModuleType.__dict__["__dict__"].__get__
"""Gets the names that a module already has."""


class TorchModule(NamesElsewhere):
    """A module of PyTorch's name with Gnomon's attributes."""

    def __init__(self, name: str, target: Any, report: NameReport) -> None:
        super().__init__(name, target)
        self._report = report
        if name == ROOT:
            own_names(self).update(MEANINGS, torch=self)

    def __getattr__(self, name: str) -> Any:
        full = f"{self.__name__}.{name}"
        path = full.partition(".")[2]
        if path.partition(".")[0] in IDLE:
            self._report.idles(full)
        if not name.startswith("__") and not self.calls(name) and holder_of(full) is not None:
            return importlib.import_module(full)
        try:
            spelled = SPELLED.get(path)
            found = reached(spelled) if spelled else ANSWERS.get(path)
            found = super().__getattr__(name) if found is None else found
        except AttributeError:
            found = absent_value(self.__name__, name, self._report.lacks)
            if found is None:
                raise self.missing(name) from None
        own_names(self)[name] = found
        return found

    @property
    def __dict__(self) -> dict[str, Any]:
        """All public names with their values, for programs that iterate over a module."""
        for name in self.__all__:
            getattr(self, name, None)
        return own_names(self)

    def calls(self, name: str) -> bool:
        """Whether a name is a function's, which a submodule of that name must not replace."""
        return isinstance(getattr(self._target, name, None), FunctionType)

    def __setattr__(self, name: str, value: Any) -> None:
        if not (isinstance(value, TorchModule) and self.calls(name)):
            super().__setattr__(name, value)

    def missing(self, name: str) -> AttributeError:
        """Report a name that neither Gnomon nor PyTorch has; return the AttributeError."""
        if not name.startswith("__"):
            self._report.lacks(f"{self.__name__}.{name}")
        return AttributeError(f"module {self.__name__!r} has no attribute {name!r} in Gnomon")


class TorchFinder(FinderOfNames):
    """The import hook that finds torch and its submodules."""

    root = ROOT

    def __init__(self, report: NameReport) -> None:
        self.report = report

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module of torch; ModuleNotFoundError if Gnomon and PyTorch lack it."""
        if fullname.partition(".")[0] != self.root:
            return None
        if holder_of(fullname) is None:
            self.report.lacks(fullname)
            raise ModuleNotFoundError(f"No module named {fullname!r} in Gnomon", name=fullname)
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Make a module that looks names up in Gnomon."""
        return TorchModule(spec.name, holder_of(spec.name), self.report)

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: names are looked up when they are read."""


def holder_of(full: str) -> Any:
    """The namespace behind a module of PyTorch's name, or None."""
    found = target_of(full.partition(".")[2])
    if full == f"{ROOT}.nn":
        name_classes(ROOT, f"{full}.parameter")
    return found if isinstance(found, HOLDERS) else absent_module(full)


def name_classes(root: str, module: str) -> None:
    """Set the `__module__` of Tensor, and of Parameter and Buffer if they are loaded."""
    Tensor.__module__ = root
    known = sys.modules.get(PARAMETERS)
    for kind in () if known is None else (known.Parameter, known.Buffer):
        kind.__module__ = module


@contextmanager
def installed(report: NameReport) -> Iterator[None]:
    """Make `import torch` import Gnomon inside a `with`; earlier imports are unchanged.

    The tensor class gets torch's module name, by which libraries for several frameworks choose
    their functions.
    """
    before = {name: sys.modules.pop(name) for name in list(sys.modules) if is_theirs(name)}
    finder = TorchFinder(report)
    sys.meta_path.insert(0, finder)
    try:
        name_classes(ROOT, PARAMETERS)
        with printed():
            yield
    finally:
        name_classes(OWN, PARAMETERS)
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if is_theirs(name)]:
            del sys.modules[name]
        sys.modules.update(before)


def is_theirs(name: str) -> bool:
    """Whether a module is torch or a submodule of it."""
    return name == ROOT or name.startswith(f"{ROOT}.")
