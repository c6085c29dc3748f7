"""What a captured function reads from outside has its name and the line where it was made."""

from __future__ import annotations

import gc

import gnomon as gn
from gnomon import nn
from gnomon.capture import tracing
from gnomon.program.memory_check import live_at_peak

HERE = __file__


class Block(nn.Module):
    """Two layers."""

    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(3, 5), nn.Linear(5, 3, bias=False)  # made

    def forward(self, x):
        return self.down(gn.relu(self.up(x)))


def inputs_of(compiled) -> dict[str, int]:
    """The inputs of a function's only program: name -> line."""
    (program,) = compiled.captured()
    sites = [x.sites[0] for x in program.executable.block.graph.inputs]
    assert all(site.file == HERE for site in sites)
    return {site.name: site.line for site in sites}


def line_of(text: str) -> int:
    """The number of the line that ends so."""
    with open(HERE, encoding="utf-8") as file:
        return next(k for k, row in enumerate(file, 1) if row.rstrip().endswith(text))


def test_parameters_have_their_paths_and_the_line_that_made_them():
    model = nn.Sequential(Block(), Block())
    run = gn.compile(lambda x: model(x).sum())
    run(gn.ones(2, 3)).item()

    found = inputs_of(run)

    assert {*found} == {"x"} | {f"{k}.{x}" for k in "01" for x in ("up.weight", "up.bias", LAST)}
    assert {line for name, line in found.items() if name != "x"} == {line_of("# made")}


LAST = "down.weight"


def test_arguments_have_the_names_by_which_the_function_knows_them():
    @gn.compile
    def mixed(x, *rest, scale, batch):
        return x * rest[0] * rest[1] * scale + batch["y"][0]

    numbers = [gn.tensor([float(k), 1.0]) for k in range(5)]
    mixed(*numbers[:3], scale=numbers[3], batch={"y": (numbers[4], 7)}).tolist()

    assert [*inputs_of(mixed)] == ["x", "rest[0]", "rest[1]", "scale", "batch['y'][0]"]


def test_a_module_is_called_by_the_names_of_its_forward():
    run = gn.compile(Block())
    run(gn.ones(2, 3)).tolist()

    assert {*inputs_of(run)} == {"x", "up.weight", "up.bias", "down.weight"}


def test_buffers_of_records_and_of_the_peak_have_the_names():
    block = Block()
    run = gn.compile(lambda x: block(x))
    run(gn.ones(2, 3)).tolist()

    read = {b.name for record in run.kernels() for b in record.buffers if b.role == "input"}
    (program,) = run.captured()
    told = "\n".join(map(str, live_at_peak(program.executable.block)))

    assert read >= {"x", "up.weight", "up.bias", "down.weight"}
    assert f"input down.weight, forward  {HERE}:{line_of('# made')} in down" in told


def test_a_tensor_in_a_cycle_that_nobody_holds_is_no_output_whenever_cycles_are_looked_for():
    def leaves_a_cycle(x):
        held = [x * 2]
        held.append(held)
        return x + 1

    collects = gc.isenabled()
    gc.disable()
    try:
        run = gn.compile(leaves_a_cycle)
        run(gn.ones(3))
    finally:
        if collects:
            gc.enable()

    (program,) = run.captured()
    assert len(program.graph.outputs) == 1


def test_each_node_is_looked_at_once_for_what_a_backward_pass_freed(monkeypatch):
    """Steps write to many tensors, each of which is made of nearly all that came before."""
    looked = []
    real = tracing.mark_dependents
    monkeypatch.setattr(
        tracing,
        "mark_dependents",
        lambda nodes, marked: (looked.extend(nodes), real(nodes, marked)),
    )
    model = nn.Sequential(*[nn.Linear(4, 4) for _ in range(6)])
    optimizer, x = gn.optim.SGD(model.parameters(), lr=0.1), gn.ones(2, 4)

    @gn.compile
    def step():
        optimizer.zero_grad()
        loss = model(x).sum()
        loss.backward()
        optimizer.step()
        return loss

    step()

    assert len(looked) > 50
    assert len({*map(id, looked)}) == len(looked)
