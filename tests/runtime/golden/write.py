"""Writes the file of the present format: `python -m tests.runtime.golden.write`, once per format.

Not a test. A file that was written stays as it is: later loaders must read it.
"""

from __future__ import annotations

from pathlib import Path

import gnomon as gn
from gnomon.export import export, save_programs
from gnomon.runtime.program_file import FORMAT


class Scaled(gn.nn.Module):
    """Counts its calls, and multiplies by what it counts."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = gn.nn.Parameter(gn.tensor([0.0, 1.0, 2.0]))
        self.register_buffer("count", gn.zeros(()))

    def forward(self, x: gn.Tensor) -> gn.Tensor:
        """The product of the argument plus the weights and the count."""
        self.count.add_(1)
        return x * (self.weight + self.count)


class Counted(gn.nn.Module):
    """Gives what another module has counted."""

    def __init__(self, of: Scaled) -> None:
        super().__init__()
        self.of = of

    def forward(self) -> gn.Tensor:
        """The count."""
        return self.of.count + 0


if __name__ == "__main__":
    module = Scaled()
    methods = {
        "scaled": export(module, (gn.ones(2, 3),)),
        "count": export(Counted(module), ()),
    }
    path = Path(__file__).parent / f"program_{FORMAT}.gnp"
    if path.exists():
        raise SystemExit(f"{path} is there: a new format has a new file.")
    save_programs(methods, path, ("avx2", "avx512", "neon"))
