"""Sequences to sequences with T5 of transformers, from random weights."""

from steps import tokens, train
from transformers import T5Config, T5ForConditionalGeneration

config = T5Config(
    vocab_size=101, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, dropout_rate=0.0
)
config.decoder_start_token_id = 0
model = T5ForConditionalGeneration(config)
ids, wanted = tokens(4, 13, 101), tokens(4, 7, 101)
train(model, lambda step: model(input_ids=ids, labels=wanted).loss)
