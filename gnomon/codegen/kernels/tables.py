"""Constant tables of bytes that kernels look numbers up in."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.codegen.emitter import Emitter, Module


def define_table(module: Module, name: str, values: Sequence[int]) -> None:
    """Add a table to a module."""
    text = "".join(f"\\{value:02X}" for value in values)
    module.define(f'@{name} = private constant [{len(values)} x i8] c"{text}"')


def read_table(e: Emitter, name: str, index: str) -> str:
    """An entry of a table, as i64."""
    return e.value(f"zext i8 {e.load(e.offset(f'@{name}', index), 'i8', 1)} to i64")
