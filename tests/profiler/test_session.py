"""A profile of a stretch of a program holds what ran in it, found by id, under the user's lines."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import gnomon as gn
from gnomon.errors import ArgumentError
from gnomon.profiler.session import profile, record_function
from gnomon.runtime import events
from tests.program.test_records import HERE as RECORDS
from tests.program.test_records import line_of, training_step

HERE = __file__


def profiled(*functions):
    """The data of a profile of some calls."""
    with profile() as prof:
        for function in functions:
            function()
    return prof.data


def kernels_of(data):
    """The events of kernels."""
    return [event for event in data.events if event.kind == "kernel"]


def test_every_kernel_event_of_a_training_step_names_a_user_line():
    step, x = training_step(), gn.randint(0, 11, (2, 5))
    gn.evaluate(x)
    data = profiled(lambda: step(x, x), lambda: step(x, x).item())
    kernels = kernels_of(data)

    assert {event.record for event in kernels} >= {record.id for record in step.kernels()}
    lines = [data.records[event.record].lines for event in kernels]
    assert all(lines)
    assert {line.file for each in lines for line in each} == {RECORDS}
    assert (line_of("step"), "optimizer") in {(x.line, x.phase) for each in lines for x in each}
    assert data.lost == 0


def test_events_are_in_order_and_inside_of_their_run():
    data = profiled(lambda: (gn.ones(50, 50) @ gn.ones(50, 50)).sum().item())
    runs = {e.args["run"]: e for e in data.events if e.kind == "span" and "run" in e.args}

    assert [e.start for e in data.events] == sorted(e.start for e in data.events)
    assert runs
    for event in kernels_of(data):
        assert runs[event.args["run"]].start <= event.start <= event.end
        assert event.end <= runs[event.args["run"]].end


def test_eager_kernels_are_found_by_id():
    w = gn.rand(6, 6, requires_grad=True)
    data = profiled(lambda: (w @ w).exp().sum().backward(), lambda: w.grad.tolist())
    lines = {(x.file, x.phase) for e in kernels_of(data) for x in data.records[e.record].lines}

    assert lines >= {(HERE, "forward"), (HERE, "backward")}


def test_what_waits_elsewhere_lends_no_line():
    waits = (gn.ones(30, 30) @ gn.arange(900).reshape(30, 30).float()).sum()

    def again():
        return (gn.ones(30, 30) @ gn.arange(900).reshape(30, 30).float()).sum()

    line = again.__code__.co_firstlineno + 1
    data = profiled(lambda: again().item())
    lines = {(x.file, x.line) for e in kernels_of(data) for x in data.records[e.record].lines}

    assert lines == {(HERE, line)}
    assert waits.item() == 30 * 900 * 899 / 2


def test_loops_and_branches_name_their_calls():
    def f(x):
        x = gn.while_loop(lambda x: x.sum() < 99, lambda x: (x * 2,), (x,))[0]
        return gn.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))

    made = gn.compile(f)
    made(gn.ones(3))
    data = profiled(lambda: made(gn.ones(3)).tolist())
    names = {record.id for record in made.kernels()}
    ran = [event.record for event in kernels_of(data)]

    assert names & {*ran}
    assert max(ran.count(number) for number in names) >= 5


def test_threads_have_lanes_of_their_own():
    gate = threading.Barrier(3)

    def work():
        gate.wait()
        for _ in range(3):
            (gn.rand(30, 30) @ gn.rand(30, 30)).tolist()

    def together():
        crew = [threading.Thread(target=work) for _ in range(3)]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()

    data = profiled(lambda: gn.ones(3).tolist(), together)
    spans = [e for e in data.events if e.kind == "span"]

    assert len({e.thread for e in spans}) == 4
    assert {e.thread for e in data.events} <= {*data.threads}
    assert data.threads[0] == "main"
    assert all(e.record in data.records for e in kernels_of(data))


def test_allocations_name_the_line_that_made_the_value():
    def work():
        x = gn.rand(64, 64)
        y = x * 2  # here
        return y.tolist()

    data = profiled(work)
    rows = Path(HERE).read_text(encoding="utf-8").splitlines()
    here = next(k for k, row in enumerate(rows, 1) if row.endswith("# here"))
    made = [e for e in data.events if e.kind == "alloc" and e.nbytes >= 4 * 64 * 64]
    freed = {e.args["buffer"] for e in data.events if e.kind == "free"}

    assert here in {line.line for e in made for line in e.lines}
    assert {e.args["buffer"] for e in made} & freed


def test_forced_evaluations_copies_and_passes_are_told():
    def work():
        x = gn.tensor([[1.0, 2.5], [3.0, 4.0]])
        if (x * 17).sum() > 0:
            repr(x - 3)
        (x.exp() * 1.25).numpy()

    data = profiled(work)
    forced = {e.name: e for e in data.events if e.kind == "forced"}
    (copy,) = [e for e in data.events if e.kind == "copy"]

    assert {"bool", "repr", "numpy"} <= {*forced}
    assert all(e.lines[0].file == HERE for e in forced.values())
    assert copy.nbytes == 16
    assert copy.lines[0].file == HERE
    assert any(e.kind == "compile" and e.name.startswith("simplify: ") for e in data.events)


def test_a_schedule_hands_over_each_stretch():
    seen = []
    chosen = gn.profiler.schedule(wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=chosen, on_trace_ready=lambda p: seen.append(p.data)) as prof:
        for _ in range(10):
            (gn.ones(5) + 1).tolist()
            prof.step()

    steps = [[e.name for e in data.events if e.kind == "step"] for data in seen]
    assert steps == [["ProfilerStep#2", "ProfilerStep#3"], ["ProfilerStep#6", "ProfilerStep#7"]]
    assert all(kernels_of(data) for data in seen)
    assert not events.heard()


def test_a_stretch_that_the_loop_leaves_is_handed_over_too():
    seen = []
    chosen = gn.profiler.schedule(wait=0, warmup=0, active=9)
    with profile(schedule=chosen, on_trace_ready=seen.append):
        (gn.ones(5) + 1).tolist()

    assert len(seen) == 1


def test_stretches_have_names():
    @record_function("whole")
    def whole():
        with record_function("part"):
            return 3

    data = profiled(whole)
    spans = {e.name: e for e in data.events if e.kind == "span"}

    assert spans["whole"].start <= spans["part"].start <= spans["part"].end <= spans["whole"].end
    assert whole() == 3


def test_reports_and_exports_are_at_hand(tmp_path):
    with profile(record_shapes=True) as prof:
        (gn.ones(50, 50) @ gn.ones(50, 50)).sum().item()
    prof.export_chrome_trace(tmp_path / "trace.json")
    prof.export_perfetto(tmp_path / "trace.pftrace")
    prof.save(tmp_path / "profile.json")
    assert "</script>" not in prof._repr_html_()
    prof.export_page(tmp_path / "page.html", "a title")
    assert "<title>a title" in (tmp_path / "page.html").read_text()

    assert (tmp_path / "trace.pftrace").stat().st_size > 100
    assert prof.by_source_line()[0].file == HERE
    assert prof.by_module()
    assert prof.by_kernel()
    assert prof.memory_timeline().peak > 0
    assert "GFLOP/s" in prof.key_averages().table(sort_by="cpu_time_total", row_limit=3)
    for rows in (prof.by_source_line(), prof.by_module(), prof.by_kernel()):
        assert str(rows) == rows.table()
        assert len(rows.table(row_limit=1).splitlines()) == 2
    assert len(repr(prof.memory_timeline())) < 100
    assert len(prof.events()) > 3
    assert json.loads((tmp_path / "trace.json").read_bytes())["traceEvents"]
    assert gn.profiler.read_profile(tmp_path / "profile.json") == prof.data


def test_a_profile_holds_texts_of_sources_graphs_and_code():
    data = profiled(lambda: (gn.ones(7, 7) @ gn.ones(7, 7)).sum().item())
    record = next(iter(data.records.values()))

    assert "def profiled" in data.sources[HERE]
    assert "return " in data.graphs[record.program]
    assert "define" in data.code[record.symbol]
    assert data.machine.flops > 0


def test_what_is_not_there_is_said():
    with pytest.raises(ArgumentError, match="no option 'fast'"):
        profile(fast=True)
    with pytest.raises(ArgumentError, match="nothing is recorded yet"):
        _ = profile().data


def test_a_function_that_is_captured_again_says_why():
    double = gn.compile(lambda x: x * 2)

    with profile() as made:
        for size in (3, 4):
            double(gn.ones(size)).tolist()

    (why,) = made.why_recompiled()
    assert why.startswith("<lambda>, capture 2: tensor 0: shape is (4,), was (3,)")
    (event,) = (e for e in made.data.events if e.name.endswith(why))
    assert event.end > event.start
    assert event.lines[0].file == HERE
