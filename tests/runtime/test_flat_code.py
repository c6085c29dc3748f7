"""Object code as one piece: where functions stand, what is refused."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess

import pytest

from gnomon.errors import CompileError
from gnomon.runtime import device, native
from gnomon.runtime.backend import HOST
from gnomon.runtime.flat_code import ObjectFile, flat_code
from gnomon.runtime.program_file import LIBRARY
from tests import emulated

CALLER = """
declare double @{name}(double)
define void @caller(ptr %p) {{
  %x = load double, ptr %p
  %y = call double @{name}(double %x)
  store double %y, ptr %p
  ret void
}}
"""
ADDS = """
declare i32 @sched_yield()
declare void @twice(ptr)
define void @adds(ptr %p) {
  %x = load <4 x float>, ptr %p, align 4
  %y = fadd <4 x float> %x, <float 1.5, float 2.25, float 3.125, float 4.0625>
  store <4 x float> %y, ptr %p, align 4
  %none = call i32 @sched_yield()
  call void @twice(ptr %p)
  ret void
}
"""
TWICE = """
define void @twice(ptr %p) {
  %x = load <4 x float>, ptr %p, align 4
  %y = fadd <4 x float> %x, %x
  store <4 x float> %y, ptr %p, align 4
  ret void
}
"""
DRIVER = """
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>

int main(int count, char **names) {
    char *code = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    float x[] = {1, 2, 3, 4};
    size_t size = fread(code, 1, 65536, fopen(names[1], "rb"));
    *(void **)(code + IMPORT) = (void *)sched_yield;
    mprotect(code, 65536, PROT_READ | PROT_EXEC);
    __builtin___clear_cache(code, code + size);
    ((void (*)(float *))(code + AT))(x);
    printf("%g %g %g %g", x[0], x[1], x[2], x[3]);
}
"""
DATA = """
@counter = global i64 1
define ptr @place() { ret ptr @counter }
"""


@pytest.mark.parametrize("kind", ["avx2", "avx512", "neon"])
def test_the_runtime_is_one_piece_that_asks_for_the_c_library_alone(kind):
    target = device.foreign(kind)
    (code,) = HOST.kernels.compile([native.text_for(target)], target)
    found = flat_code([code], LIBRARY)

    assert {"run", "post", "worker"} <= found.functions.keys()
    assert found.imports.keys() <= LIBRARY
    assert all(at % 8 == 0 and at + 8 <= len(found.content) for at in found.imports.values())
    assert all(0 <= at < len(found.content) for at in found.functions.values())


@pytest.mark.parametrize("kind", ["avx2", "avx512", "neon"])
def test_objects_have_text_and_constants_and_no_tables_for_unwinding(kind):
    target = device.foreign(kind)
    texts = [native.text_for(target), *(x.replace(") {", ") nounwind {") for x in (ADDS, TWICE))]

    found = [ObjectFile(x) for x in HOST.kernels.compile(texts, target)]

    names = {x.name for file in found for x in file.sections if x.flags & 2 and x.content}
    assert {x for x in names if not x.startswith(".rodata")} == {".text"}


@pytest.mark.parametrize("kind", ["avx2", "neon"])
def test_calls_between_objects_are_settled(kind):
    target = device.foreign(kind)
    texts = CALLER.format(name="twice"), "define double @twice(double %x) {\n  ret double %x\n}\n"
    one, other = HOST.kernels.compile(texts, target)
    found = flat_code([one, other], frozenset())

    assert found.functions.keys() == {"caller", "twice"}
    assert not found.imports
    assert found.content != flat_code([other, one], frozenset()).content


@pytest.mark.parametrize("kind", ["avx2", "neon"])
def test_a_piece_runs_at_any_address(kind, tmp_path):
    """Constants, a call inside of the piece and one of the C library; Arm's runs in an emulator."""
    here = platform.machine() == "x86_64"
    if not here or not (shutil.which("gcc") if kind == "avx2" else emulated.is_there()):
        pytest.skip("no compiler or no emulator")
    target = device.foreign(kind)
    found = flat_code(HOST.kernels.compile([TWICE, ADDS], target), LIBRARY)
    (tmp_path / "code").write_bytes(found.content)
    (tmp_path / "driver.c").write_text(DRIVER)
    places = [f"-DAT={found.functions['adds']}", f"-DIMPORT={found.imports['sched_yield']}"]
    compiler = "gcc" if kind == "avx2" else emulated.COMPILER
    built = [compiler, "-static", *places, "-o", tmp_path / "driver", tmp_path / "driver.c"]
    subprocess.run(built, check=True)
    run = [] if kind == "avx2" else [emulated.EMULATOR]
    made = subprocess.run(
        [*run, tmp_path / "driver", tmp_path / "code"], check=True, capture_output=True, text=True
    )

    assert made.stdout == "5 8.5 12.25 16.125"


@pytest.mark.parametrize("kind", ["avx2", "neon"])
def test_what_no_file_can_hold_is_refused(kind):
    target = device.foreign(kind)
    calls, holds = HOST.kernels.compile([CALLER.format(name="sin"), DATA], target)

    with pytest.raises(CompileError, match=re.escape("the code calls sin")):
        flat_code([calls], LIBRARY)
    with pytest.raises(CompileError, match=r"data of its own|no relocation"):
        flat_code([holds], LIBRARY)
