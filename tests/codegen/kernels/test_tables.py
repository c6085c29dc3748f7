"""Tables hold what was put in, at every index."""

from __future__ import annotations

import numpy as np

from gnomon.codegen.emitter import KERNEL, Module
from gnomon.codegen.kernels.tables import define_table, read_table
from tests.codegen.kernels.jit import Kernel


def test_every_entry_is_found():
    values = [0, 7, 34, 92, 255]
    define_table(module := Module(), "numbers", values)
    e = module.function("copy", KERNEL)
    target = e.load("%buffers", "ptr", 8)
    e.loop(
        0,
        len(values),
        1,
        lambda k: e.store(read_table(e, "numbers", k), e.offset(target, e.mul(k, 8)), "i64", 8),
    )
    e.ret()
    found = np.zeros(len(values), np.int64)

    Kernel(module.text(), "copy", 64)([found])

    assert found.tolist() == values
