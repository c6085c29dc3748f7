"""A small GPT trained on several ranks, as scripts for torchrun are written."""

import os
import sys
from contextlib import nullcontext

import torch
import torch.nn as nn
from torch.distributed import destroy_process_group, init_process_group
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

block_size, vocab_size, n_embd, n_head, batch_size = 16, 32, 32, 4, 8
gradient_accumulation_steps = 2

ddp = int(os.environ.get("RANK", -1)) != -1
if ddp:
    init_process_group(backend="gloo")
    ddp_rank = int(os.environ["RANK"])
    ddp_local_rank = int(os.environ["LOCAL_RANK"])
    ddp_world_size = int(os.environ["WORLD_SIZE"])
    master_process = ddp_rank == 0
    seed_offset = ddp_rank
    assert torch.distributed.get_rank() == ddp_rank
    assert torch.distributed.get_world_size() == ddp_world_size
else:
    master_process, seed_offset, ddp_world_size = True, 0, 1

torch.manual_seed(1337 + seed_offset)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.c_attn = nn.Linear(n_embd, 3 * n_embd)
        self.c_proj = nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd)
        )

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(self.ln_1(x)).split(n_embd, dim=2)
        q, k, v = (y.view(B, T, n_head, C // n_head).transpose(1, 2) for y in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab_size, n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList([Block() for _ in range(2)])
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab_size, bias=False)
        self.wte.weight = self.lm_head.weight

    def forward(self, idx, targets):
        x = self.wte(idx) + self.wpe(torch.arange(idx.size(1)))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return logits, F.cross_entropy(logits.view(-1, vocab_size), targets.view(-1))


generator = torch.Generator()
generator.manual_seed(7)
rows = torch.randint(0, vocab_size, (64, block_size + 1), generator=generator)
rows[:, 1::2] = rows[:, 0:-1:2]
dataset = TensorDataset(rows[:, :-1].clone(), rows[:, 1:].clone())
sampler = DistributedSampler(dataset) if ddp else None
loader = DataLoader(dataset, batch_size=batch_size, sampler=sampler, shuffle=sampler is None)

model = GPT()
if "compile" in sys.argv:
    model = torch.compile(model)
if ddp:
    model = DDP(model, device_ids=None)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)

losses = []
for epoch in range(3):
    if sampler is not None:
        sampler.set_epoch(epoch)
    for micro_step, (X, Y) in enumerate(loader):
        last = micro_step % gradient_accumulation_steps == gradient_accumulation_steps - 1
        if ddp:
            model.require_backward_grad_sync = last
        with nullcontext():
            logits, loss = model(X, Y)
            loss = loss / gradient_accumulation_steps
        loss.backward()
        if last:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            total = loss.detach() * gradient_accumulation_steps
            if ddp:
                torch.distributed.all_reduce(total, op=torch.distributed.ReduceOp.AVG)
            losses.append(total.item())
if master_process:
    assert losses[-1] < losses[0] * 0.9, losses
    print(f"{ddp_world_size} ranks: loss {losses[0]:.4f} to {losses[-1]:.4f}")
check = torch.stack([p.detach().double().sum() for p in model.parameters()]).sum()
if ddp:
    every = [torch.zeros_like(check) for _ in range(ddp_world_size)]
    torch.distributed.all_gather(every, check)
    assert all(x.item() == check.item() for x in every), every
    destroy_process_group()
