"""Masked words with BERT of transformers, from random weights."""

from steps import tokens, train
from transformers import BertConfig, BertForMaskedLM

config = BertConfig(
    vocab_size=101,
    hidden_size=32,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=64,
    hidden_dropout_prob=0.0,
    attention_probs_dropout_prob=0.0,
)
model = BertForMaskedLM(config)
ids = tokens(4, 19, 101)
wanted = ids.clone()
wanted[:, ::2] = -100
seen = ids.masked_fill(wanted != -100, 3)
train(model, lambda step: model(input_ids=seen, labels=wanted).loss)
