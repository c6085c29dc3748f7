"""Print tensors and dtypes as PyTorch does, for scripts whose output is read by others.

All numbers of a tensor have one format: integral values end in a point, others have four decimals,
or a power of ten if they differ much. Options are those of `set_printoptions`; lines are 80 wide.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from math import ceil, inf

import numpy as np

import gnomon as gn
from gnomon import dtypes
from gnomon.tensor import show
from gnomon.tensor.complex_tensor import Complex
from gnomon.tensor.show import PrintOptions
from gnomon.tensor.state import state
from gnomon.tensor.tensor import array_of, pair_of
from gnomon.tensor.views import mesh_layout_of

__all__ = ["as_printed", "printed"]

WIDTH = 80
"""PyTorch's line width."""
APART, LARGE, SMALL = 1000.0, 1e8, 1e-4
"""The ratio and the magnitudes beyond which numbers are printed with powers of ten."""
HEADS = {"Tensor": "", "Complex": "", "Parameter": "Parameter containing:\n"}
"""Text before a tensor, by class name, since classes may not be loaded yet."""
USUAL = (gn.int64, gn.bool, gn.complex64)
"""Dtypes that are not printed, beside the default one."""


@contextmanager
def printed() -> Iterator[None]:
    """Print tensors, sizes and dtypes as PyTorch inside a `with`."""
    before = gn.Tensor.__repr__, dtypes.package[0], show.options()
    gn.Tensor.__repr__, dtypes.package[0] = as_printed, "torch"
    pairs = Complex.__repr__
    Complex.__repr__ = as_printed  # type: ignore[method-assign]
    shape = gn.Size.__repr__
    gn.Size.__repr__ = lambda sizes: f"torch.{shape(sizes)}"
    show.set_printoptions(linewidth=WIDTH)
    try:
        yield
    finally:
        gn.Tensor.__repr__, dtypes.package[0], _ = before
        gn.Size.__repr__ = shape
        Complex.__repr__ = pairs  # type: ignore[method-assign]
        show.set_printoptions(linewidth=before[2].linewidth)


def as_printed(x: gn.Tensor) -> str:
    """A tensor's text as in PyTorch; a traced or sharded one is printed as Gnomon does."""
    if x.layout != "strided" and not state.recorder.hides_values:
        notes = partial(with_remarks, indent=len("tensor("))
        return show.sparse_text(x, lambda part, n: values_of(part, n, show.options()), notes)
    head = HEADS.get(type(x).__name__)
    if head is None or state.recorder.hides_values or mesh_layout_of(pair_of(x)._view):
        return show.as_text(x)
    shown = "..." if x.is_meta else values_of(x.detach(), len("tensor("), show.options())
    text = "tensor(" + shown
    return head + with_remarks(text, list(remarks(x)), len("tensor("))


def remarks(x: gn.Tensor) -> Iterator[str]:
    """Yield the remarks after a tensor's values, such as its dtype."""
    if not x.is_cpu:
        yield f"device='{x.device}'"
    empty = not x.numel()
    if x.is_meta or (empty and x.ndim != 1):
        yield f"size={tuple(x.shape)}"
    if x.dtype is not gn.get_default_dtype() and (x.is_meta or empty or x.dtype not in USUAL):
        yield f"dtype={x.dtype}"
    if x.grad_fn is not None:
        yield f"grad_fn=<{x.grad_fn.name()}>"
    elif x.requires_grad:
        yield "requires_grad=True"


def with_remarks(text: str, notes: list[str], indent: int) -> str:
    """Append remarks to values, each on a new line if it does not fit."""
    width, used = show.options().linewidth, len(text) - text.rfind("\n") + 1
    for note in notes:
        if used + len(note) + 2 > width:
            text += ",\n" + " " * indent + note
            used = indent + len(note)
        else:
            text += ", " + note
            used += len(note) + 2
    return text + ")"


def values_of(x: gn.Tensor, indent: int, how: PrintOptions) -> str:
    """The elements of a tensor as text."""
    short = x.dtype.is_floating_point and x.dtype.bits < 32
    array = x.numpy() if x.is_complex() else array_of(x.float() if short else x)
    if not array.size:
        return "[]"
    shortened = array.size > how.threshold
    shown = ends_of(array, how.edgeitems) if shortened else array
    form = Format(shown.ravel(), how)
    return rows_of(array, indent, form, how, how.edgeitems if shortened else 0)


def ends_of(array: np.ndarray, count: int) -> np.ndarray:
    """The first and last `count` positions of each axis."""
    for axis, n in enumerate(array.shape):
        if n > 2 * count:
            array = np.take(array, [*range(count), *range(n - count, n)], axis)
    return array


def rows_of(array: np.ndarray, indent: int, form: Format, how: PrintOptions, ends: int) -> str:
    """An array as nested rows; ends: the positions shown at each end of an axis, 0 means all."""
    if not array.ndim:
        return form.text(array[()])
    cut = bool(ends) and len(array) > 2 * ends
    first, last = (array[:ends], array[-ends:]) if cut else (array, array[:0])
    if array.ndim == 1:
        numbers = [*map(form.text, first), *[" ..."] * cut, *map(form.text, last)]
        per_line = max(1, (how.linewidth - indent) // (form.width + 2))
        lines = [
            ", ".join(numbers[k : k + per_line]) for k in range(0, len(numbers), per_line)
        ] or [""]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    inner = [rows_of(x, indent + 1, form, how, ends) for x in (*first, *last)]
    parts = [*inner[: len(first)], *["..."] * cut, *inner[len(first) :]]
    between = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + between.join(parts) + "]"


class Format:
    """The format of all numbers of a tensor."""

    def __init__(self, values: np.ndarray, how: PrintOptions) -> None:
        self.digits, self.power, self.whole = how.precision, False, True
        self.parts: tuple[Format, Format] | None = None
        if values.dtype.kind == "c":
            self.parts = Format(values.real, how), Format(values.imag, how)
            self.width = sum(part.width for part in self.parts) + 1
            return
        self.floats = values.dtype.kind == "f"
        if not self.floats:
            self.width = max(len(str(x)) for x in values.tolist())
            return
        known = values[np.isfinite(values) & (values != 0)].astype(np.float64)
        self.width = 1
        if not known.size:
            return
        sizes = np.abs(known)
        least, most = float(sizes.min()), float(sizes.max())
        self.whole = all(x == ceil(x) for x in known.tolist())
        self.power = most / least > APART or most > LARGE or (not self.whole and least < SMALL)
        self.power = self.power if how.sci_mode is None else how.sci_mode
        self.width = max(len(self.number(x)) for x in known.tolist())

    def number(self, value: float) -> str:
        """A number as text, without padding."""
        if self.power:
            return f"{value:.{self.digits}e}"
        if self.whole:
            return f"{value:.0f}" + "." * (abs(value) < inf)
        return f"{value:.{self.digits}f}"

    def text(self, value: object) -> str:
        """An element as text, padded to the common width."""
        plain = np.asarray(value).item()
        if self.parts:
            real, imaginary = self.parts[0].text(plain.real), self.parts[1].text(plain.imag)
            sign = "" if imaginary.lstrip()[:1] == "-" else "+"
            return f"{real}{sign}{imaginary.lstrip()}j"
        return (self.number(plain) if self.floats else str(plain)).rjust(self.width)
