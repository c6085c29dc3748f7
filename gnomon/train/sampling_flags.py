"""Flags of `gnomon generate`, `complete`, `chat` and `serve` that set how tokens are sampled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cyclopts import Parameter

from gnomon.errors import ConfigError

__all__ = ["SamplingFlags", "UNSET"]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class SamplingFlags:
    """The sampling settings of a command line; commands decide what None means."""

    max_new_tokens: int | None = None
    """Maximum number of new tokens of a text."""
    temperature: float | None = None
    """Sampling temperature; 0: greedy, always the most probable token."""
    top_k: int | None = None
    """Sample from the K most probable tokens only; 0: from all."""
    top_p: float | None = None
    """Sample from the most probable tokens whose probabilities sum to P (nucleus sampling)."""
    seed: int | None = None
    """Random seed."""

    def checked(self) -> SamplingFlags:
        """The flags, checked; ConfigError for invalid values."""
        for name in ("max_new_tokens", "top_k", "seed"):
            self._refuse(name, "int >= 0", lambda x: x >= 0)
        self._refuse("seed", "int < 2 ** 64", lambda x: x < 1 << 64)
        self._refuse("temperature", "float >= 0", lambda x: 0 <= x < float("inf"))
        self._refuse("top_p", "float > 0 and <= 1", lambda x: 0 < x <= 1)
        return self

    def _refuse(self, name: str, expected: str, takes: Any) -> None:
        """Raise ConfigError if a flag's value is set and not accepted."""
        value = getattr(self, name)
        if value is not None and not takes(value):
            flag = name.replace("_", "-")
            raise ConfigError(f"generate: --{flag}: expected {expected}: got {value}.")

    def given(self) -> dict[str, Any]:
        """The set flags by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def options(self) -> dict[str, Any]:
        """The arguments of `model.generate`, including a seed; temperature 0 turns sampling off.

        >>> SamplingFlags(temperature=0.0, seed=3).options()
        {'seed': 3, 'do_sample': False}
        """
        found = self.given()
        if self.temperature is not None:
            found["do_sample"] = self.temperature != 0
            if not self.temperature:
                del found["temperature"]
        return found


UNSET = SamplingFlags()
"""Sampling flags that are all unset."""
