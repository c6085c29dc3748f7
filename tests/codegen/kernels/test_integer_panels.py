"""Products of many rows have the bits of one row's, whatever the tiles and stretches are."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.codegen.emitter import LLVMModule
from gnomon.codegen.kernels import integer_panels
from gnomon.codegen.kernels.integer_panels import emit_integer_product
from gnomon.codegen.kernels.integer_product import IntegerProductSpec
from gnomon.ops.blocks import FORMATS
from gnomon.ops.canonical import CONTRACTED, leaves
from gnomon.ops.integer_blocks import TERMS
from tests.codegen.kernels.jit import Kernel, assembly
from tests.integer_oracle import product
from tests.processors import PROCESSORS, here
from tests.quantized import random_blocks


def written(kind: str, sizes: tuple[int, int, int], processor: str) -> tuple[str, int]:
    """The text of a product of (rows, columns, steps), and its scratch."""
    rows, columns, steps = sizes
    module, count = LLVMModule(), steps // FORMATS[kind].elements
    pieces = np.gcd(leaves(steps, CONTRACTED), count)
    spec = IntegerProductSpec(kind, rows, columns, steps, int(pieces), count * FORMATS[kind].nbytes)
    size = emit_integer_product(module, "k", spec, PROCESSORS[processor])
    return module.text(), size


def found(kind: str, x: np.ndarray, raw: np.ndarray, processor: str = "genoa") -> np.ndarray:
    """The product by the kernel."""
    text, size = written(kind, (len(x), len(raw), x.shape[1]), processor)
    out = np.zeros((len(x), len(raw)), np.float32)
    Kernel(here(text), "k", size)([out, x, raw], threads=2)
    return out


def case(kind: str, rows: int, columns: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of x, and blocks."""
    raw = random_blocks(kind, columns, steps // FORMATS[kind].elements, 3)
    return np.random.default_rng(rows).standard_normal((rows, steps)).astype(np.float32), raw


@pytest.mark.parametrize("kind", TERMS)
def test_each_row_has_the_bits_that_it_has_alone(kind: str):
    x, raw = case(kind, 7, 49, 768)
    rows = found(kind, x, raw)

    np.testing.assert_array_equal(rows, product(x, kind, raw))
    np.testing.assert_array_equal(rows[3:4], found(kind, x[3:4], raw))


@pytest.mark.parametrize("processor", ["genoa", "zen3", "apple"])
def test_more_rows_than_are_rounded_together(processor: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(integer_panels, "TOGETHER", 12)
    for kind, steps in (("Q5_0", 32 * 11), ("Q4_K", 512)):
        x, raw = case(kind, 31, 17, steps)
        np.testing.assert_array_equal(found(kind, x, raw, processor), product(x, kind, raw))


def test_a_panel_is_read_by_loads_alone():
    """Four numbers of sixteen columns lie side by side: no shuffle stands between products."""
    text, _ = written("Q4_0", (64, 64, 4096), "genoa")
    lines = assembly(text, "znver4").splitlines()
    first = next(k for k, line in enumerate(lines) if "vpdpbusd" in line)
    tile = lines[first : max(k for k, line in enumerate(lines) if "vpdpbusd" in line)]

    assert sum("vpdpbusd" in line for line in tile) >= 90
    assert not [x for x in tile if "vperm" in x or "vpshuf" in x or "vpunpck" in x]
