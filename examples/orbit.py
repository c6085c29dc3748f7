"""Fits the mass of a star to an orbit: 400 time steps inside one program, and gradients through."""

import gnomon as gn
from gnomon import optim

STEPS, DT = 400, 0.02


def turn(state, _):
    """One leapfrog step of a planet around a star at the origin."""
    place, speed, mass = state
    place = place + 0.5 * DT * speed
    speed = speed - DT * mass * place / place.norm() ** 3
    place = place + 0.5 * DT * speed
    return (place, speed, mass), place


def orbit(mass):
    """Where the planet is at every step."""
    start = gn.tensor([1.0, 0.0]), gn.tensor([0.0, 1.1]), mass
    return gn.scan(turn, start, length=STEPS)[1]


seen = orbit(gn.tensor(1.3))
mass = gn.tensor(1.0, requires_grad=True)
optimizer = optim.Adam([mass], lr=0.02)


@gn.compile
def step():
    loss = ((orbit(mass) - seen) ** 2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


for _ in range(120):
    loss = step()
print(f"mass {mass.item():.3f} of 1.300, loss {loss.item():.2e}")


@gn.compile
def turns_until_home(mass):
    """How many steps one orbit takes: nobody says how many before."""
    state = gn.tensor([1.0, 0.0]), gn.tensor([0.0, 1.1]), mass

    def away(count, place, *_):
        return (count < 10) | ((place[0] - 1).abs() + place[1].abs() > 0.05)

    def go_on(count, *state):
        return count + 1, *turn(state, None)[0]

    return gn.while_loop(away, go_on, (0, *state))[0]


print(f"an orbit takes {turns_until_home(mass.detach()).item()} steps")
assert abs(mass.item() - 1.3) < 0.01
