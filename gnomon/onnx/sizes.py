"""Numbers that follow from sizes, computed in an ONNX file when it runs.

Integers are tensors of one element. A float is double, as Python computes it, and rounded where the
program rounds it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from gnomon.errors import TraceError
from gnomon.ir import sym_float
from gnomon.ir.sizes import Atom, SymInt
from gnomon.ir.sym_float import EXCHANGED, OfBits, SymFloat
from gnomon.lazy import Lazy

if TYPE_CHECKING:
    from gnomon.onnx.writer import OnnxWriter

__all__ = ["float_of_sizes", "integer_of_sizes"]

proto = Lazy("onnx")

OPERATORS: dict[Callable[..., Any], str] = {
    operator.add: "Add",
    operator.sub: "Sub",
    operator.mul: "Mul",
    operator.truediv: "Div",
    operator.pow: "Pow",
}


def integer_of_sizes(writer: OnnxWriter, n: SymInt) -> str:
    """A polynomial of sizes."""
    parts = []
    for monomial, factor in n.terms:
        factors = [atom(writer, k) for k in monomial]
        factors += [writer.number(factor)] if factor != 1 or not factors else []
        parts.append(fold_values(writer, "Mul", factors))
    return fold_values(writer, "Add", parts)


def fold_values(writer: OnnxWriter, op: str, names: list[str]) -> str:
    """Values joined by an operator."""
    found = names[0]
    for name in names[1:]:
        found = writer.add(op, found, name)
    return found


def atom(writer: OnnxWriter, k: int) -> str:
    """A size of an input, or a quotient of sizes rounded down; ONNX rounds to zero."""
    root, key = writer.root, ("atom", k)
    if key not in writer.sizes:
        found = root.env.atoms[k]
        if not found.parts:
            writer.sizes[key] = root.symbols[int(found.text[2:-1])]
        elif found.text.startswith("f["):
            raise refused(writer, found)
        else:
            a, b = map(writer.number, found.parts)
            whole = writer.add("Sub", a, writer.add("Mod", a, b))
            writer.sizes[key] = writer.add("Div", whole, b)
    return writer.sizes[key]


def refused(writer: OnnxWriter, found: Atom) -> TraceError:
    """The error of a function of sizes that ONNX has not."""
    return TraceError(
        f"onnx: a number follows from sizes by a function that ONNX has not: {found.text}. "
        f"Export for fixed sizes.   [{writer.site}]"
    )


def float_of_sizes(writer: OnnxWriter, x: SymFloat) -> str:
    """A float that follows from sizes."""
    if x.bits not in writer.sizes:
        writer.sizes[x.bits] = computed(writer, x)
    return writer.sizes[x.bits]


def computed(writer: OnnxWriter, x: SymFloat) -> str:
    """A float by the function that gives its bits."""
    root = writer.root
    ((monomial, factor),) = x.bits.terms
    found = root.env.atoms[monomial[0]]
    if len(monomial) != 1 or factor != 1 or not found.text.startswith("f["):
        raise refused(writer, found)
    function = root.env.functions[int(found.text[2 : found.text.index("]")])]
    parts = found.parts
    if function in (sym_float.bits_of_ratio, sym_float.bits_of_ratio_in_single):
        made = writer.add("Div", *(double(writer, n, False) for n in parts))
    elif function in (sym_float.bits_of_double, sym_float.bits_in_single):
        made = double(writer, parts[0], False)
    elif function is sym_float.bits_as_single:
        made = double(writer, parts[0], True)
    elif isinstance(function, OfBits):
        given = [double(writer, n, kind) for n, kind in zip(parts, function.kinds, strict=True)]
        turned = {x: y for y, x in EXCHANGED.items()}.get(function.compute)
        op = OPERATORS.get(turned or function.compute)
        if op is None:
            raise refused(writer, found)
        made = writer.add(op, *(given[::-1] if turned else given))
    else:
        raise refused(writer, found)
    if function in (
        sym_float.bits_of_ratio_in_single,
        sym_float.bits_in_single,
        sym_float.bits_as_single,
    ):
        made = writer.add("Cast", made, to=proto.TensorProto.FLOAT)
        made = writer.add("Cast", made, to=proto.TensorProto.DOUBLE)
    return made


def double(writer: OnnxWriter, n: Any, is_bits: bool) -> str:
    """An integer, or the float of some bits, as a double."""
    if is_bits:
        found = sym_float.real(n)
        if isinstance(found, SymFloat):
            return float_of_sizes(writer, found)
        return writer.constant(np.array([found], np.float64))
    return writer.add("Cast", writer.number(n), to=proto.TensorProto.DOUBLE)
