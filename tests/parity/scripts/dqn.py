"""Q-learning with replay and a target network, and an actor-critic with distributions beside it."""

import random
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical, Normal

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward", "done"))


class ReplayMemory:
    def __init__(self, capacity):
        self.memory = deque(maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, rng, batch_size):
        return rng.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class Dueling(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.layer1 = nn.Linear(n_obs, 16)
        self.value = nn.Linear(16, 1)
        self.advantage = nn.Linear(16, n_actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        a = self.advantage(x)
        return self.value(x) + a - a.mean(dim=1, keepdim=True)


class ActorCritic(nn.Module):
    def __init__(self, n_obs, n_actions):
        super().__init__()
        self.affine1 = nn.Linear(n_obs, 16)
        self.action_head = nn.Linear(16, n_actions)
        self.value_head = nn.Linear(16, 1)
        self.mu = nn.Linear(16, 1)
        self.log_std = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        x = F.relu(self.affine1(x))
        return (
            F.softmax(self.action_head(x), dim=-1),
            self.value_head(x),
            Normal(self.mu(x), self.log_std.exp()),
        )


def main(steps, dtype, compile, init):
    py, rng = random.Random(0), np.random.default_rng(7)
    policy_net, target_net, ac = (
        Dueling(4, 3).to(dtype),
        Dueling(4, 3).to(dtype),
        ActorCritic(4, 3).to(dtype),
    )
    init(policy_net)
    init(ac)
    target_net.load_state_dict(policy_net.state_dict())
    target_net.eval()
    optimizer = optim.AdamW(policy_net.parameters(), lr=1e-2, amsgrad=True)
    ac_opt = optim.Adam(ac.parameters(), lr=1e-2)
    memory = ReplayMemory(200)
    gamma, tau = 0.9, 0.05
    state = torch.tensor(rng.normal(size=4), dtype=dtype).unsqueeze(0)
    losses, actions, entropies = [], [], []
    for _ in range(steps):
        for _ in range(4):
            if py.random() > 0.5:
                with torch.no_grad():
                    action = policy_net(state).max(1).indices.view(1, 1)
            else:
                action = torch.tensor([[py.randrange(3)]], dtype=torch.long)
            a = action.item()
            actions.append(a)
            nxt = np.tanh(state.squeeze(0).numpy() * 0.9 + rng.normal(size=4) * 0.1 + (a - 1) * 0.3)
            reward = torch.tensor([float(nxt[0] > 0) - 0.1 * a], dtype=dtype)
            done = abs(nxt[1]) > 0.8
            next_state = None if done else torch.tensor(nxt, dtype=dtype).unsqueeze(0)
            memory.push(state, action, next_state, reward, torch.tensor([done]))
            state = (
                torch.tensor(rng.normal(size=4), dtype=dtype).unsqueeze(0) if done else next_state
            )
        if len(memory) < 4:
            continue
        batch = Transition(*zip(*memory.sample(py, min(len(memory), 8)), strict=True))
        non_final_mask = torch.tensor(
            tuple(map(lambda s: s is not None, batch.next_state)), dtype=torch.bool
        )
        state_batch, action_batch, reward_batch = (
            torch.cat(batch.state),
            torch.cat(batch.action),
            torch.cat(batch.reward),
        )
        q = policy_net(state_batch).gather(1, action_batch)
        next_values = torch.zeros(len(batch.state), dtype=dtype)
        finals = [s for s in batch.next_state if s is not None]
        if finals:
            with torch.no_grad():
                next_values[non_final_mask] = target_net(torch.cat(finals)).max(1)[0]
        expected = (next_values * gamma) + reward_batch
        loss = nn.SmoothL1Loss()(q, expected.unsqueeze(1))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
        optimizer.step()
        target_sd, policy_sd = target_net.state_dict(), policy_net.state_dict()
        for key in policy_sd:
            target_sd[key] = policy_sd[key] * tau + target_sd[key] * (1 - tau)
        target_net.load_state_dict(target_sd)
        probs, values, normal = ac(state_batch)
        m = Categorical(probs)
        assert m.sample().shape == (len(batch.state),)
        log_prob = m.log_prob(action_batch.squeeze(1))
        returns, R = [], 0
        for r in reward_batch.tolist()[::-1]:
            R = r + gamma * R
            returns.insert(0, R)
        returns = torch.tensor(returns, dtype=dtype)
        returns = (returns - returns.mean()) / (returns.std() + np.finfo(np.float32).eps.item())
        advantage = returns - values.squeeze(-1)
        ratio = torch.exp(log_prob - log_prob.detach())
        surr = torch.min(
            ratio * advantage.detach(), torch.clamp(ratio, 0.8, 1.2) * advantage.detach()
        )
        cont = normal.log_prob(state_batch[:, :1]).sum(-1).mean()
        ac_loss = (
            -surr.mean()
            + 0.5 * advantage.pow(2).mean()
            - 0.01 * m.entropy().mean()
            - 0.1 * cont
            - 0.01 * normal.entropy().mean()
        )
        ac_opt.zero_grad()
        ac_loss.backward()
        ac_opt.step()
        losses += [loss.item(), ac_loss.item()]
        entropies.append(m.entropy().mean().item())
    return {
        "losses": losses,
        "state_keys": list(policy_net.state_dict().keys()) + list(ac.state_dict().keys()),
        "metrics": {"actions": actions, "entropies": entropies},
    }
