"""Records: every kernel names its lines, operations and buffers, and the same ones every time."""

from __future__ import annotations

import inspect
import json
import os
import runpy
import subprocess
import sys
from math import prod
from pathlib import Path

import msgspec
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.compiler.build import compile_graph
from gnomon.compiler.target import context
from gnomon.ir.provenance import is_machinery
from gnomon.nn import functional as F
from gnomon.program.records import Line, Record, SavedRecords, records_of, save, text_of
from gnomon.runtime import events
from gnomon.schedule import cluster
from gnomon.settings import override
from tests.house import ROOT
from tests.program.test_listing import small_model

HERE = __file__


def line_of(mark: str) -> int:
    """The number of this file's line that ends in a mark."""
    rows = Path(HERE).read_text(encoding="utf-8").splitlines()
    (number,) = (k for k, row in enumerate(rows, 1) if row.endswith(f"# {mark}"))
    return number


class Attention(nn.Module):
    """Heads over projections of their own."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        """x: (batch, time, width)."""
        q = self.q_proj(x)  # q
        k = self.k_proj(x)  # k
        v = self.v_proj(x)  # v
        return F.scaled_dot_product_attention(*(t.unsqueeze(1) for t in (q, k, v))).squeeze(1)


class Block(nn.Module):
    """Attention, then two layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), Attention(width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x):
        """x: (batch, time, width)."""
        x = x + self.attention(self.norm(x))
        return x + self.down(F.gelu(self.up(x)))


