"""Programs for many sizes whose sums have leaves that vary, and loops over strided slices."""

from __future__ import annotations

import gnomon as gn
from tests.compiler.test_sized import swept

LENGTHS = [195, 200, 332, 96, 64, 129, 510, 35, 17]
"""Sizes of which sums have 1, 8, 4, 16, 16, 1, 2, 1 and 1 leaves."""


def test_one_program_serves_every_count_of_leaves():
    functions = [
        lambda x: x.sum(0),
        lambda x: x.t() @ x,
        lambda x: x.softmax(0) + x.var(0),
        lambda x: gn.cat([x.t() @ x.relu(), x.mean(0, keepdim=True)]),
    ]
    for function in functions:
        assert swept(gn.compile(function), [(n, 12) for n in LENGTHS], known=2) == 0
        assert swept(function, [(n, 12) for n in LENGTHS], known=2) == 0


def test_counts_that_were_1_so_far_vary_once_one_does():
    shapes = [(n, 12) for n in (195, 197, 200, *LENGTHS)]

    assert swept(lambda x: x.t() @ x, shapes, known=3) == 0


def test_gradients_of_sums_over_parts_of_any_length():
    def loss(x: gn.Tensor) -> gn.Tensor:
        w = gn.ones(12, 5).requires_grad_()
        with gn.enable_grad():
            (x @ w).tanh().square().sum().backward()
        return w.grad

    assert swept(loss, [(n, 12) for n in LENGTHS], known=2) == 0


def test_a_loop_over_strided_slices_is_made_for_its_own_size():
    def total(x: gn.Tensor) -> gn.Tensor:
        def body(total: gn.Tensor, row: gn.Tensor) -> tuple[gn.Tensor, gn.Tensor]:
            total = (total + row).tanh()
            return total, total * 2

        part = x[:, 1::2]
        return gn.scan(body, gn.ones(part.shape[1:]) * 0.5, part)[1]

    shapes = [(3, 9), (4, 33), (2, 21), (5, 17), (0, 33), (1, 1)]
    for function in (total, gn.compile(total)):
        swept(function, shapes)


def test_counts_that_agreed_by_chance_follow_from_their_own_sizes():
    def both(x: gn.Tensor) -> gn.Tensor:
        rows, columns = x.sum(1), x.sum(0)
        return rows.t() @ rows + columns.t() @ columns

    shapes = [(10, 14, 3), (18, 22, 3), (16, 8, 3), (7, 20, 3), (24, 5, 3), (9, 9, 3), (8, 64, 3)]

    assert swept(both, shapes, known=2) == 0
