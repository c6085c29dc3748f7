"""Libraries last while somebody holds them, and a process hears of mappings before they run out."""

from __future__ import annotations

import gc
import subprocess
import sys

import numpy as np
import pytest

import gnomon as gn
from gnomon.errors import CompileError
from gnomon.ir import memo
from gnomon.runtime import cpu, linking, system
from tests.runtime.kernels import copy_text, kernel

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts mappings")


def mappings() -> int:
    """The mappings of this process, without those of libraries that nobody holds."""
    gc.collect()
    linking.unlink()
    return system.mappings()[0]


def spread(x: gn.Tensor) -> gn.Tensor:
    """A few kernels, most of which have constants."""
    return (x @ x.mT).softmax(1).sum(0).sin()


@LINUX
def test_programs_that_nobody_holds_cost_no_mappings():
    x = gn.rand(7, 5)
    spread(x).numpy()
    memo.clear()
    before = mappings()

    counts = []
    for _ in range(12):
        spread(x).numpy()
        counts.append(mappings() - before)
        memo.clear()

    # the allocator may map an arena or two; each program has about fifteen mappings
    assert counts[0] > 5
    assert mappings() - before < 5
    assert max(counts) < counts[0] + 5


def test_programs_of_a_long_process_are_forgotten_in_their_turn(monkeypatch):
    x, alive = gn.rand(7), []
    monkeypatch.setattr(memo.Recent, "most", 8)
    memo.clear()

    for n in range(30):
        y = x
        for k in range(4):
            y = [y.sin, y.exp, y.cos][n // 3**k % 3]()
        y.numpy()
        gc.collect()
        alive.append(len(cpu.linked(cpu.device.target())))

    assert 8 <= max(alive) <= 2 * 8 + 1


def test_a_function_lasts_while_it_is_held():
    name = "test_linking_held"
    known = cpu.linked(cpu.device.target())

    found = cpu.load({name: copy_text(name, 64)})
    assert known[name].addresses == found
    del found

    assert name not in known


def test_a_program_holds_its_code_when_all_is_forgotten():
    x = gn.from_numpy(np.linspace(0, 1, 35, dtype=np.float32).reshape(7, 5))
    compiled = gn.compile(spread)
    first = compiled(x).numpy().copy()

    memo.clear()
    gc.collect()
    cpu.load({"test_linking_next": copy_text("test_linking_next", 64)})

    assert (compiled(x).numpy() == first).all()


def test_what_a_library_calls_lasts_as_long_as_it():
    name = "part_" + "0" * 32
    text = f"define i64 @{name}(i64 %x) {{\n  ret i64 %x\n}}\n"
    calls = f"declare i64 @{name}(i64)\ndefine i64 @f(i64 %x) {{\n  %y = call i64 @{name}(i64 %x)\n"
    own, caller = cpu.compile_kernels([text, calls + "  ret i64 %y\n}\n"])
    part = linking.link([own], [name])

    made = linking.link([caller], ["f"], {name: part})

    assert linking.parts_of([caller]) == {name}
    assert part in made._needs


def test_code_that_calls_what_nobody_defines_is_an_error():
    text = kernel("k", lambda e: e.call("void", "gnomon_defined_nowhere"))

    with pytest.raises(CompileError, match="what it calls is missing"):
        linking.link(cpu.compile_kernels([text]), ["k"])


def test_linkers_go_with_their_libraries(monkeypatch):
    made, new = [], linking.new_jit
    monkeypatch.setattr(linking, "new_jit", lambda: made.append(new()) or made[-1])
    monkeypatch.setattr(linking, "_linker", linking.Linker())
    monkeypatch.setattr(linking, "SPAN", 3)
    code = cpu.compile_kernels([copy_text("k", 64)])

    held = [linking.link(code, ["k"]) for _ in range(7)]

    assert len(made) == 3
    jits = [linking._there[x._number][1] for x in held]
    assert jits == [made[k // 3] for k in range(7)]


def test_windows_is_told_what_it_needs(monkeypatch):
    monkeypatch.setattr(linking.sys, "platform", "win32")

    with pytest.raises(CompileError, match="WSL2"):
        linking.new_jit()


def test_programs_are_forgotten_before_anybody_is_refused(monkeypatch):
    told = iter([(60_000, 65_530), (30_000, 65_530), (30_000, 65_530)])
    table = memo.Recent()
    table["a"] = 1
    monkeypatch.setattr(linking.system, "mappings", lambda: next(told))

    left = linking.mappings_for(3)

    assert left == 65_530 - 65_530 // 8 - 30_000 - 3
    assert len(table) == 0


NEARLY_FULL = """
import gnomon as gn
from gnomon.runtime import cpu, linking, system
from tests.fenced import Fences
from tests.runtime.kernels import copy_text

fences, held = Fences(), []
while system.mappings()[1] - system.mappings()[0] > 11_000:
    for _ in range(500):
        fences.take(8)
code = cpu.compile_kernels([copy_text("k", 64)])
try:
    for _ in range(2000):
        held += [linking.link(code, ["k"]), fences.take(8)]
except gn.errors.CompileError as error:
    print(error)
"""


@pytest.mark.skipif(system.mappings()[1] > 200_000, reason="as many mappings as nobody takes")
def test_a_process_hears_of_mappings_before_they_run_out():
    done = subprocess.run(
        [sys.executable, "-c", NEARLY_FULL], capture_output=True, text=True, timeout=120
    )

    assert done.returncode == 0, done.stderr[-2000:]
    assert "memory mappings that the system allows it" in done.stdout


def compiled_copy() -> dict[str, bytes]:
    """The object code of a small function, by its name."""
    name = "copy_in_a_circle"
    return {name: cpu.compile_kernels([copy_text(name, 8)])[0]}


def test_a_library_in_a_circle_is_taken_away_by_the_next_link_alone():
    class Holder:
        """An object that holds itself, and a library."""

    holder = Holder()
    holder.itself, holder.library = holder, cpu.link_apart(compiled_copy())
    (number,) = {x._number for x in holder.library.libraries}
    tracker, _ = linking._there[number]

    del holder
    gc.collect()

    assert not tracker.closed
    linking.unlink()
    assert tracker.closed
    assert number not in linking._there
