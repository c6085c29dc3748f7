"""Imports point one way: a module imports only what stands before it, at the top of its file.

The order is LAYERS in tests/house.py; docs/concepts.md says what each layer is.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.house import ORDER, PACKAGE, layer, lazy, module, place, short, sources, tree

pytestmark = pytest.mark.unit

# who may import what from outside the standard library; torch is nowhere, on purpose
OUTSIDE = {
    "cyclopts": {"commands", "bisect", "drop_in", "train"},
    "einops": {"tensor"},
    "llvmlite": {"runtime"},
    "ml_dtypes": {"dtypes", "ops", "tensor", "export", "quant"},
    "msgspec": {
        *("bench", "bisect", "compiler", "distributed", "export", "models", "profiler", "program"),
        *("runtime", "train"),
    },
    "numpy": set(ORDER),
    "rich": {"commands", "bench", "drop_in", "profiler", "train"},
    "safetensors": {"distributed", "export", "nn", "models", "train"},
    "tensorboardX": {"utils"},
    "tokenizers": {"commands", "gguf", "models", "train"},
}

# files that load a module of ours when it is first asked for, and why
LOADS_LATE = {
    "gnomon/__init__.py": "gn.nn and its neighbours stand below this file and load when named",
    "gnomon/lazy.py": "the compiler loads with the first evaluation",
    "gnomon/drop_in/modules.py": "modules named torch.* load as a script names them",
}


LAZY = "gnomon.lazy"
"""Declares what of ours loads late; whoever imports such a name imports its module."""


BACKENDS = {"gnomon.runtime.cpu", "gnomon.runtime.reference", "gnomon.runtime.cuda.program"}
"""The backends' own modules; whoever compiles or runs asks gnomon/runtime/backend.py."""


@dataclass(frozen=True)
class Import:
    """One imported module of one file."""

    path: Path
    line: int
    name: str
    inside: bool
    typing: bool

    @property
    def ours(self) -> bool:
        """Whether the module belongs to the package."""
        return self.name.partition(".")[0] == "gnomon"

    def __str__(self) -> str:
        return f"{short(self.path)}:{self.line} imports {self.name}"


@cache
def imports() -> tuple[Import, ...]:
    """Every import of the package, in functions and under TYPE_CHECKING too."""
    return tuple(found for path in sources() for found in walk(path, tree(path)))


def walk(
    path: Path, parent: ast.AST, *, inside: bool = False, typing: bool = False
) -> Iterator[Import]:
    """The imports below one piece of syntax."""
    for node in ast.iter_child_nodes(parent):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for name in names(path, node):
                yield Import(path, node.lineno, name, inside, typing)
        hides = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        checks = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        yield from walk(path, node, inside=inside or hides, typing=typing or checks)


def names(path: Path, node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    """The modules that one statement names, ours in full."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
        return
    assert node.level == 0, f"{short(path)}:{node.lineno}: write imports of our own in full."
    for alias in node.names:
        inner = f"{node.module}.{alias.name}"
        if node.module == LAZY and alias.name in lazy():
            yield lazy()[alias.name]
        yield inner if is_module(inner) else node.module


def is_module(name: str) -> bool:
    """Whether a dotted name of ours is a file or a folder rather than something in one."""
    where = PACKAGE.parent.joinpath(*name.split("."))
    return name.startswith("gnomon.") and (where.is_dir() or where.with_suffix(".py").exists())


def test_every_module_stands_in_a_layer_at_most_two_folders_deep():
    assert not [short(path) for path in sources() if place(module(path)) is None]
    assert not [short(path) for path in sources() if len(path.relative_to(PACKAGE).parts) > 3]


def test_a_module_imports_only_from_what_stands_before_it():
    ours = [found for found in imports() if found.ours]

    assert not [str(x) for x in ours if (place(x.name) or 0) > place(module(x.path))]


def test_no_backend_is_named_outside_of_the_runtime():
    named = [x for x in imports() if x.name in BACKENDS and layer(module(x.path)) != "runtime"]

    assert not list(map(str, named))


def test_no_import_of_our_own_hides_in_a_function():
    assert not [str(found) for found in imports() if found.ours and found.inside]


def test_only_listed_files_import_by_a_computed_name():
    called = {
        short(path)
        for path in sources()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).rpartition(".")[2] in ("import_module", "__import__")
    }

    assert called <= set(LOADS_LATE)


def test_what_loads_late_is_declared_in_one_place():
    named = [
        short(path)
        for path in sources()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and ast.unparse(node).startswith("Lazy('gnomon.")
    ]

    assert named == ["gnomon/lazy.py"] * len(lazy())
    assert all(is_module(name) for name in lazy().values())


def test_only_listed_packages_are_imported_from_outside():
    outside = [x for x in imports() if not x.ours]
    strange = [
        str(found)
        for found in outside
        if (package := found.name.partition(".")[0]) not in sys.stdlib_module_names
        and layer(module(found.path)) not in OUTSIDE.get(package, ())
    ]

    assert not strange


def test_modules_do_not_import_each_other_in_a_circle():
    graph: dict[str, set[str]] = {}
    for found in imports():
        if found.ours and not found.typing and found.path.name != "__init__.py":
            graph.setdefault(module(found.path), set()).add(found.name)

    try:
        TopologicalSorter(graph).prepare()
    except CycleError as circle:
        pytest.fail(" -> ".join(circle.args[1]))