class Model(nn.Module):
    """Tokens to a loss."""

    def __init__(self, tokens: int = 11, width: int = 8, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(tokens, width)
        self.layers = nn.ModuleList(Block(width) for _ in range(layers))
        self.head = nn.Linear(width, tokens)

    def forward(self, x, y):
        """Token numbers and what follows them."""
        h = self.embedding(x)
        for layer in self.layers:
            h = layer(h)
        return F.cross_entropy(self.head(h).flatten(0, 1), y.flatten())


def training_step():
    """A compiled step of a small transformer, taken once."""
    model = Model()
    optimizer = gn.optim.AdamW(model.parameters(), lr=1e-3)

    @gn.compile
    def step(x, y):
        optimizer.zero_grad()
        loss = model(x, y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()  # step
        return loss.detach()

    x = gn.randint(0, 11, (2, 5))
    step(x, x)
    return step


@pytest.fixture(scope="module")
def trained() -> list[Record]:
    """The records of a training step."""
    return training_step().kernels()


def test_every_kernel_of_a_training_step_carries_lines_of_the_user_alone(trained):
    assert all(record.lines for record in trained)
    assert {line.file for record in trained for line in record.lines} == {HERE}
    assert all(op.lines for record in trained for op in record.ops)
    assert len({record.id for record in trained}) == len(trained)


def test_lines_name_modules_and_phases(trained):
    found = {(x.line, x.module, x.phase) for record in trained for x in record.lines}

    for layer in (0, 1):
        for part, phase in ((p, f) for p in "qkv" for f in ("forward", "backward")):
            path = f"layers.{layer}.attention.{part}_proj"
            assert (line_of(part), path, phase) in found
    assert (line_of("step"), "", "optimizer") in found
    assert {phase for _, _, phase in found} == {"forward", "backward", "optimizer"}


def test_a_record_tells_operations_buffers_and_work():
    f = gn.compile(lambda x, w: (x @ w).relu())
    f(gn.ones(4, 6), gn.ones(6, 5))
    (record,) = f.kernels()

    assert [op.name for op in record.ops][:1] == ["contract xz,zy->xy"]
    assert [op.recomputed for op in record.ops] == [False] * len(record.ops)
    assert record.flops >= 2 * 4 * 6 * 5
    assert {b.role for b in record.buffers} == {"input", "output"}
    assert record.nbytes == 4 * (4 * 6 + 6 * 5 + 4 * 5)
    assert all(b.nbytes == 4 * prod(b.shape) for b in record.buffers)
    (fused,) = record.decisions
    assert (fused.kind, fused.of, fused.what) == ("epilogue", "contract xz,zy->xy", "where")
    assert fused.line == fused.of_line == record.lines[0]
    assert record.program.startswith("<lambda> ")


def test_decisions_name_both_sides_of_a_cut_in_both_records():
    def f(x):
        a = x.exp()
        return a.cumsum(1), a.sum(0)

    g = gn.compile(f)
    g(gn.ones(30, 7))
    first = inspect.getsourcelines(f)[1]
    cuts = [(d, r.name) for r in g.kernels() for d in r.decisions if d.refused and d.kind == "join"]

    lines = {(d.of, d.of_line.line - first, d.what, d.line.line - first) for d, _ in cuts}
    assert lines == {("exp", 1, "scan add", 2), ("exp", 1, "reduce add", 2)}
    assert {d.refused for d, _ in cuts} == {cluster.READ, cluster.SPACE}
    assert sorted(d.side for d, _ in cuts) == ["makes", "makes", "reads", "reads"]


def test_every_decision_of_a_training_step_names_an_operation_and_a_line_on_both_sides(trained):
    decisions = [d for record in trained for d in record.decisions]

    assert {d.kind for d in decisions} == {"epilogue", "join", "share", "recompute"}
    assert all(d.what and d.of and d.times > 0 for d in decisions)
    assert {x.file for d in decisions for x in (d.line, d.of_line)} == {HERE}
    for record in trained:
        keys = [(d.kind, d.refused, d.side, d.line, d.of_line) for d in record.decisions]
        assert len(keys) == len(set(keys))


def test_what_another_kernel_computes_as_well_is_marked_as_recomputed(trained):
    again = [op for record in trained for op in record.ops if op.recomputed]

    assert again
    assert any("backward" in {x.phase for x in op.lines} for op in again)


def test_an_operand_that_is_written_over_is_in_place():
    def f(x):
        for _ in range(3):
            x = (x @ x).sin() * 2.0
        return x.sum()

    with override(without="epilogues,prologues"):
        made = gn.compile(f)
        made(gn.ones(70, 70))
        roles = {b.role for record in made.kernels() for b in record.buffers}

    assert roles == {"input", "output", "in-place"}


def test_members_of_a_batch_have_records_of_their_own(trained):
    batches = [record for record in trained if record.members]

    assert batches
    for record in batches:
        assert len({record.id, *(m.id for m in record.members)}) == 1 + len(record.members)
        assert record.flops == sum(m.flops for m in record.members)
        assert {b.name for b in record.buffers} == {
            b.name for m in record.members for b in m.buffers
        }


def test_one_kernel_called_from_two_lines_is_two_records():
    def f(a, b):
        first = a.sort()[0]  # first
        second = b.sort()[0]  # second
        return first, second

    made = gn.compile(f)
    made(gn.ones(9), gn.zeros(9))
    records = [r for r in made.kernels() if "sort" in r.name]
    lines = {r.lines[0].line for r in records}

    assert len(records) == len({r.id for r in records}) >= 2
    assert len({r.symbol for r in records}) < len(records)
    assert lines == {line_of("first"), line_of("second")}


PLANTED = """
import gnomon as gn
def program(x, w):
    a = x @ w
    b = a.exp()
    return (b.softmax(-1) * 3).sum()
w = gn.ones(5, 5, requires_grad=True)
gn.evaluate(w)
step = gn.compile(lambda x: program(x, w))
"""


@pytest.mark.parametrize("eager", [True, False])
def test_the_same_program_in_another_file_gives_that_files_lines(tmp_path, eager):
    found = []
    for k, before in enumerate(("", "\n\n\n")):
        path = tmp_path / f"model{k}.py"
        path.write_text(before + PLANTED, encoding="utf-8")
        space = runpy.run_path(str(path))
        seen = []
        stop = events.subscribe(
            lambda kind, fields, seen=seen: kind == "run" and seen.append(fields["caller"])
        )
        function = (lambda x, s=space: s["program"](x, s["w"])) if eager else space["step"]
        function(gn.ones(4, 5)).backward()
        assert space["w"].grad.tolist()
        stop()
        records = [r for made in seen for r in made.records]
        assert records
        found.append({(x.file, x.line - 3 * k) for r in records for x in r.lines} - {HERE})
        files = {x.file for r in records for x in r.lines}
        assert files <= {str(path), HERE}

    names = [{line for file, line in lines if file != HERE} for lines in found]
    assert names[0] == names[1] != set()


SAVES = """
import sys
import gnomon as gn
def f(x, w):
    return (x @ w).relu().softmax(-1).sum()
made = gn.compile(f)
made(gn.ones(40, 30), gn.ones(30, 20))
made.save_records(sys.argv[1])
"""


def test_a_hit_and_a_miss_save_the_same_bytes(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(SAVES, encoding="utf-8")
    settings = {
        "PYTHONPATH": str(ROOT),
        "GNOMON_CACHE_DIR": str(tmp_path / "cache"),
        "GNOMON_KEEP_PROGRAMS": "1",
    }
    places = [tmp_path / f"{name}.json" for name in ("miss", "hit")]
    for place in places:
        command = [sys.executable, str(script), str(place)]
        subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **settings})

    assert places[0].read_bytes() == places[1].read_bytes()
    saved = msgspec.json.decode(places[0].read_bytes(), type=SavedRecords)
    assert {x.file for record in saved.records for x in record.lines} == {str(script)}


def test_records_are_the_same_when_passes_run_again():
    made = compile_graph(small_model(), context())

    again = made.under(made.source, made.lines)
    again._block = None

    assert made.records == again.records
    assert made.records[0].lines == (Line("model.py", 3, "forward", "layers.0"),)


def test_the_text_of_a_program_names_values_and_lines():
    made = compile_graph(small_model(), context())
    text = text_of(made.block)

    assert "contract mk,kn->mn" in text
    assert "# model.py:4 in norm" in text
    names = {b.name for r in made.records for b in r.buffers}
    assert all(f"{name} = " in text or f"{name}: " in text for name in names)


def test_the_text_of_a_loop_holds_its_iteration():
    f = gn.compile(lambda x: gn.while_loop(lambda x: x.sum() < 9, lambda x: (x * 2,), (x,)))
    f(gn.ones(3))
    ((_, program),) = next(iter(f.programs.values()))
    executable = program.executable

    assert "while body:" in text_of(executable.block)
    assert len(executable.records) == len(executable.kernels)
    assert records_of(executable.block, executable.program.steps, executable.title)


def test_a_file_that_was_there_stays_when_records_cannot_be_written(tmp_path):
    place = tmp_path / "records.json"
    save(place, training_step().kernels())
    kept = place.read_bytes()

    with pytest.raises(TypeError):
        save(place, [object()])  # type: ignore[list-item]

    assert place.read_bytes() == kept
    assert [x.name for x in tmp_path.iterdir()] == ["records.json"]


def test_the_schema_in_the_documentation_is_that_of_what_is_saved():
    written = runpy.run_path(str(ROOT / "tools" / "schemas.py"))

    for name, kind in written["SCHEMAS"].items():
        kept = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert kept == written["text_of"](kind), "run tools/schemas.py"
        assert json.loads(kept)["$defs"]


def test_programs_of_this_package_count_as_a_users():
    package = Path(gn.__file__).parent

    assert is_machinery(str(package / "nn" / "linear.py"))
    assert not is_machinery(str(package / "models" / "decoder.py"))
    assert not is_machinery(str(package / "train" / "step.py"))
    assert is_machinery(json.__file__)
    assert not is_machinery(pytest.__file__)


def test_records_are_those_of_the_table_when_sizes_vary():
    model = Model()
    optimizer = gn.optim.AdamW(model.parameters(), lr=1e-3)

    @gn.compile
    def step(x):
        optimizer.zero_grad()
        loss = model(x, x)
        loss.backward()
        optimizer.step()
        return loss.detach()

    for rows, length in ((2, 5), (3, 7), (4, 6), (4, 12)):
        step(gn.randint(0, 11, (rows, length)))
    programs = [p.executable for entries in step.programs.values() for _, p in entries]

    assert len(programs) >= 4
    for made in programs:
        again = made.under(made.source, made.lines, made.name)
        again._block = None
        assert again.records == made.records
