"""A gated recurrence written as a Python loop, trained on chunks with a carried hidden state."""

import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class GatedCell(nn.Module):
    def __init__(self, inside, hidden):
        super().__init__()
        self.hidden = hidden
        self.weight_ih = nn.Parameter(torch.empty(3 * hidden, inside))
        self.weight_hh = nn.Parameter(torch.empty(3 * hidden, hidden))
        self.bias_ih = nn.Parameter(torch.zeros(3 * hidden))
        self.bias_hh = nn.Parameter(torch.zeros(3 * hidden))
        self.reset_parameters()

    def reset_parameters(self):
        bound = 1.0 / math.sqrt(self.hidden)
        for weight in self.parameters():
            nn.init.uniform_(weight, -bound, bound)

    def forward(self, x, h):
        gates_x = F.linear(x, self.weight_ih, self.bias_ih)
        gates_h = torch.matmul(h, self.weight_hh.t()) + self.bias_hh
        reset_x, update_x, new_x = gates_x.chunk(3, 1)
        reset_h, update_h, new_h = gates_h.chunk(3, 1)
        reset = torch.sigmoid(reset_x + reset_h)
        update = torch.sigmoid(update_x + update_h)
        new = torch.tanh(new_x + reset * new_h)
        return (1 - update) * new + update * h


class Recurrent(nn.Module):
    def __init__(self, inside=3, hidden=14, outside=2):
        super().__init__()
        self.cells = nn.ModuleList([GatedCell(inside, hidden), GatedCell(hidden, hidden)])
        self.mix = nn.Parameter(torch.zeros(hidden))
        self.leave = nn.Linear(hidden, outside)

    def start(self, batch, dtype):
        return [torch.zeros(batch, cell.hidden, dtype=dtype) for cell in self.cells]

    def forward(self, x, states):
        outputs = []
        states = list(states)
        for t in range(x.size(1)):
            value = x[:, t, :]
            for number, cell in enumerate(self.cells):
                states[number] = cell(value, states[number])
                value = states[number]
            outputs.append(value * torch.sigmoid(self.mix))
        hidden = torch.stack(outputs, dim=1)
        return self.leave(hidden), states


def make_data(dtype, batch=6, length=60):
    random = np.random.default_rng(13)
    phase = random.uniform(0, 6, size=(batch, 1, 1))
    time = np.arange(length + 1)[None, :, None] * 0.3 + phase
    waves = np.concatenate([np.sin(time), np.cos(1.7 * time), np.sin(time) ** 2], axis=2)
    waves += 0.05 * random.normal(size=waves.shape)
    return torch.tensor(waves, dtype=dtype)


def main(steps, dtype, compile, init):
    waves = make_data(dtype)
    model = Recurrent().to(dtype)
    init(model)
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05, lr_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=lambda step: 0.99**step)
    chunk = 10

    def loss_of(x, wanted, states):
        guess, states = model(x, states)
        return F.smooth_l1_loss(guess, wanted, beta=0.5), states

    if compile:
        loss_of = torch.compile(loss_of)
    losses, states = [], None
    for step in range(steps):
        position = (step * chunk) % 60
        if position == 0:
            states = model.start(waves.size(0), dtype)
        x = waves[:, position : position + chunk]
        wanted = waves[:, position + 1 : position + chunk + 1, :2]
        model.zero_grad()
        loss, states = loss_of(x, wanted, states)
        losses.append(loss.item())
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        scheduler.step()
        states = [state.detach() for state in states]
    final = torch.stack(states).norm(dim=-1).flatten().tolist()
    metrics = {"final": final, "mix": model.mix.detach().numpy().tolist()}
    return {"losses": losses, "state_keys": list(model.state_dict()), "metrics": metrics}
