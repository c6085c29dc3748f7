"""torch's operator database on two libraries: an entry's samples, run under torch and under Gnomon.

A sample is torch's; its tensors become Gnomon's, its dtypes and devices those of the same name.
Which entries cannot pass, and why, is not here: see test_operator_database.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from types import FunctionType
from typing import Any

import numpy as np
import torch

import gnomon
from gnomon.drop_in.names import MEANINGS

# relative and absolute; the samples of linear algebra are not always well-conditioned
CLOSE = {"rtol": 1e-7, "atol": 1e-9}
SAMPLES, LOOKED_AT, ELEMENTS = 6, 60, 4096
PREFERRED = (torch.float64, torch.int64, torch.bool, torch.complex128, torch.float32)
TO_SINGLE = {"special.bessel_j0", "special.bessel_j1", "special.bessel_y1"}
"""Torch's float64 is right to seven digits, so they are compared in float32."""
REFLECTED = {"__rdiv__": "__rtruediv__"}
SPACES = ("fft", "linalg", "masked", "nn", "signal", "special")


def dtype_of(entry: Any) -> torch.dtype | None:
    """The first of the preferred dtypes that an entry takes; None if it takes others only."""
    wanted = PREFERRED[-1:] if entry.name in TO_SINGLE else PREFERRED
    return next((x for x in wanted if x in entry.supported_dtypes("cpu")), None)


def is_tracked(entry: Any) -> bool:
    """Whether an entry's gradients are compared."""
    return entry.supports_autograd and dtype_of(entry) is torch.float64


def leaves(value: Any) -> Iterator[Any]:
    """What lies in nested tuples, lists and dicts, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        for part in value:
            yield from leaves(part)
    else:
        yield value


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Nested tuples, lists, dicts and slices with every leaf changed."""
    if isinstance(value, dict):
        return {name: mapped(part, change) for name, part in value.items()}
    if isinstance(value, slice):
        return slice(*(mapped(x, change) for x in (value.start, value.stop, value.step)))
    if isinstance(value, (tuple, list)):
        kind = list if isinstance(value, list) else tuple
        return kind(mapped(part, change) for part in value)
    return change(value)


