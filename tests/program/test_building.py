"""Kernels of a partition: equal ones share code, large results are written past the caches."""

from __future__ import annotations

from dataclasses import replace

import pytest

import gnomon as gn
from gnomon.codegen import opaque
from gnomon.compiler import target
from gnomon.compiler.build import build
from gnomon.compiler.target import machine
from gnomon.ir.node import Graph, Node
from gnomon.ir.operators import elementwise
from gnomon.nn.functional import conv2d
from gnomon.ops.primitives import reduce, unsqueeze
from gnomon.ops.scalars import exp
from gnomon.ops.scan_primitives import scan
from gnomon.runtime.buffer import DeviceBuffer
from gnomon.settings import override
from tests.compiler.test_pipeline import normal, outputs, run, softmax


def test_kernels_of_equal_structure_share_their_code():
    x, y = normal(5, 64), normal(5, 64)
    roots, leaves = outputs(lambda a, b: (softmax(a), softmax(b)), [x, y])

    (kernel,) = build(Graph(leaves, roots)).kernels

    assert len(kernel.members) == 2
    assert kernel.members[0].code is kernel.members[1].code


def small_caches(monkeypatch: pytest.MonkeyPatch, last: int) -> None:
    """Build for a processor whose last cache is so small."""
    small = replace(machine(), last=last)
    monkeypatch.setattr(target, "machine_of", lambda _: small)


@pytest.mark.parametrize("shape", [(9, 64), (40, 208), (3, 5, 400), (7, 2048)])
def test_rows_larger_than_caches_are_written_past_them_or_over_what_they_read(
    shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
):
    x = normal(*shape)
    last = len(shape) - 1

    def shares(x: Node) -> tuple[Node]:
        total = unsqueeze(reduce("add", exp(x), (last,)), last)
        return (elementwise("div", exp(x), total),)

    roots, leaves = outputs(shares, [x])
    with override(cache=False):
        near = run(roots, leaves, [x])[0]
        small_caches(monkeypatch, 0)
        far = build(Graph(leaves, roots))
    given = DeviceBuffer.of(x)
    (fresh,), (over,) = far.run([given]), far.run([given], [(0, 0)])

    # two leaves of 200 are no whole vectors; memory that is read waits while results are written
    for word in ("nontemporal", "llvm.prefetch"):
        assert (word in far.kernels[0].code.text) == (shape[-1] != 400)
    assert far.may_overwrite(0, 0)
    assert fresh.numpy(near.dtype, shape).tobytes() == near.tobytes()
    assert over is given
    assert over.numpy(near.dtype, shape).tobytes() == near.tobytes()


@pytest.mark.parametrize("size", [16, 1003, 4096])
def test_results_far_larger_than_caches_are_written_past_them(size: int, monkeypatch):
    x = normal(size)
    roots, leaves = outputs(lambda x: (exp(x), x * 2.0), [x])
    with override(cache=False):
        near = run(roots, leaves, [x])
        small_caches(monkeypatch, 0)
        far = build(Graph(leaves, roots))
        made = far.run([DeviceBuffer.of(x)])

    assert "nontemporal" in far.kernels[0].code.text
    for a, b in zip(near, made, strict=True):
        assert a.tobytes() == b.numpy(a.dtype, a.shape).tobytes()


def test_results_that_the_program_reads_again_are_not_written_past_caches(monkeypatch):
    x = normal(50, 60)
    roots, leaves = outputs(lambda x: (exp(x), scan("add", exp(x), 0), scan("add", x, 1)), [x])
    small_caches(monkeypatch, x.nbytes)
    with override(cache=False):
        kernels = build(Graph(leaves, roots)).kernels

    assert not any("nontemporal" in k.code.text for k in kernels)


def test_calls_that_differ_in_few_numbers_share_code_from_the_eighth_on(monkeypatch):
    x, scale = gn.randn(2, 16, 16, 16), gn.randn(2, 384, 16, 16)
    weights = [gn.randn(32, 16, 3, 3, requires_grad=True) for _ in range(12)]

    def run(x: gn.Tensor, scale: gn.Tensor, *weights: gn.Tensor) -> tuple[gn.Tensor, ...]:
        joined = gn.cat([conv2d(x, w, padding=1) for w in weights], 1)
        return gn.autograd.grad((joined * scale).sum(), weights)

    def codes(**options: bool) -> tuple[int, list[bytes]]:
        monkeypatch.setattr(opaque, "_written", {})  # what a program before has written is kept
        compiled = gn.compile(run, options=options)
        bits = [y.numpy().tobytes() for y in compiled(x, scale, *weights)]
        (program,) = compiled.captured()
        kernels = program.executable.kernels
        return len({k.code.symbol for k in kernels if k.name == "contract"}), bits

    (shared, bits), (alone, same) = codes(), codes(share=False)

    assert alone == 12
    assert shared < 9
    assert same == bits
