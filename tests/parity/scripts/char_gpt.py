"""A character GPT with tied weights and a padding mask; the whole training step is compiled."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

LINES = [
    "the gnomon casts a shadow",
    "a square grows by an odd number",
    "add a gnomon, keep the shape",
    "one, three, five, seven",
    "what is added is what it was",
    "small steps",
    "the figure is larger, not other",
    "and so on",
]
IGNORED = -100


class CausalSelfAttention(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        mask = torch.tril(torch.ones(context, context)).view(1, 1, context, context)
        self.register_buffer("mask", mask, persistent=True)

    def forward(self, x, padding):
        b, t, c = x.shape
        q, k, v = self.qkv(x).split(c, dim=2)
        q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        scores = scores.masked_fill(padding[:, None, None, :], -1e9)
        weights = F.softmax(scores, dim=-1)
        y = (weights @ v).transpose(1, 2).contiguous().view(b, t, c)
        return self.out(y)


class Block(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = CausalSelfAttention(width, heads, context)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x, padding):
        x = x + self.attn(self.ln_1(x), padding)
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, width=24, heads=3, depth=2, context=32):
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.ModuleList([Block(width, heads, context) for _ in range(depth)])
        self.ln_f = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        self.apply(self._init_weights)

    def _init_weights(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)

    def forward(self, ids, targets=None):
        t = ids.size(1)
        padding = ids == 0
        x = self.tokens(ids) + self.positions(torch.arange(t, device=ids.device))
        for block in self.blocks:
            x = block(x, padding)
        logits = self.head(self.ln_f(x))
        loss = None
        if targets is not None:
            flat = logits.view(-1, logits.size(-1))
            loss = F.cross_entropy(flat, targets.view(-1), ignore_index=IGNORED)
        return logits, loss


def encode(lines, letters):
    longest = max(len(line) for line in lines)
    ids = np.zeros((len(lines), longest), dtype=np.int64)
    for row, line in enumerate(lines):
        ids[row, : len(line)] = [letters.index(letter) + 1 for letter in line]
    ids = torch.from_numpy(ids)
    targets = ids[:, 1:].clone()
    targets[targets == 0] = IGNORED
    return ids[:, :-1], targets


def make_optimizer(model):
    decay = [p for p in model.parameters() if p.requires_grad and p.dim() >= 2]
    others = [p for p in model.parameters() if p.requires_grad and p.dim() < 2]
    groups = [
        {"params": decay, "weight_decay": 0.1},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=5e-3, betas=(0.9, 0.95), eps=1e-8)


@torch.no_grad()
def generate(model, ids, count):
    model.eval()
    for _ in range(count):
        logits, _ = model(ids[:, -model.context :])
        following = torch.argmax(logits[:, -1, :], dim=-1, keepdim=True)
        ids = torch.cat((ids, following), dim=1)
    model.train()
    return ids[0].tolist()


def main(steps, dtype, compile, init):
    torch.manual_seed(1337)
    letters = sorted(set("".join(LINES)))
    ids, targets = encode(LINES, letters)
    model = GPT(len(letters) + 1).to(dtype)
    init(model)
    optimizer = make_optimizer(model)

    def rate(step):
        if step < 5:
            return (step + 1) / 5
        return 0.1 + 0.45 * (1 + math.cos(math.pi * (step - 5) / 60))

    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)

    def train_step(ids, targets):
        optimizer.zero_grad()
        _, loss = model(ids, targets)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss, norm

    if compile:
        train_step = torch.compile(train_step)
    losses, norms = [], []
    for step in range(steps):
        rows = torch.tensor([(step + k) % len(LINES) for k in (0, 1, 3, 6)])
        loss, norm = train_step(ids[rows], targets[rows])
        scheduler.step()
        losses.append(loss.item())
        norms.append(float(norm))
    assert model.head.weight is model.tokens.weight
    written = generate(model, ids[:1, :6], 12)
    metrics = {"norms": norms, "written": written, "rates": scheduler.get_last_lr()}
    return {"losses": losses, "state_keys": list(model.state_dict().keys()), "metrics": metrics}
