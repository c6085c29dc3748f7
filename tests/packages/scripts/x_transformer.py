"""A decoder of x-transformers from random weights: python x_transformer.py FEATURE."""

import sys

from steps import tokens, train
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

FEATURES = {
    "plain": {},
    "rotary": {"rotary_pos_emb": True, "use_rmsnorm": True},
    "alibi": {"alibi_pos_bias": True, "alibi_num_heads": 2},
    "gated": {"ff_glu": True, "ff_swish": True, "attn_one_kv_head": True},
    "t5": {"rel_pos_bias": True, "sandwich_norm": True},
}
layers = Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, **FEATURES[sys.argv[1]])
model = AutoregressiveWrapper(
    TransformerWrapper(num_tokens=101, max_seq_len=32, attn_layers=layers)
)
ids = tokens(4, 18, 101)
train(model, lambda step: model(ids))
