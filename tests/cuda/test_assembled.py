"""NVIDIA's assembler takes every kernel: registers and spills as written down, nothing inexact."""

from __future__ import annotations

import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.house import ROOT

pytestmark = pytest.mark.assembler

CAPABILITIES = ("sm_80", "sm_89", "sm_90", "sm_120")
"""The cards that kernels are assembled for; figures are of the first and the last but one."""
FIGURES = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores.*?Used (\d+) reg", re.S)
GENERIC = re.compile(r"^\s*(?:@%p\d+ )?(?:ld|st|atom)\.(?!global|param|local|shared)", re.M)
STACK = "__local_depot"
"""The memory of a kernel's own stack, which LLVM reads by pointers of any kind."""


@pytest.fixture(scope="module", name="texts")
def texts_of_programs(tmp_path_factory) -> dict[str, Path]:
    """The PTX of each kernel."""
    folder = tmp_path_factory.mktemp("ptx")
    command = [sys.executable, "-m", "tests.cuda.texts_of_programs", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return {path.stem: path for path in sorted(folder.glob("*.ptx"))}


def assembled(path: Path, capability: str) -> str:
    """The assembler's words on a text; fails where it refuses it."""
    tools = find_spec("nvidia.cuda_nvcc")
    assert tools is not None
    assert tools.submodule_search_locations
    tool = Path(tools.submodule_search_locations[0]) / "bin" / "ptxas"
    goal = path.with_suffix(f".{capability}.cubin")
    command = [str(tool), "-v", f"-arch={capability}", str(path), "-o", str(goal)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{path.stem}, {capability}: {done.stderr}"
    return done.stderr


def test_kernels_have_the_registers_that_are_written_down(texts, golden):
    jobs = [(name, path, each) for name, path in texts.items() for each in CAPABILITIES]
    with ThreadPoolExecutor(2) as pool:
        words = list(pool.map(lambda job: assembled(*job[1:]), jobs))

    lines = []
    for (name, _, capability), said in zip(jobs, words, strict=True):
        if capability in (CAPABILITIES[0], CAPABILITIES[-2]):
            found = FIGURES.search(said)
            assert found, said
            stack, spilled, registers = found.groups()
            lines.append(
                f"{name}, {capability}: {registers} registers, {spilled} bytes spilled, "
                f"{stack} bytes of stack"
            )
    assert "\n".join(lines) == golden


def test_no_kernel_is_inexact_or_asks_what_memory_it_reads(texts):
    for name, path in texts.items():
        text = path.read_text()

        assert ".approx" not in text, name
        # products of bfloat16 take denormals as zeros, on the processor too
        assert ".ftz" not in (text.replace("fma.rn.ftz.f32", "") if "bf16" in name else text), name
        assert ".extern" not in text, name
        assert STACK in text or not GENERIC.search(text), name
