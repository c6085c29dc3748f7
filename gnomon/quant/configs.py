"""Configs of `quantize_`: the format of the weights of a layer, or of layers by their names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from gnomon.errors import ArgumentError
from gnomon.ops.blocks import GROUPS

__all__ = [
    "Float8WeightOnlyConfig",
    "FqnToConfig",
    "Int4WeightOnlyConfig",
    "Int8DynamicActivationInt8WeightConfig",
    "Int8WeightOnlyConfig",
    "WeightConfig",
]

DEFAULT, REGEX = "_default", "re:"


@dataclass(frozen=True)
class WeightConfig:
    """The base: weights are stored in blocks, and read as float32.

    group_size: how many neighbours of a row share a factor; None: a whole row has one.
    """

    group_size: int | None = None
    activations: ClassVar[str] = ""
    """The numbers that a layer rounds its input to; none if it is empty."""

    def __post_init__(self) -> None:
        if self.group_size not in (None, *GROUPS):
            known = ", ".join(map(str, GROUPS))
            raise ArgumentError(
                f"{type(self).__name__}: group_size must be None or one of {known}: "
                f"got {self.group_size!r}."
            )


@dataclass(frozen=True)
class Int8WeightOnlyConfig(WeightConfig):
    """Signed numbers of 8 bits, from -127 to 127, times a factor.

    >>> Int8WeightOnlyConfig().group_size is None
    True
    """


@dataclass(frozen=True)
class Int8DynamicActivationInt8WeightConfig(Int8WeightOnlyConfig):
    """Weights of `Int8WeightOnlyConfig` whose layers round their input to int8 when called.

    Each group of the input that meets a group of the weight, of 256 numbers at most, has its own
    factor; products are those of whole numbers.

    >>> Int8DynamicActivationInt8WeightConfig().activations
    'int8'
    """

    activations: ClassVar[str] = "int8"


@dataclass(frozen=True)
class Int4WeightOnlyConfig(WeightConfig):
    """Numbers of 4 bits from the least of a group to its largest: q * d + m, d and m in float16.

    >>> Int4WeightOnlyConfig().group_size
    128
    """

    group_size: int | None = 128

    def __post_init__(self) -> None:
        if self.group_size is None:
            raise ArgumentError("Int4WeightOnlyConfig: group_size must be a number: got None.")
        super().__post_init__()


@dataclass(frozen=True)
class Float8WeightOnlyConfig(WeightConfig):
    """float8_e4m3fn, times a factor by which the largest number is 448.

    >>> Float8WeightOnlyConfig(64).group_size
    64
    """


@dataclass(frozen=True)
class FqnToConfig:
    """Configs by the names of modules; a name without one stays as it is.

    A key is a module's full name, or "re:" and a pattern that the whole name must match, or
    "_default" for linear layers that no other key names. Names come before patterns, and these in
    their order. None leaves a layer as it is.

    >>> config = FqnToConfig({"re:.*lm_head": None, "_default": Int8WeightOnlyConfig()})
    >>> config.of("lm_head"), config.of("layers.0.up")
    (None, Int8WeightOnlyConfig(group_size=None))
    """

    fqn_to_config: Mapping[str, WeightConfig | None]

    def of(self, name: str) -> WeightConfig | None:
        """The config of a linear layer; None where it stays as it is."""
        rows = self.fqn_to_config
        if name in rows:
            return rows[name]
        for key, config in rows.items():
            if key.startswith(REGEX) and re.fullmatch(key.removeprefix(REGEX), name):
                return config
        return rows.get(DEFAULT)