def form(sample: Any) -> str:
    """A sample without its numbers: shapes, dtypes, words."""

    def name(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            return (*leaf.shape, str(leaf.dtype), leaf.requires_grad)
        return type(leaf).__name__ if isinstance(leaf, (int, float)) else str(leaf)

    return str(mapped((sample.input, tuple(sample.args), sample.kwargs), name))


def samples(entry: Any) -> list[Any]:
    """The first samples of an entry that differ in form and are small."""
    torch.manual_seed(0)
    kept: dict[str, Any] = {}
    found = entry.sample_inputs("cpu", dtype_of(entry), requires_grad=is_tracked(entry))
    for sample in islice(found, LOOKED_AT):
        given = leaves((sample.input, tuple(sample.args), sample.kwargs))
        small = sum(x.numel() for x in given if isinstance(x, torch.Tensor)) <= ELEMENTS
        if small or not kept:
            kept.setdefault(form(sample), sample)
        if len(kept) == SAMPLES:
            break
    return list(kept.values())


def ours_of(leaf: Any) -> Any:
    """Gnomon's tensor, dtype or device for torch's; anything else as it is."""
    if isinstance(leaf, torch.Tensor):
        made = gnomon.from_numpy(leaf.detach().numpy().copy())
        return made.requires_grad_() if leaf.requires_grad else made
    if isinstance(leaf, torch.nn.Module):
        return getattr(gnomon.nn, type(leaf).__name__)()
    if isinstance(leaf, (torch.dtype, torch.layout, torch.memory_format)):
        return getattr(gnomon, str(leaf).removeprefix("torch."))
    return gnomon.device(str(leaf)) if isinstance(leaf, torch.device) else leaf


def theirs_of(leaf: Any) -> Any:
    """A tensor of its own for a run under torch."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    return leaf.detach().clone().requires_grad_(leaf.requires_grad)


def named(name: str) -> Callable:
    """What a user of Gnomon calls under torch's name: a function, or else of a tensor.

    Names of the main namespace that are the array API's are PyTorch's under `gnomon run`.
    """
    if name in MEANINGS:
        return MEANINGS[name]
    found: Any = gnomon
    for part in REFLECTED.get(name, name).split("."):
        shared = found is gnomon and not callable(getattr(gnomon, part, None))
        found = getattr(gnomon.Tensor if shared and part not in SPACES else found, part)
    return found.fget if isinstance(found, property) else found


def call_of(entry: Any) -> Callable:
    """An entry's call: the function of its name, or its own lambda with Gnomon in it."""
    if getattr(entry.op, "__name__", "") != "<lambda>":
        return named(entry.name)
    words = {**entry.op.__globals__, "torch": gnomon, "wrapper_set_seed": seeded}
    return FunctionType(entry.op.__code__, words, closure=entry.op.__closure__)


def seeded(call: Callable, *given: Any, **words: Any) -> Any:
    """A call that draws numbers, in the database's words."""
    gnomon.manual_seed(0)
    return call(*given, **words)


def run(call: Callable, sample: Any, change: Callable) -> tuple[list[Any], list[Any]]:
    """The tensors of an answer, and the gradients of the tensors given."""
    given = mapped((sample.input, tuple(sample.args), sample.kwargs), change)
    answer = sample.output_process_fn_grad(call(given[0], *given[1], **given[2]))
    answers = [x for x in leaves(answer) if x is not None]
    total: Any = 0.0
    for leaf in answers:
        if getattr(leaf, "requires_grad", False) and leaf.dtype.is_floating_point:
            weights = np.cos(np.arange(leaf.numel()) * 0.7 + 0.3).reshape(tuple(leaf.shape))
            library = torch if isinstance(leaf, torch.Tensor) else gnomon
            total = total + (leaf * library.tensor(weights).to(leaf.dtype)).sum()
    if not isinstance(total, float):
        total.backward()
    return answers, [getattr(x, "grad", None) for x in leaves(given)]


def kind(leaf: Any) -> tuple[str, tuple[int, ...]]:
    """The dtype and shape of a tensor, or a Python value's type."""
    if not hasattr(leaf, "dtype"):
        return type(leaf).__name__, ()
    return str(leaf.dtype).split(".")[-1], tuple(leaf.shape)


def plain(leaf: Any) -> np.ndarray:
    """A leaf as an array."""
    if not hasattr(leaf, "detach"):
        return np.asarray(leaf)
    return (leaf.double() if "float16" in str(leaf.dtype) else leaf).numpy(force=True)


def compare(our: Any, their: Any) -> None:
    """Two leaves are of one dtype, one shape, and close."""
    assert kind(our) == kind(their), f"{kind(our)} in place of {kind(their)}"
    close = CLOSE if plain(their).dtype != np.float32 else {"rtol": 1e-5, "atol": 1e-6}
    np.testing.assert_allclose(plain(our), plain(their), **close)


def check(entry: Any) -> None:
    """Run an entry's samples under both libraries, and compare answers and gradients."""
    assert dtype_of(entry) is not None, "takes no dtype of these"
    call, seen = call_of(entry), samples(entry)
    assert seen, "no sample"
    for sample in seen:
        theirs, slopes = run(entry.op, sample, theirs_of)
        ours, our_slopes = run(call, sample, ours_of)
        assert len(ours) == len(theirs), f"{len(ours)} results in place of {len(theirs)}"
        for our, their in zip([*ours, *our_slopes], [*theirs, *slopes], strict=True):
            if entry.name == "zero_":  # a whole write of numbers ends the history here
                continue
            assert (our is None) == (their is None), f"{our}, not {their}"
            if our is not None:
                compare(our, their)
