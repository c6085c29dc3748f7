"""Passes along rows: what feeds what, whoever does which part, and what the text then says."""

from __future__ import annotations

import numpy as np

from gnomon.codegen.loops import emit_loops
from gnomon.codegen.row_passes import GROUP
from gnomon.ops.primitives import reduce, unsqueeze
from gnomon.ops.scalars import rsqrt
from tests.codegen.test_loops import SAME, check
from tests.conftest import Golden
from tests.schedule.kernels_of import kernels, leaf, softmax


def test_sums_of_different_leaves_take_passes_of_their_own(rng: np.random.Generator):
    x = leaf(256, 33)
    sums = reduce("add", x, (0,)) + reduce("max", x, (0,))

    check(sums, rng)


def test_a_value_of_the_row_feeds_the_next_pass(rng: np.random.Generator):
    x = leaf(5, 384)
    mean = unsqueeze(reduce("add", x, (1,)) * (1 / 384), 1)
    centred = x - mean
    spread = unsqueeze(reduce("add", centred * centred, (1,)) * (1 / 384), 1)

    check(centred * rsqrt(spread + 1e-5), rng)


def test_a_block_holds_the_lanes_of_a_sum():
    assert GROUP * 16 == 64


def test_a_softmax_of_a_team(golden: Golden):
    (kernel,) = kernels(softmax(leaf(3, 2048)))

    code = emit_loops(kernel, "strided")

    assert SAME.sub(r"splat(\1)", code.text.replace(code.symbol, "kernel")) == golden


def test_scratch_memory_of_a_team_is_the_row_and_its_tables():
    wide, one = (emit_loops(kernels(softmax(leaf(3, 2048)))[0], *x) for x in (("strided",), ()))

    # beside the row that is kept: a table of 16 leaves, and one of 8 members
    assert (one.scratch, wide.scratch) == (4 * (2048 + 64) + 16 * 128, 4 * (2048 + 64) + 24 * 128)
