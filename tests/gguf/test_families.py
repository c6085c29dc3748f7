"""Names of tensors go both ways, and strange ones have none."""

from __future__ import annotations

import numpy as np
import pytest

from gnomon.gguf.families import BACK, ENDS, LAYER, family_of, gguf_name, hugging_face_name

pytestmark = pytest.mark.unit


def test_every_name_comes_back():
    names = [f"{part}.weight" for part in ENDS]
    names += [
        f"blk.{layer}.{part}.{kind}"
        for layer in (0, 21)
        for part in LAYER
        for kind in ("weight", "bias")
    ]

    for name in names:
        theirs = hugging_face_name(name)
        assert gguf_name(theirs.format(5)) == (name, 5 if "exps" in name else None)
    assert len(BACK) == len(ENDS) + len(LAYER)


@pytest.mark.parametrize(
    "name",
    [
        *("", "x", "token_embd", "token_embd.scale", "blk.0.token_embd.weight", "attn_q.weight"),
        *(
            "blk.01.attn_q.weight",
            "blk.-1.attn_q.weight",
            "blk..attn_q.weight",
            "blk.٣.attn_q.weight",
        ),
        *("blk.0.attn_q.weight\n", "blk.0.ssm_a.weight", "blk.9999999.attn_q.weight"),
    ],
)
def test_a_strange_tensor_of_gguf_has_no_name(name):
    assert hugging_face_name(name) is None


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "lm_head",
            "lm_head.scale",
            "model.layers.0.lm_head.weight",
            "input_layernorm.weight",
        ),
        *("model.layers.00.input_layernorm.weight", "model.layers.0.self_attn.rotary_emb.inv_freq"),
        *(
            "model.layers.0.mlp.experts.01.up_proj.weight",
            "model.layers.0.mlp.experts.up_proj.weight",
        ),
    ],
)
def test_a_strange_tensor_of_hugging_face_has_no_name(name):
    assert gguf_name(name) is None


def test_families_are_found_by_either_name():
    assert family_of("name", "qwen3moe") is family_of("model_type", "qwen3_moe")
    assert family_of("name", ["llama"]) is None
    assert family_of("name", np.arange(2)) is None
