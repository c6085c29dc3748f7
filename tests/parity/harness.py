"""Runs one training script under torch and under Gnomon from the same source, and caches the runs.

A script is read as text, its import lines are pointed at the library, and its `main` is called.
What counts as agreement is not here: see test_scripts.py.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
import types
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SCRIPTS = Path(__file__).parent / "scripts"
STEPS = 50
IMPORTS = (
    (re.compile(r"^import torch$", re.M), r"import {library} as torch"),
    (re.compile(r"^import torch\.(\S+) as (\w+)$", re.M), r"import {library}.\1 as \2"),
    (re.compile(r"^from torch(\S*) import ", re.M), r"from {library}\1 import "),
)


def scripts() -> list[str]:
    """The names of all scripts, in alphabetical order."""
    return sorted(path.stem for path in SCRIPTS.glob("*.py"))


def point_at(source: str, library: str) -> str:
    """Change a script's import lines, and nothing else, to those of another library."""
    for pattern, replacement in IMPORTS:
        source = pattern.sub(replacement.format(library=library), source)
    return source


def load(name: str, library: str) -> types.ModuleType:
    """Execute a script against a library and return its module."""
    path = SCRIPTS / f"{name}.py"
    module = types.ModuleType(f"{name}_under_{library}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and pickle look a class's module up
    code = compile(point_at(path.read_text(), library), str(path), "exec")
    exec(code, module.__dict__)
    return module


def first_values(name: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """The values with which a parameter starts; they depend on its name and shape alone."""
    random = np.random.default_rng(zlib.crc32(f"{seed}/{name}/{shape}".encode()))
    normal = random.standard_normal(shape)
    if len(shape) >= 2:
        return normal / np.sqrt(np.prod(shape[1:]))
    return 1.0 + 0.1 * normal if name.endswith("weight") else 0.1 * normal


def filler(library: types.ModuleType) -> Callable[[Any], None]:
    """A function that fills a module's parameters with numpy's values through load_state_dict."""
    calls = iter(range(100))

    def init(module: Any) -> None:
        seed, filled, state = next(calls), {}, module.state_dict()
        for name, parameter in module.named_parameters(remove_duplicate=False):
            if parameter.ndim == 0:
                continue
            if id(parameter) not in filled:
                filled[id(parameter)] = first_values(name, tuple(parameter.shape), seed)
            state[name] = library.from_numpy(filled[id(parameter)]).to(parameter.dtype)
        module.load_state_dict(state)

    return init


@functools.cache
def run(name: str, library: str, dtype: str, compiled: bool) -> dict[str, Any]:
    """Train for STEPS steps and return the script's losses, state_keys and metrics."""
    module = load(name, library)
    lib = importlib.import_module(library)
    return module.main(STEPS, getattr(lib, dtype), compiled, filler(lib))


def farthest(curve: list[float], truth: list[float]) -> float:
    """The largest distance of two curves over all steps."""
    assert len(curve) == len(truth), f"{len(curve)} steps against {len(truth)}"
    return float(np.max(np.abs(np.subtract(curve, truth))))


def farthest_relative(curve: list[float], truth: list[float]) -> float:
    """The largest distance of two curves over all steps, relative to the second."""
    assert len(curve) == len(truth), f"{len(curve)} steps against {len(truth)}"
    scale = np.maximum(np.abs(truth), 1e-12)
    return float(np.max(np.abs(np.subtract(curve, truth)) / scale))
