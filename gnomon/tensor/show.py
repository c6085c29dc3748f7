"""Printing of tensors, as text and in notebooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from gnomon.dtypes import bool_, int64, package
from gnomon.lazy import Lazy, layouts, placements
from gnomon.ops.arguments import choice
from gnomon.tensor.creation import get_default_dtype
from gnomon.tensor.state import mesh_results, state
from gnomon.tensor.tensor import Tensor, array_of, method, pair_of, raw

html = Lazy("html")


class PrintOptions(NamedTuple):
    """Options of printing: digits, the size at which axes are shortened, edge items, line width."""

    precision: int = 4
    threshold: int = 1000
    edgeitems: int = 3
    linewidth: int = 75
    sci_mode: bool | None = None


PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=2**63 - 1),
}
_now = [PrintOptions()]
"""The current options of printing."""


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Choose digits, when and to how many elements long axes are shortened, and how lines break.

    profile is "default", "short" or "full"; sci_mode=True prints powers of ten.

    >>> import gnomon as gn
    >>> gn.set_printoptions(precision=2)
    >>> gn.tensor([1.23456])
    Tensor([1.23])
    >>> gn.set_printoptions(profile="default")
    """
    if profile is not None:
        _now[0] = PROFILES[choice("set_printoptions", "profile", profile, tuple(PROFILES))]
    given = (precision, threshold, edgeitems, linewidth)
    kept = [old if new is None else new for old, new in zip(_now[0], given, strict=False)]
    _now[0] = PrintOptions(*kept, sci_mode)


def options() -> PrintOptions:
    """The present printing options."""
    return _now[0]


def as_text(self: Tensor) -> str:
    """The text of the values, and of everything about the tensor that is not the default."""
    if state.recorder.hides_values:
        return f"Tensor(traced, shape={tuple(self.shape)}, dtype={self.dtype})"
    if self.layout != "strided":
        return sparse_text(self, values_of, lambda text, notes: ", ".join([text, *notes]) + ")")
    if mesh_results and (layout := layouts.value_layout(self)):
        own = layouts.part_of(self).detach()
        named = zip(layout, placements.placements_of(layout), strict=True)
        where = ", ".join(f"{name}={placement!r}" for (name, *_), placement in named)
        return f"DTensor({own!r}, {where})"
    notes = "".join(f", {note}" for note in remarks(self))
    absent = self.is_meta
    values = "..." if absent else values_of(self, len(type(self).__name__) + 1)
    return f"{type(self).__name__}({values}{notes})"


def sparse_text(
    x: Any, shown: Callable[[Tensor, int], str], joined: Callable[[str, list[str]], str]
) -> str:
    """The text of a sparse tensor, given that of a dense tensor's values, and of remarks."""
    parts = {"indices": x._indices(), "values": x._values()}
    if x.is_sparse_csr:
        parts = {"crow_indices": x.crow_indices(), "col_indices": x.col_indices()} | parts
        del parts["indices"]
    kind = "tensor" if package[0] == "torch" else "Tensor"
    lines = []
    for name, part in parts.items():
        size = "" if part.numel() else f", size={tuple(part.shape)}"
        indent = 2 * len(kind) + len(name) + 3
        lines.append(f"{name}={kind}({shown(part, indent)}{size})")
    notes = [f"size={tuple(x.shape)}", f"nnz={x._nnz()}"]
    notes += [f"device='{x.device}'"] if not x.is_cpu else []
    usual = (get_default_dtype(), int64, bool_)
    notes += [f"dtype={x.dtype}"] if x.dtype not in usual else []
    notes += [f"layout={package[0]}.{x.layout}"]
    if x.grad_fn is not None:
        notes.append(f"grad_fn=<{x.grad_fn.name()}>")
    notes += ["requires_grad=True"] if x.requires_grad and x.is_leaf else []
    before = f"{kind}(" + (",\n" + " " * (len(kind) + 1)).join(lines)
    if x.is_sparse:
        before, notes[0] = f"{before},\n{' ' * (len(kind) + 1)}{notes[0]}", ""
    return joined(before, notes if x.is_sparse_csr else notes[1:])


@method
def __repr__(self: Tensor) -> str:
    """The tensor's text."""
    return as_text(self)


def values_of(tensor: Tensor, indent: int) -> str:
    """The elements as text, long axes shortened."""
    array = array_of(tensor)
    if array.dtype.kind == "V" or (tensor.dtype.bits < 32 and tensor.dtype.is_floating_point):
        array = array.astype(np.float32)
    return values_as_text(array, indent)


def values_as_text(array: np.ndarray, indent: int) -> str:
    """An array as text, long axes shortened."""
    how = _now[0]
    return np.array2string(
        array,
        separator=", ",
        precision=how.precision,
        threshold=how.threshold,
        edgeitems=how.edgeitems,
        max_line_width=how.linewidth,
        formatter={"float_kind": in_powers} if how.sci_mode else None,
        prefix=" " * indent,
        floatmode="maxprec",
    )


def in_powers(value: float) -> str:
    """A number in scientific notation."""
    return f"{value:.{_now[0].precision}e}"


def remarks(tensor: Tensor) -> list[str]:
    """The attributes after the values in a tensor's text."""
    notes = [] if tensor.is_cpu else [f"device='{tensor.device}'"]
    if tensor.is_meta or not raw(tensor).size:
        notes.append(f"size={tuple(tensor.shape)}")
    if tensor.dtype not in (get_default_dtype(), int64, bool_):
        notes.append(f"dtype={tensor.dtype}")
    if tensor._requires:
        notes.append("requires_grad=True")
    elif tensor.requires_grad:
        notes.append(f"grad_fn={tensor.grad_fn}")
    return notes


@method
def _repr_html_(self: Tensor) -> str:
    """A notebook's view: dtype and shape, and the values if they are few or known."""
    node = raw(self)
    known = node.value is not None
    head = f"Tensor {tuple(self.shape)} {self.dtype.name}, {'computed' if known else 'pending'}"
    body = values_of(self, 0) if known or node.size <= _now[0].threshold else "..."
    return f"<div><b>{html.escape(head)}</b><pre>{html.escape(body)}</pre></div>"


def prints_number(tensor: Tensor) -> bool:
    """Whether a tensor is formatted as its one number: of class Tensor, with a value."""
    shown = not state.recorder.hides_values and tensor.device.type != "meta"
    return pair_of(tensor).__class__ is Tensor and shown
