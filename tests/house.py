"""The source tree as the house tests see it: files, modules, syntax trees, the order of layers.

Not a test. Which rules hold is said in test_layers, test_sizes and their neighbours.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "gnomon"

# design: a module imports only from what stands before it here; one line per layer
LAYERS = """
errors forking interrupts lazy settings dtypes
ir
ops
passes
schedule
codegen
runtime
program
compiler
tensor
capture
gnomon
nn optim utils distributions library serialization testing multiprocessing
distributed drop_in fx profiler quant export onnx gguf
models train bench bisect commands __main__
"""
ORDER = {name: place for place, name in enumerate(LAYERS.split())}


@cache
def sources() -> tuple[Path, ...]:
    """Every source file of the package, by path."""
    return tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    """The syntax of one file."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def short(path: Path) -> str:
    """The file's path from the project's root."""
    return path.relative_to(ROOT).as_posix()


def module(path: Path) -> str:
    """The dotted name under which the file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer(name: str) -> str:
    """The folder or file, directly in the package, that a module belongs to."""
    return name.split(".")[1] if "." in name else name


def place(name: str) -> int | None:
    """Where a module of ours stands in the order of layers; None when it stands nowhere."""
    return ORDER.get(layer(name))


@cache
def lazy() -> dict[str, str]:
    """What of ours loads when it is first used: the names in gnomon/lazy.py, and their modules."""
    return {
        node.targets[0].id: node.value.args[0].value
        for node in tree(PACKAGE / "lazy.py").body
        if isinstance(node, ast.Assign) and ast.unparse(node).find("Lazy('gnomon.") > 0
    }


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Every function and method of one file, inner ones too."""
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def python_blocks(path: Path) -> Iterator[tuple[int, str]]:
    """The ```python blocks of a Markdown file: the line each starts on, and its text."""
    lines: list[str] | None = None
    start = 0
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if lines is None and line.strip() == "```python":
            lines, start = [], number + 1
        elif lines is not None and line.strip() == "```":
            yield start, "\n".join(lines) + "\n"
            lines = None
        elif lines is not None:
            lines.append(line)
