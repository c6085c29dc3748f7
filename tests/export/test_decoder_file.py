"""A decoder as one file: a prompt is read and tokens follow, over one cache that the file keeps."""

from __future__ import annotations

import numpy as np
import pytest

import gnomon as gn
from gnomon.export import export, load_program, save_programs
from gnomon.models.registry import MODELS
from gnomon.models.shipped import CachedDecoder


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
