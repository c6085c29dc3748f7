"""A character model whose training step is one compiled program; it recites what it learned."""

import gnomon as gn
from gnomon import nn, optim
from gnomon.nn import functional as F

TEXT = "she sells sea shells by the sea shore. the shells she sells are sea shells, i am sure. " * 4
LETTERS = sorted(set(TEXT))
CONTEXT = 24

gn.manual_seed(0)
tokens = gn.tensor([LETTERS.index(letter) for letter in TEXT])


class Characters(nn.Module):
    """Causal attention over the last letters, then a guess of the next one."""

    def __init__(self, width=48, heads=4):
        super().__init__()
        self.heads = heads
        self.embed, self.place = nn.Embedding(len(LETTERS), width), nn.Embedding(CONTEXT, width)
        self.qkv, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm, self.guess = nn.LayerNorm(width), nn.Linear(width, len(LETTERS))

    def forward(self, x_bt):
        b, t = x_bt.shape
        x = self.embed(x_bt) + self.place(gn.arange(t))
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.guess(self.norm(x + self.mix(seen.transpose(1, 2).reshape(b, t, -1))))


model = Characters()
optimizer = optim.AdamW(model.parameters(), lr=1e-2)


@gn.compile
def step(window):
    loss = F.cross_entropy(model(window[:, :-1]).flatten(0, 1), window[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


windows = tokens.unfold(0, CONTEXT + 1, 1)
for k in range(81):
    loss = step(windows[gn.randint(0, len(windows), (16,))])
    if k % 20 == 0:
        print(f"step {k:3}  loss {loss.item():.3f}")

print(f"a step is {len(step.kernels())} kernels and one native call")
written = tokens[:CONTEXT].tolist()
with gn.no_grad():
    for _ in range(40):
        written.append(model(gn.tensor([written[-CONTEXT:]]))[0, -1].argmax().item())
print("".join(LETTERS[k] for k in written))
assert loss.item() < 0.7
