"""What the stages of quick kernels need of the project: PTX of loops, and the CPU's results.

python -m benchmarks.cuda.hashes build/gpu
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import llvmlite.binding as llvm

import gnomon as gn
from benchmarks.cuda import rows
from benchmarks.cuda.loops import LOOPS
from benchmarks.cuda.products import FLOATS
from benchmarks.cuda.programs import drawn
from gnomon.nn import functional as F


def digest(x: gn.Tensor) -> str:
    """The hash of a result."""
    return sha256(x.numpy().tobytes()).hexdigest()


def loops() -> dict[str, Callable[[], gn.Tensor]]:
    """Each loop's result."""
    x, y, w = map(gn.from_numpy, drawn([list(LOOPS), list(LOOPS), [LOOPS[1]]]))
    return {
        "silu": lambda: F.silu(x) * y,
        "softmax": lambda: F.softmax(x, -1),
        "layer_norm": lambda: F.layer_norm(x, (LOOPS[1],), w, w),
        "sum of columns": lambda: x.sum(0),
        "transpose": lambda: x.t().contiguous(),
    }


def product(m: int, n: int, k: int) -> gn.Tensor:
    """A product of float32."""
    a, b = map(gn.from_numpy, drawn([[m, k], [k, n]]))
    return a @ b


def main(folder: Path) -> None:
    """Write loops.json and products.json."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    width = LOOPS[1]
    kernels = {
        "silu": rows.silu(),
        "softmax": rows.softmax(width),
        "layer_norm": rows.layer_norm(width),
    }
    folder.mkdir(parents=True, exist_ok=True)
    found = {"kernels": kernels, "hashes": {name: digest(f()) for name, f in loops().items()}}
    (folder / "loops.json").write_text(json.dumps(found))
    hashes = {name: digest(product(*sizes)) for name, (sizes, _) in FLOATS.items()}
    (folder / "products.json").write_text(json.dumps(hashes))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
