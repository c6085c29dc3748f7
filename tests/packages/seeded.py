"""Run a script whose random numbers are numpy's, under whichever package its `torch` is.

A helper of run.py's, started in a process of its own: `python seeded.py script.py ARGUMENTS`. The
curves of two packages can be compared then. A permutation follows from its length alone, since
samplers differ in how many they draw. The script itself is not changed.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import random
import runpy
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

RNG = np.random.default_rng(0)
INTEGERS = np.random.default_rng(1)
"""A stream of their own, since samplers draw places ahead."""
KEPT: list[Any] = []
"""What must live as long as the script does."""


def tensor_of(values: Any, options: dict[str, Any]) -> torch.Tensor:
    """An array as a tensor, with what is asked of it."""
    made = torch.from_numpy(np.array(values, order="C"))
    usual = torch.get_default_dtype() if made.is_floating_point() else made.dtype
    made = made.to(options.get("dtype") or usual)
    return made.requires_grad_(True) if options.get("requires_grad") else made


def shape_of(size: Sequence[Any], options: dict[str, Any]) -> tuple[int, ...]:
    """A shape given as numbers, as one sequence, or by name."""
    given = size or (options["size"],)
    nested = len(given) == 1 and isinstance(given[0], (tuple, list))
    return tuple(int(n) for n in (given[0] if nested else given))


def normals(shape: tuple[int, ...]) -> np.ndarray:
    """Normal numbers in single precision."""
    return RNG.standard_normal(shape).astype(np.float32)


def uniforms(shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of [0, 1) in single precision."""
    return RNG.random(shape, dtype=np.float32)


# functions of torch


def randn(*size: Any, **options: Any) -> torch.Tensor:
    """Normal numbers."""
    return tensor_of(normals(shape_of(size, options)), options)


def rand(*size: Any, **options: Any) -> torch.Tensor:
    """Numbers of [0, 1)."""
    return tensor_of(uniforms(shape_of(size, options)), options)


def randn_like(input: torch.Tensor, **options: Any) -> torch.Tensor:
    """Normal numbers in a tensor's shape."""
    return tensor_of(normals(tuple(input.shape)), {"dtype": input.dtype, **options})


def rand_like(input: torch.Tensor, **options: Any) -> torch.Tensor:
    """Numbers of [0, 1) in a tensor's shape."""
    return tensor_of(uniforms(tuple(input.shape)), {"dtype": input.dtype, **options})


def randint(*given: Any, **options: Any) -> torch.Tensor:
    """Whole numbers of [low, high)."""
    words = list(given)
    size = options["size"] if "size" in options else words.pop()
    high = options["high"] if "high" in options else words.pop()
    low = words.pop() if words else options.get("low", 0)
    return tensor_of(INTEGERS.integers(low, high, tuple(size)), options)


def randperm(n: int, **options: Any) -> torch.Tensor:
    """The one permutation of this length."""
    return tensor_of(np.random.default_rng(n).permutation(n), {"dtype": options.get("dtype")})


def normal(mean: Any = 0.0, std: Any = 1.0, size: Any = None, **options: Any) -> torch.Tensor:
    """Normal numbers of means and deviations."""
    mean, std = torch.as_tensor(mean), torch.as_tensor(std)
    shape = tuple(torch.broadcast_shapes(mean.shape, std.shape)) if size is None else tuple(size)
    return mean + std * tensor_of(normals(shape), options)


def bernoulli(input: torch.Tensor, **_: Any) -> torch.Tensor:
    """Ones with the chances given."""
    return (tensor_of(uniforms(tuple(input.shape)), {}) < input).to(input.dtype)


def multinomial(
    input: torch.Tensor, num_samples: int, replacement: bool = False, **_: Any
) -> torch.Tensor:
    """Positions drawn by their weights; each once where none is put back."""
    weights = np.atleast_2d(input.detach().double().numpy())
    rows = []
    for row in weights:
        shares = row / row.sum()
        rows.append(RNG.choice(len(shares), num_samples, replacement, shares))
    return tensor_of(np.array(rows, np.int64).reshape((*input.shape[:-1], num_samples)), {})


def dropout_over(axes: int | None) -> Callable[..., torch.Tensor]:
    """Dropout of single numbers, or of all that lies behind the first axes."""

    def dropout(
        input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
    ) -> torch.Tensor:
        if not training or p == 0:
            return input
        shape = tuple(input.shape)
        shape = shape if axes is None else (*shape[:axes], *[1] * (len(shape) - axes))
        kept = (uniforms(shape) >= p).astype(np.float32)
        return input * tensor_of(kept / np.float32(max(1 - p, 1e-9)), {"dtype": input.dtype})

    return dropout


