"""Compiled functions from files: another process, other arguments, other machines, other modes."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from threading import Thread

import msgspec
import numpy as np
import pytest

import gnomon as gn
from gnomon import nn
from gnomon.errors import (
    ArgumentError,
    CheckpointError,
    CompileError,
    GradientError,
    IndexOutOfBounds,
    NanError,
)
from gnomon.runtime import device
from gnomon.runtime.program_file import HEAD, NOTES, ROW, WEIGHTS
from gnomon.settings import override
from tests.profiler.test_session import kernels_of, profiled
from tests.runtime.test_program_file import resealed
from tests.strategies import same_bits

ROOT = Path(__file__).parent.parent.parent
ELSEWHERE = """
import sys, numpy as np, gnomon as gn
f = gn.load_compiled(sys.argv[1])
np.save(sys.argv[3], f(gn.tensor(np.load(sys.argv[2]))).numpy())
print(sorted(x for x in sys.modules if "pipeline" in x or "partition" in x))
"""


@pytest.fixture
def model():
    gn.manual_seed(4)
    return nn.Sequential(nn.Linear(40, 300), nn.ReLU(), nn.Linear(300, 20), nn.Softmax(-1))


@pytest.fixture
def path(tmp_path, model):
    gn.compile(model).precompile(gn.ones(5, 40)).save(tmp_path / "model.gnc")
    return tmp_path / "model.gnc"


def elsewhere(path, x, **environment):
    """What another process gives that knows the file alone, and what it loaded."""
    given, made = path.with_name("x.npy"), path.with_name("y.npy")
    np.save(given, x.numpy())
    command = [sys.executable, "-c", ELSEWHERE, path, given, made]
    found = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    return (np.load(made) if found.returncode == 0 else None), found.stdout + found.stderr


def test_another_process_without_the_function_gives_its_bits(path, model, tmp_path):
    x = gn.randn(5, 40)

    found, said = elsewhere(path, x, GNOMON_CACHE_DIR=str(tmp_path / "empty"))

    with gn.no_grad():
        assert same_bits(found, model(x).numpy()), said
    assert said.strip() == "[]"  # no pass was run, nothing was compiled


def test_a_file_for_another_processor_is_refused(path, model, monkeypatch):
    other = "avx2" if device.target().name == "neon" else "neon"
    gn.compile(model).precompile(gn.ones(5, 40)).save(path, [other])
    with pytest.raises(CompileError, match=r"model\.gnc cannot run here: .* other processors than"):
        gn.load_compiled(path)

    gn.compile(model).precompile(gn.ones(5, 40)).save(path, [device.target().name])
    monkeypatch.setattr(device, "target", lambda: replace(device.host(), name="sse2"))
    with pytest.raises(CompileError, match=r"Save it for this processor, sse2"):
        gn.load_compiled(path)


def test_a_file_of_another_format_is_refused(path):
    content = path.read_bytes()
    path.write_bytes(resealed(content[:8] + struct.pack("<I", 9) + content[12:]))

    with pytest.raises(CompileError, match=r"cannot run here: it has format 9, and this loader"):
        gn.load_compiled(path)


@pytest.mark.skipif(device.host().name[:3] != "avx", reason="a limit to AVX2 is for x86")
def test_under_a_limit_no_more_of_the_processor_is_used(path, model):
    x = gn.randn(5, 40)
    with override(cpu_features="avx2"):
        programs = gn.load_compiled(path).programs.values()
    assert {each.method.program.target for each in programs} == {"avx2"}

    found, said = elsewhere(path, x, GNOMON_CPU_FEATURES="avx2")
    with gn.no_grad():
        assert same_bits(found, model(x).numpy()), said


def test_a_program_file_without_notes_is_refused_with_its_own_loader(path, model):
    gn.export.export(model, (gn.ones(5, 40),)).save(path)

    with pytest.raises(CheckpointError, match=r"Load it by gn\.export\.load_program"):
        gn.load_compiled(path)


def test_the_loader_of_program_files_runs_it(path, model):
    x = gn.randn(5, 40)

    with gn.no_grad():
        found = gn.export.load_program(path)(x.numpy())
        assert same_bits(found, model(x).numpy())


@pytest.mark.parametrize(
    "given", [(gn.ones(4, 40),), (gn.ones(5, 40).long(),), (), (gn.ones(5, 40), 1), ([gn.ones(5)],)]
)
def test_other_arguments_are_refused_and_both_are_told(path, given):
    told = r"model\.gnc was precompiled for other arguments: got .*float32\[5, 40\].*Precompile it"
    with pytest.raises(ArgumentError, match=f"^load_compiled: Sequential of {told}"):
        gn.load_compiled(path)(*given)


def test_gradients_are_refused(path):
    x = gn.ones(5, 40, requires_grad=True)
    loaded = gn.load_compiled(path)

    with pytest.raises(GradientError, match="gives no gradients"):
        loaded(x)
    with gn.no_grad():
        assert not loaded(x).requires_grad


def test_views_and_pending_values_are_arguments(path, model):
    wide = gn.randn(6, 80)
    loaded = gn.load_compiled(path)

    with gn.no_grad():
        for x in (wide[1:, ::2], wide[:5, 40:] * 2, gn.randn(40, 5).t()):
            assert same_bits(loaded(x).numpy(), model(x.clone()).numpy())


def test_its_results_are_its_callers(path, model):
    loaded, x = gn.load_compiled(path), gn.randn(5, 40)
    with gn.no_grad():
        wanted = model(x).numpy()

    first = loaded(x)
    first.zero_()

    assert same_bits(loaded(x).numpy(), wanted)


def test_inside_a_compiled_function_it_is_part_of_it(path, model):
    loaded, x = gn.load_compiled(path), gn.randn(5, 40)

    found = gn.compile(lambda x: loaded(x * 2) + 1, breaks="error")

    with gn.no_grad():
        for _ in range(3):
            assert same_bits(found(x).numpy(), (model(x * 2) + 1).numpy())
    assert found.captures == 1


def test_threads_call_it_at_once(path, model):
    loaded, xs = gn.load_compiled(path), [gn.randn(5, 40) for _ in range(8)]
    found = {}

    def call(k):
        found[k] = [loaded(xs[k]).numpy().copy() for _ in range(20)]

    threads = [Thread(target=call, args=(k,)) for k in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]

    with gn.no_grad():
        for k, x in enumerate(xs):
            wanted = model(x).numpy()
            assert all(same_bits(each, wanted) for each in found[k])


def test_kernels_and_errors_name_the_lines_of_the_function(tmp_path):
    table = gn.arange(12.0).reshape(4, 3)
    gn.compile(lambda k: table[k] * 2).precompile(gn.tensor([1, 2])).save(tmp_path / "f.gnc")
    loaded = gn.load_compiled(tmp_path / "f.gnc")

    with pytest.raises(IndexOutOfBounds, match=r"test_loaded\.py:"):
        loaded(gn.tensor([1, 4]))
    found = profiled(lambda: loaded(gn.tensor([3, 0])))

    assert "test_loaded.py:" in loaded.explain()
    lines = [x for e in kernels_of(found) for x in found.records[e.record].lines]
    assert {Path(x.file).name for x in lines} == {"test_loaded.py"}


def test_debug_nans_finds_the_line(tmp_path):
    gn.compile(lambda x: x.log() + 1).precompile(gn.ones(2)).save(tmp_path / "f.gnc")
    loaded = gn.load_compiled(tmp_path / "f.gnc")

    with gn.debug_nans(), pytest.raises(NanError, match=r"log.*test_loaded\.py:"):
        loaded(-gn.ones(2))


def test_a_digest_pins_what_a_file_holds(path, model):
    digest = gn.compile(model).precompile(gn.ones(5, 40)).save(path)

    gn.load_compiled(path, digest.upper())
    with pytest.raises(CheckpointError, match=f"its digest is {digest}, not {'0' * 64}"):
        gn.load_compiled(path, "0" * 64)


def test_a_file_that_others_may_write_is_refused(path):
    assert not path.stat().st_mode & (stat.S_IWGRP | stat.S_IWOTH)

    path.chmod(0o666)

    with pytest.raises(CheckpointError, match=r"can be written to by others \(mode 666\)"):
        gn.load_compiled(path)


def test_a_file_of_another_version_runs_and_its_kernels_are_unknown(path, model, monkeypatch):
    monkeypatch.setattr("gnomon.program.program_notes.sources", lambda: "other")
    loaded, x = gn.load_compiled(path), gn.randn(5, 40)

    with gn.no_grad():
        assert same_bits(loaded(x).numpy(), model(x).numpy())
        assert same_bits(gn.compile(lambda x: loaded(x) + 1)(x).numpy(), (model(x) + 1).numpy())
    assert "another version" in loaded.explain()


@pytest.mark.parametrize("part", ["rows", "sites", "methods", "settings"])
def test_notes_that_say_something_else_are_refused(path, part):
    content = path.read_bytes()
    (kind, target, at, size, _, _) = ROW.unpack_from(content, HEAD.size + ROW.size * 6)
    assert kind == NOTES
    notes = msgspec.msgpack.decode(content[at : at + size])
    for value in ([], [[1]], 7, [[[9], "x"]]):
        made = msgspec.msgpack.encode(notes | {part: value})
        row = ROW.pack(kind, target, at, len(made), 0, bytes(32))
        place, end = HEAD.size + ROW.size * 6, struct.pack("<Q", at + len(made))
        changed = content[:16] + end + content[24:place] + row
        path.write_bytes(resealed(changed + content[place + ROW.size : at] + made))
        with pytest.raises((CheckpointError, CompileError), match=r"model\.gnc"):
            gn.load_compiled(path)


def test_weights_that_were_damaged_are_noticed(path):
    content = bytearray(path.read_bytes())
    (kind, _, at, *_) = ROW.unpack_from(content, HEAD.size + ROW.size)
    assert kind == WEIGHTS
    content[at + 100] ^= 1
    path.write_bytes(content)

    with pytest.raises(CheckpointError, match=r"model\.gnc is not a file .*weights were damaged"):
        gn.load_compiled(path)


def test_a_file_that_is_not_there_is_pythons_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        gn.load_compiled(tmp_path / "none.gnc")
