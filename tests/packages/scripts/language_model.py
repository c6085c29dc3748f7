"""A language model of transformers from random weights: python language_model.py NAME."""

import sys

from steps import tokens, train
from transformers import AutoConfig, AutoModelForCausalLM

SMALL = {
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64},
    "llama": {"num_key_value_heads": 2},
    "mistral": {"num_key_value_heads": 2, "sliding_window": 8},
    "mixtral": {"num_key_value_heads": 2, "num_local_experts": 4},
    "qwen2": {"num_key_value_heads": 2},
    "qwen3_moe": {
        "num_key_value_heads": 2,
        "num_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "head_dim": 8,
    },
    "gpt_neox": {},
    "opt": {"ffn_dim": 64, "word_embed_proj_dim": 32},
}
COMMON = {
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 101,
    "max_position_embeddings": 64,
}
DRY = ("attn_pdrop", "embd_pdrop", "resid_pdrop", "attention_dropout", "hidden_dropout", "dropout")

name = sys.argv[1]
common = {"vocab_size": 101} if name == "gpt2" else COMMON
config = AutoConfig.for_model(name, **{**common, **SMALL[name]})
for word in DRY:
    if hasattr(config, word):
        setattr(config, word, 0.0)
model = AutoModelForCausalLM.from_config(config)
ids = tokens(4, 17, 101)
train(model, lambda step: model(input_ids=ids, labels=ids).loss)
