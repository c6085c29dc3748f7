"""A decoder as one file: a prompt is read and tokens follow, over one cache that the file keeps."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import gnomon as gn
from gnomon.export import export, load_program, save_programs
from gnomon.models.registry import MODELS
from gnomon.models.shipped import CachedDecoder
from gnomon.runtime.program_file import (
    CODE,
    DESCRIPTION,
    HEAD,
    PLAN,
    ROW,
    TARGETS,
    WEIGHTS,
)


@pytest.fixture(scope="module")
def decoder():
    gn.manual_seed(0)
    sizes = dict(vocab_size=96, hidden_size=32, intermediate_size=64, num_hidden_layers=2)
    heads = dict(num_attention_heads=4, num_key_value_heads=2, head_dim=8)
    kind = MODELS["qwen3"]
    model = kind.model(kind.config(**sizes, **heads, max_position_embeddings=64)).eval()
    kind.initialize(model, 0)
    return model


def test_prefill_and_decode_share_one_cache(decoder, tmp_path):
    module = CachedDecoder(decoder, 32)
    prompt, one = gn.tensor([[5, 17, 3, 80, 41, 2, 9, 33]]), gn.tensor([[7]])
    methods = {
        "prefill": export(module, (prompt, gn.tensor([0]))),
        "decode": export(module, (one, gn.tensor([8]))),
    }
    save_programs(methods, tmp_path / "decoder.gnp", ["avx2", "avx512", "neon"])
    made = load_program(tmp_path / "decoder.gnp")
    assert len(made.state) == 4
    for method in made.methods.values():  # nothing of the cache is copied
        in_place = {(k, dict(method.held)[n]) for k, n in method.plan.over}
        assert {(method.plan.places[k], x) for k, x in method.writes} <= in_place

    def written(prefill, decode, count=12):
        found, scores = [], prefill(prompt.numpy(), np.array([0]))
        for place in range(8, 8 + count):
            found.append(scores)
            scores = decode(np.array([[scores.argmax()]]), np.array([place]))
        return np.stack([*found, scores])

    compiled = gn.compile(CachedDecoder(decoder, 32))

    def here(tokens, start):
        with gn.no_grad():
            return compiled(gn.from_numpy(tokens), gn.from_numpy(start)).numpy().copy()

    expected = written(here, here)
    places = {name: x.ctypes.data for name, x in made.state.items()}
    assert written(made["prefill"], made["decode"]).tobytes() == expected.tobytes()
    assert written(made["prefill"], made["decode"]).tobytes() == expected.tobytes()
    assert places == {name: x.ctypes.data for name, x in made.state.items()}


def test_a_kernel_of_several_layers_and_methods_is_there_once(decoder, tmp_path):
    """More layers add steps and slots, and no code; so does a method that computes the same."""
    gn.manual_seed(0)
    twice = type(decoder)(replace(decoder.config, num_hidden_layers=4)).eval()
    sizes = []
    for model in (decoder, twice):
        module = CachedDecoder(model, 32)
        methods = {
            "prefill": export(module, (gn.tensor([[1] * 8]), gn.tensor([0]))),
            "again": export(module, (gn.tensor([[2] * 8]), gn.tensor([8]))),
        }
        save_programs(methods, tmp_path / "decoder.gnp", ["avx2"])
        made = load_program(tmp_path / "decoder.gnp", targets=["avx2"])
        sizes.append(made.code.size)
        first, second = ({*x.plan.calls[:, 0].tolist()} for x in made.methods.values())
        assert first == second
        for method in made.methods.values():
            assert_shared(method.plan)
    assert sizes[0] == sizes[1]


def test_both_methods_take_less_than_64_kb_for_each_kind_of_processor(tmp_path):
    """A decoder of width 256; what it writes begins as zeros, which the file does not hold."""
    sizes = dict(vocab_size=432, hidden_size=256, intermediate_size=512, num_hidden_layers=4)
    heads = dict(num_attention_heads=4, num_key_value_heads=2, head_dim=64)
    kind = MODELS["qwen3"]
    model = kind.model(kind.config(**sizes, **heads, max_position_embeddings=512)).eval()
    module, start = CachedDecoder(model, 512), gn.tensor([0])
    methods = {
        "prefill": export(module, (gn.zeros((1, 32), dtype=gn.int64), start, start + 0)),
        "decode": export(module, (gn.zeros((1, 1), dtype=gn.int64), start)),
    }
    targets = ["avx2", "avx512", "neon"]
    save_programs(methods, tmp_path / "decoder.gnp", targets)
    content = (tmp_path / "decoder.gnp").read_bytes()
    rows = [ROW.unpack_from(content, HEAD.size + k * ROW.size) for k in range(8)]
    found = {(what, target): n for what, target, _, n, *_ in rows}

    for target in map(TARGETS.__getitem__, targets):
        assert sum(found[x] for x in ((CODE, target), (PLAN, target), (DESCRIPTION, 0))) <= 64 << 10
    weights = sum(x.nbytes for x in {x.data_ptr(): x for x in model.parameters()}.values())
    assert found[WEIGHTS, 0] <= weights + 512 * 64 * 4 + (1 << 16)


def assert_shared(plan):
    """No two runs of a plan's slots are those of steps with equal ones."""
    ends = sorted({*(plan.calls[:, 1] // 8).tolist(), len(plan.bindings)})
    rows = [tuple(map(tuple, plan.bindings[a:b].tolist())) for a, b in pairwise(ends)]
    assert len(rows) == len(set(rows)) < len(plan.calls)
