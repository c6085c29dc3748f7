"""LoRA of peft on GPT-2 of transformers, from random weights; merged at the end."""

import torch
from peft import LoraConfig, get_peft_model
from steps import tokens, train
from transformers import GPT2Config, GPT2LMHeadModel

config = GPT2Config(
    vocab_size=101,
    n_embd=32,
    n_layer=2,
    n_head=4,
    n_positions=64,
    attn_pdrop=0.0,
    embd_pdrop=0.0,
    resid_pdrop=0.0,
)
settings = LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], task_type="CAUSAL_LM")
model = get_peft_model(GPT2LMHeadModel(config), settings)
model.print_trainable_parameters()
ids = tokens(4, 17, 101)
train(model, lambda step: model(input_ids=ids, labels=ids).loss, lr=1e-2)
model.eval()
with torch.no_grad():
    before = model(input_ids=ids, labels=ids).loss
    after = model.merge_and_unload()(input_ids=ids, labels=ids).loss
print(f"merged: loss {before:.6f}, {after:.6f}")
