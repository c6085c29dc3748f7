"""torch.nn.functional's names: operations of the registry, and the few that need more than nodes.

Dropout draws random numbers, batch norm writes running statistics, and some keywords mean "write
the result to the input". Everything else is generated from the registry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gnomon.errors import ArgumentError
from gnomon.nn.attention import
