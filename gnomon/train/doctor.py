"""`gnomon doctor`: report on this machine's hardware, compilers, packages and settings.

Nothing is changed or measured; some kernels are compiled and run.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from rich.table import Table
from rich.text import Text

from gnomon import __version__, settings
from gnomon.compiler.conformance import failures
from gnomon.compiler.idioms import idioms
from gnomon.ops.canonical import NUMERICS
from gnomon.runtime import device, system
from gnomon.runtime.backend import HOST
from gnomon.runtime.cuda import driver
from gnomon.train.progress import bytes_text

__all__ = ["Finding", "findings", "table_of"]

PACKAGES = (
    "cyclopts",
    "llvmlite",
    "ml_dtypes",
    "msgspec",
    "numpy",
    "rich",
    "safetensors",
    "tokenizers",
)
EXTRAS = {
    "einops": "rearranging axes by name",
    "mpi4py": "ranks on several machines",
    "torch": "the parity tests, and nothing else",
    "triton": "kernels for NVIDIA GPUs",
}


@dataclass(frozen=True)
class Finding:
    """A line of the report: topic, text, and whether nothing needs improvement."""

    topic: str
    text: str
    good: bool = True


def table_of(found: Iterable[Finding]) -> Table:
    """A table of findings, with each topic named once."""
    table = Table(box=None, show_header=False, pad_edge=False)
    before = ""
    for finding in found:
        topic = "" if finding.topic == before else finding.topic
        mark = Text("✓", style="green") if finding.good else Text("·", style="yellow")
        table.add_row(topic, mark, Text(finding.text))
        before = finding.topic
    return table


def findings() -> Iterator[Finding]:
    """All findings, in the order of the report."""
    version = f"{__version__}, numerics {NUMERICS}, Python {platform.python_version()}"
    yield Finding("gnomon", version)
    yield Finding("system", f"{platform.system()} {platform.release()}, {platform.machine()}")
    if platform.system() == "Windows":
        yield Finding("system", "Windows is not supported yet: use WSL 2 with Ubuntu", good=False)
    yield from processor()
    yield from compiler()
    yield from memory()
    yield from packages()
    yield from accelerators()
    yield from files()
    yield from environment()


def processor() -> Iterator[Finding]:
    """Findings on instructions, cores and caches."""
    target = device.target()
    yield Finding("processor", f"{target.cpu}: kernels use {target.name}")
    limit = settings.current().cpu_features
    if limit != "auto":
        yield Finding("processor", f"held to {limit} by GNOMON_CPU_FEATURES", good=False)
    elif target.name == "avx2":
        yield Finding("processor", "no AVX-512: this processor does not have it", good=False)
    elif target.name == "sse2":
        yield Finding("processor", "no AVX2 with FMA: kernels will be slow here", good=False)
    usable, present = system.usable_cores(), os.cpu_count() or 1
    yield Finding("cores", f"{usable} used of {present} processors that the system shows")
    if usable < present:
        why = "siblings share a core's arithmetic; affinity and quotas count too"
        yield Finding("cores", why, good=False)
    threads = settings.current().num_threads
    if threads:
        yield Finding("cores", f"held to {threads} by GNOMON_NUM_THREADS", good=False)
    sizes = system.caches()
    yield Finding("caches", f"{sizes.l1 >> 10} KiB, {sizes.l2 >> 10} KiB, {sizes.l3 >> 20} MiB")


def compiler() -> Iterator[Finding]:
    """Findings on LLVM: its version, and kernels that it compiles wrongly."""
    version = HOST.kernels.version
    wrong = list(failures(list(idioms(thorough=False))))
    if wrong:
        text = f"{version} makes wrong code here, do not trust results: {wrong[0]}"
        yield Finding("compiler", f"{text} ({len(wrong)} in all)", good=False)
    else:
        yield Finding("compiler", f"{version}: its code for what kernels are made of is right")


def memory() -> Iterator[Finding]:
    """Findings on memory: its size, and the free part if the system reports it."""
    try:
        page = os.sysconf("SC_PAGE_SIZE")
        present = page * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        yield Finding("memory", "the system does not say", good=False)
        return
    free = page * os.sysconf("SC_AVPHYS_PAGES") if "SC_AVPHYS_PAGES" in os.sysconf_names else None
    yield Finding("memory", bytes_text(present) + (f", {bytes_text(free)} free" if free else ""))


def packages() -> Iterator[Finding]:
    """Findings on versions of required and optional packages."""
    yield Finding("packages", ", ".join(f"{name} {metadata.version(name)}" for name in PACKAGES))
    for name, use in EXTRAS.items():
        if importlib.util.find_spec(name) is None:
            yield Finding("optional", f"{name} is not installed ({use})", good=False)
        else:
            yield Finding("optional", f"{name} {metadata.version(name)} ({use})")


def accelerators() -> Iterator[Finding]:
    """Findings on the NVIDIA card, or the reason why there is none."""
    found = driver.driver_or_none()
    if found is None:
        text = f"{driver.reason()}: everything runs on the processor"
        yield Finding("gpu", text, good=False)
    else:
        card, version = found.card, ".".join(map(str, found.card.capability))
        text = f"{card.name}, compute capability {version}, {bytes_text(card.memory)}"
        yield Finding("gpu", f"{text}: device 'cuda', by the CPU's kernels: right, and slow")


def files() -> Iterator[Finding]:
    """Findings on the cache of compiled kernels, and the default corpus."""
    cache = settings.current().path_of_cache()
    if settings.current().cache:
        sizes = [path.stat().st_size for path in cache.rglob("*") if path.is_file()]
        yield Finding("cache", f"{cache}: {len(sizes)} files, {bytes_text(sum(sizes))}")
    else:
        yield Finding("cache", "off by GNOMON_CACHE: every start compiles again", good=False)
    library = Path(sysconfig.get_path("stdlib"))
    there = (library / "tokenize.py").is_file()
    text = (
        f"{library}" if there else f"{library} holds no sources: gnomon train needs corpus.folder"
    )
    yield Finding("corpus", text, good=there)


def environment() -> Iterator[Finding]:
    """Findings on settings other than the defaults, and variables that distort comparisons."""
    for name in sorted(os.environ):
        if name.startswith("GNOMON_"):
            yield Finding("environment", f"{name}={os.environ[name]}")
    if "OPENBLAS_CORETYPE" in os.environ:
        text = "OPENBLAS_CORETYPE is set: numpy may be slower here than it could be"
        yield Finding("environment", text, good=False)
    if sys.flags.dev_mode:
        yield Finding("environment", "Python's development mode is on: slower", good=False)
