"""The Trainer of transformers: ten steps, a checkpoint at the fifth, and again from there."""

import tempfile

import torch
from steps import tokens
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

ids = tokens(40, 17, 101)


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return len(ids)

    def __getitem__(self, place):
        return {"input_ids": ids[place], "labels": ids[place]}


def trainer(folder, steps):
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
    settings = TrainingArguments(
        output_dir=folder,
        max_steps=steps,
        per_device_train_batch_size=4,
        logging_steps=1,
        save_steps=5,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    return Trainer(model=GPT2LMHeadModel(config), args=settings, train_dataset=Texts())


with tempfile.TemporaryDirectory() as folder:
    trainer(folder, 5).train()
    resumed = trainer(folder, 10)
    resumed.train(resume_from_checkpoint=True)
    for row in resumed.state.log_history:
        if "loss" in row:
            print(f"step {row['step']} loss {float(row['loss']):.6f}")
print("done")
