"""Methods for many sizes: the bits of programs with sizes of their own, sizes that are refused."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.export import Dim, ProgramFileError, export, load_program, save_programs
from gnomon.models.shipped import CachedDecoder
from gnomon.runtime.program_file import PLAN
from tests.export.test_decoder_file import decoder  # noqa: F401 - a fixture
from tests.mutations_of_files import laid_out, sections


def compiled(module):
    made = gn.compile(module, dynamic=False)

    def run(*arrays):
        with gn.no_grad():
            return made(*map(gn.from_numpy, arrays)).numpy()

    return run


def test_every_size_has_the_bits_of_its_own_program(tmp_path):
    gn.manual_seed(0)
    nn = gn.nn
    module = nn.Sequential(nn.Linear(24, 40), nn.GELU(), nn.LayerNorm(40), nn.Linear(40, 6)).eval()
    shapes = {"input": {0: Dim("batch", max=64)}}
    path = tmp_path / "sized.gnp"
    export(module, (gn.ones(3, 24),), dynamic_shapes=shapes).save(path, ["avx2", "avx512", "neon"])
    made, expected = load_program(path), compiled(module)

    for n in (2, 3, 5, 16, 1, 33, 64, 3):
        x = gn.randn(n, 24).numpy()
        assert made(x).tobytes() == expected(x).tobytes(), n
    with pytest.raises(ProgramFileError, match=r"sizes are \(65,\).*\[s0, 24\], s0 of 2 to 64"):
        made(np.ones((65, 24), np.float32))


class Outer(gn.nn.Module):
    """Products of all pairs, of two sizes."""

    def forward(self, x, y):
        return (x.unsqueeze(1) * y).cumsum(1), x.sum() + y.shape[0]


def test_two_sizes_vary_by_themselves(tmp_path):
    shapes = {"x": {0: Dim("rows", max=20)}, "y": {0: Dim("columns", min=3, max=30)}}
    program = export(Outer(), (gn.ones(4), gn.ones(5)), dynamic_shapes=shapes)
    program.save(tmp_path / "outer.gnp", ["avx2"])
    made = load_program(tmp_path / "outer.gnp")

    for rows, columns in ((2, 3), (20, 30), (7, 8), (5, 21)):
        x, y = gn.randn(rows).numpy(), gn.randn(columns).numpy()
        products, number = made(x, y)
        assert np.allclose(products, np.cumsum(x[:, None] * y, 1), 1e-5, 1e-5)
        assert np.isclose(number, x.sum() + columns, 1e-5)
    with pytest.raises(ProgramFileError, match="sizes are"):
        made(np.ones(4, np.float32), np.ones(2, np.float32))


def test_hostile_tables_load_or_are_refused(tmp_path):
    shapes = {"input": {0: Dim("batch", max=9)}}
    program = export(gn.nn.Linear(2, 3), (gn.ones(3, 2),), dynamic_shapes=shapes)
    program.save(tmp_path / "sized.gnp", ["avx2"])
    content, other, count = (tmp_path / "sized.gnp").read_bytes(), tmp_path / "hostile.gnp", 0
    load_program(tmp_path / "sized.gnp")
    *parts, (kind, target, plan) = sections(content)
    assert kind == PLAN
    for at in range(len(plan) - 8, len(plan) - 8 * 120, -8):
        made = bytearray(plan)
        struct.pack_into("<q", made, at, -(1 << 62))
        other.write_bytes(laid_out([*parts, (kind, target, bytes(made))]))
        try:
            found = load_program(other)
            for n in range(2, 10):
                found["forward"].plan.at(found["forward"], (n,))
        except ProgramFileError:
            count += 1

    assert count > 20


def test_sizes_without_an_end_are_refused(tmp_path):
    shapes = {"input": {0: Dim("batch")}}
    program = export(gn.nn.Linear(2, 3), (gn.ones(3, 2),), dynamic_shapes=shapes)

    with pytest.raises(ArgumentError, match=r"more than 4,096 sizes\. Give each Dim a smaller max"):
        program.save(tmp_path / "x.gnp")


def test_prompts_of_all_lengths_are_read_into_one_cache(decoder, tmp_path):  # noqa: F811
    module, start = CachedDecoder(decoder, 32), gn.tensor([0])
    prompt, shapes = gn.tensor([[5, 17, 3, 80, 41]]), {"tokens_bt": {1: Dim("t", max=12)}}
    methods = {
        "prefill": export(module, (prompt, start), dynamic_shapes={**shapes, "start_b": None}),
        "decode": export(module, (prompt[:, :1], start)),
    }
    save_programs(methods, tmp_path / "decoder.gnp", ["avx2", "avx512"])
    made = load_program(tmp_path / "decoder.gnp")

    for length in (1, 2, 7, 12):
        here = compiled(CachedDecoder(decoder, 32))
        tokens, place = np.arange(length)[None] * 7 % 96, np.array([length])
        first = made["prefill"](tokens, np.array([0]))
        assert first.tobytes() == here(tokens, np.array([0])).tobytes()
        token = np.array([[first.argmax()]])
        assert made["decode"](token, place).tobytes() == here(token, place).tobytes()
