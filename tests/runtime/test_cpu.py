"""Compiling once, caching on disk, linking."""

from __future__ import annotations

import ctypes
import threading
from contextvars import copy_context

import numpy as np
import pytest

from gnomon.errors import CompileError
from gnomon.runtime import cpu, device, events, workers
from gnomon.settings import current, override
from tests.runtime.kernels import addresses, copy_text


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """An empty cache, and the list of texts that LLVM was given since."""
    texts, add = [], workers.RequestQueue.add

    def noted(line, request):
        texts.append(request[0])
        add(line, request)

    monkeypatch.setattr(workers.RequestQueue, "add", noted)
    with override(cache=True, cache_dir=str(tmp_path)):
        yield texts


def call(address: int, *arrays: np.ndarray) -> None:
    """Run a kernel by itself."""
    function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)(address)
    function(np.array(addresses(*arrays)).ctypes.data, 0, 1)


def test_a_kernel_is_compiled_linked_and_runs(rng):
    values, copy = rng.random(96, np.float32), np.zeros(96, np.float32)

    found = cpu.load({"test_cpu_copy": copy_text("test_cpu_copy", 96)})
    call(found["test_cpu_copy"], copy, values)

    assert (copy == values).all()


def test_equal_texts_are_compiled_once(compiled):
    text = copy_text("k", 64)

    first, second = cpu.compile_kernels([text, text])

    assert first is second
    assert compiled == [text]


def test_a_second_time_comes_from_the_disk(compiled):
    texts = [copy_text("k", n) for n in (64, 80)]

    first = cpu.compile_kernels(texts)
    second = cpu.compile_kernels(texts)

    assert first == second
    assert compiled == texts


def test_a_damaged_entry_is_compiled_again_and_mended(compiled, tmp_path):
    text = copy_text("k", 64)
    first = cpu.compile_kernels([text])
    (entry,) = (tmp_path / "objects").glob("??/*")
    entry.write_bytes(entry.read_bytes()[:-1])

    second, third = cpu.compile_kernels([text]), cpu.compile_kernels([text])

    assert first == second == third
    assert compiled == [text, text]


def test_without_the_cache_nothing_is_written(compiled, tmp_path):
    with override(cache=False):
        cpu.compile_kernels([copy_text("k", 64)])

    assert not list(tmp_path.iterdir())
    assert cpu.cache_of(current(), "objects") is not None


def test_a_key_depends_on_text_processor_and_choice_of_passes():
    here, there = device.foreign("avx2"), device.foreign("avx512")

    keys = {
        cpu.key_of("a", here, 0),
        cpu.key_of("b", here, 0),
        cpu.key_of("a", there, 0),
        cpu.key_of("a", here, 1),
    }

    assert len(keys) == 4


def test_threads_that_want_one_kernel_compile_it_once(compiled):
    texts = [copy_text("k", 16 * n) for n in range(1, 6)]
    made = []

    def want() -> None:
        made.append(cpu.compile_kernels(texts))

    # settings belong to a context, and a new thread has one of its own
    threads = [threading.Thread(target=copy_context().run, args=(want,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert made == made[:1] * 8
    assert sorted(compiled) == sorted(texts)


def test_an_error_reaches_the_caller_and_does_not_stay(compiled):
    with pytest.raises(CompileError, match="expected"):
        cpu.compile_kernels(["define void @k( {"])

    assert cpu.compile_kernels([copy_text("k", 64)])
    assert not cpu._pending


def test_a_name_that_is_linked_is_not_linked_again():
    text = copy_text("test_cpu_once", 64)

    first = cpu.load({"test_cpu_once": text})
    second = cpu.load({"test_cpu_once": text})

    assert first == second
    assert first.libraries == second.libraries


def test_compiling_is_announced():
    heard = []
    stop = events.subscribe(lambda kind, fields: heard.append((kind, fields["kernels"])))

    cpu.compile_kernels([copy_text("k", 64), copy_text("k", 80)])
    stop()

    assert heard == [("compile", 2)]


def test_a_batch_that_fails_lets_others_compile(compiled):
    text = copy_text("k", 64)

    def go_wrong() -> None:
        with cpu.CompileBatch() as batch:
            batch.ask("k", text)
            raise KeyError("something else")

    with pytest.raises(KeyError):
        go_wrong()

    assert cpu.compile_kernels([text])
    assert not cpu._pending
