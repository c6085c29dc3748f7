"""Encoder and decoder with packed LSTM, GRU, LSTMCell and attention; clipped by value."""

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

PAD, BOS = 0, 1


class Encoder(nn.Module):
    def __init__(self, vocab, emb, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb, padding_idx=PAD)
        self.rnn = nn.LSTM(
            emb, hidden, num_layers=2, bidirectional=True, batch_first=True, dropout=0.0
        )
        self.fc_h = nn.Linear(hidden * 2, hidden)
        self.fc_c = nn.Linear(hidden * 2, hidden)

    def forward(self, src, lengths):
        embedded = self.embedding(src)
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        outputs, (h, c) = self.rnn(packed)
        outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=src.size(1))
        h = torch.tanh(self.fc_h(torch.cat((h[-2, :, :], h[-1, :, :]), dim=1)))
        c = torch.tanh(self.fc_c(torch.cat((c[-2], c[-1]), dim=1)))
        return outputs, (h, c)


class Decoder(nn.Module):
    def __init__(self, vocab, emb, hidden):
        super().__init__()
        self.embedding = nn.Embedding(vocab, emb, padding_idx=PAD)
        self.cell = nn.LSTMCell(emb + hidden * 2, hidden)
        self.attn = nn.Linear(hidden, hidden * 2, bias=False)
        self.out = nn.Linear(hidden * 3, vocab)

    def forward(self, token, state, memory, mask):
        h, c = state
        scores = torch.bmm(memory, self.attn(h).unsqueeze(2)).squeeze(2)
        scores = scores.masked_fill(~mask, -1e10)
        weights = F.softmax(scores, dim=1)
        context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
        x = torch.cat([self.embedding(token), context], dim=-1)
        h, c = self.cell(x, (h, c))
        return self.out(torch.cat([h, context], dim=-1)), (h, c), weights


class Seq2Seq(nn.Module):
    def __init__(self, vocab=12, emb=8, hidden=10):
        super().__init__()
        self.encoder = Encoder(vocab, emb, hidden)
        self.decoder = Decoder(vocab, emb, hidden)
        self.length_model = nn.GRU(emb, hidden, batch_first=True)
        self.length_head = nn.Linear(hidden, 1)

    def forward(self, src, lengths, trg):
        memory, state = self.encoder(src, lengths)
        mask = src != PAD
        outputs = []
        token = torch.full((src.shape[0],), BOS, dtype=torch.long)
        for t in range(trg.shape[1]):
            logits, state, _ = self.decoder(token, state, memory, mask)
            outputs.append(logits)
            token = trg[:, t]
        _, last = self.length_model(self.encoder.embedding(src))
        return torch.stack(outputs, dim=1), self.length_head(last[-1]).squeeze(-1)


def main(steps, dtype, compile, init):
    rng = np.random.default_rng(3)
    seqs = [torch.tensor(rng.integers(2, 12, rng.integers(2, 7))) for _ in range(10)]
    src = pad_sequence(seqs, batch_first=True, padding_value=PAD)
    trg = pad_sequence([s.flip(0) for s in seqs], batch_first=True, padding_value=PAD)
    lengths = torch.tensor([len(s) for s in seqs])
    model = Seq2Seq().to(dtype)
    init(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, amsgrad=True)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, mode="min", factor=0.5, patience=2
    )
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, reduction="sum")

    def compute(src, lengths, trg):
        logits, predicted = model(src, lengths, trg)
        loss = criterion(logits.reshape(-1, logits.shape[-1]), trg.reshape(-1)) / (trg != PAD).sum()
        return loss + 0.1 * F.smooth_l1_loss(predicted, lengths.to(predicted.dtype))

    losses = []
    for _ in range(steps):
        model.train()
        optimizer.zero_grad()
        loss = compute(src, lengths, trg)
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        scheduler.step(loss.item())
        losses.append(loss.item())
    return {
        "losses": losses,
        "state_keys": list(model.state_dict().keys()),
        "metrics": {
            "lr": optimizer.param_groups[0]["lr"],
            "pad": model.encoder.embedding.weight.grad[PAD].abs().sum().item(),
        },
    }