def forward_of(dropout: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The forward of a layer of dropout."""
    return lambda self, input: dropout(input, self.p, self.training)


# methods and initial values


def filled(self: torch.Tensor, values: np.ndarray) -> torch.Tensor:
    """A tensor, with values of its shape written into it."""
    with torch.no_grad():
        return self.copy_(tensor_of(values, {"dtype": self.dtype}))


def normal_(
    self: torch.Tensor, mean: float = 0.0, std: float = 1.0, generator: object = None
) -> torch.Tensor:
    """Fill with normal numbers."""
    return filled(self, normals(tuple(self.shape)) * np.float32(std) + np.float32(mean))


def uniform_(
    self: torch.Tensor, a: float = 0.0, b: float = 1.0, generator: object = None, **named: float
) -> torch.Tensor:
    """Fill with numbers of [a, b), which the method calls from and to."""
    low, high = named.get("from", a), named.get("to", b)
    return filled(self, uniforms(tuple(self.shape)) * np.float32(high - low) + np.float32(low))


def trunc_normal_(
    tensor: torch.Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: object = None,
) -> torch.Tensor:
    """Fill with normal numbers, cut off at two ends."""
    drawn = normals(tuple(tensor.shape)) * np.float32(std) + np.float32(mean)
    return filled(tensor, np.clip(drawn, a, b))


def bernoulli_(self: torch.Tensor, p: Any = 0.5, generator: object = None) -> torch.Tensor:
    """Fill with ones of a chance, or of many."""
    chances = p.detach().numpy() if isinstance(p, torch.Tensor) else p
    return filled(self, (uniforms(tuple(self.shape)) < chances).astype(np.float32))


def exponential_(self: torch.Tensor, lambd: float = 1.0, generator: object = None) -> torch.Tensor:
    """Fill with waiting times."""
    return filled(self, -np.log1p(-uniforms(tuple(self.shape))) / np.float32(lambd))


FUNCTIONS = (randn, rand, randn_like, rand_like, randint, randperm, normal, bernoulli, multinomial)
METHODS = (normal_, uniform_, bernoulli_, exponential_)
HOMES = ("gnomon.tensor.random",)
"""Modules whose functions torch shows in a wrapper."""
INITIAL = (normal_, uniform_, trunc_normal_)


def rebind(replaced: dict[int, Any]) -> None:
    """Put functions in the places of others, in all modules of the two packages."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("torch", "gnomon") and hasattr(module, "__dict__"):
            for key, value in list(vars(module).items()):
                if id(value) in replaced:
                    vars(module)[key] = replaced[id(value)]


def plant() -> None:
    """Draw from numpy wherever the package draws, and from fixed seeds elsewhere."""
    random.seed(0)
    np.random.seed(0)
    homes = [torch, *(sys.modules[name] for name in HOMES if name in sys.modules)]
    KEPT.extend(getattr(home, made.__name__, None) for home in homes for made in FUNCTIONS)
    replaced = {
        id(getattr(home, made.__name__)): made
        for home in homes
        for made in FUNCTIONS
        if hasattr(home, made.__name__)
    }
    replaced |= {id(getattr(torch.nn.init, made.__name__)): made for made in INITIAL}
    replaced[id(F.dropout)] = dropout_over(None)
    for rank in (1, 2, 3):
        replaced[id(getattr(F, f"dropout{rank}d"))] = dropout_over(2)
    rebind(replaced)
    for home, names in ((torch, FUNCTIONS), (torch.nn.init, INITIAL)):
        for made in names:
            setattr(home, made.__name__, made)
    for rank, name in ((None, "Dropout"), *((k, f"Dropout{k}d") for k in (1, 2, 3))):
        getattr(torch.nn, name).forward = forward_of(dropout_over(rank and 2))
    for made in METHODS:
        setattr(torch.Tensor, made.__name__, made)


def widen() -> None:
    """Compute in double precision, from the same draws in single."""
    torch.set_default_dtype(torch.float64)
    torch.FloatTensor = torch.DoubleTensor
    torch.Tensor.float = torch.Tensor.double


def define_operators() -> None:
    """Name torchvision's own operators for torch where its library is for another build."""
    found = importlib.util.find_spec("torchvision")
    if found is None or torch.__version__.endswith("gnomon"):
        return
    library = next(Path(str(found.origin)).parent.glob("_C*.so"), None)
    try:
        if library is not None:
            ctypes.CDLL(str(library))
    except OSError:
        names = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            names.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        KEPT.append(names)


def main(words: list[str]) -> None:
    """Run a script, or a module behind -m, as Python would."""
    define_operators()
    plant()
    if os.environ.get("GNOMON_PACKAGES_DOUBLE") == "1":
        widen()
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path[0] = str(Path(words[0]).resolve().parent)
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
