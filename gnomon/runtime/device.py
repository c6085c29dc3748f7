"""What this machine offers: instructions, cores, caches, memory.

Everything is read from the system when first asked for; nothing is measured, and nothing is chosen
for a kernel here. `Target` is all that code generation may know of a processor.
"""

from __future__ import annotations

import ctypes
import math
import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

from gnomon.errors import ConfigError
from gnomon.settings import current

AVX512 = ("avx512f", "avx512bw", "avx512dq", "avx512vl")
AVX2 = ("avx2", "fma")
BEYOND_AVX2 = ("avx512", "avx10", "amx", "evex512")
"""How the names of the features begin that a limit to AVX2 turns off."""


@dataclass(frozen=True)
class Target:
    """A processor as code generation sees it.

    `registers` counts vector registers, each `vector_bits` wide.
    """

    name: str
    triple: str
    cpu: str
    features: str
    registers: int
    vector_bits: int

    def has(self, feature: str) -> bool:
        """Whether an LLVM feature, such as "avx512bf16", may be used."""
        return f"+{feature}" in self.features.split(",")


@dataclass(frozen=True)
class Caches:
    """Bytes of each level: the first two belong to a core, the third is shared."""

    l1: int
    l2: int
    l3: int


SHAPES = {"avx512": (32, 512), "avx2": (16, 256), "sse2": (16, 128), "neon": (32, 128)}
"""Vector registers and their bits, by the target's name."""

FOREIGN = {
    "avx512": ("x86_64-unknown-linux-gnu", "skylake-avx512", (*AVX2, "f16c", *AVX512)),
    "avx2": ("x86_64-unknown-linux-gnu", "haswell", (*AVX2, "f16c")),
    "neon": ("aarch64-unknown-linux-gnu", "cortex-a76", ("neon", "fullfp16")),
}


def foreign(name: str) -> Target:
    """A plain processor of a kind, to generate code for without running it."""
    triple, cpu, features = FOREIGN[name]
    return Target(name, triple, cpu, ",".join(f"+{f}" for f in features), *SHAPES[name])


def target() -> Target:
    """The machine, held to what the setting `cpu_features` allows."""
    return host(current().cpu_features)


@cache
def host(limit: str = "auto") -> Target:
    """The machine, using no more than `limit`: "auto", "avx2", "avx512" or "neon"."""
    features = host_features()
    best = kind_of(features)
    name = best if limit == "auto" else limit
    if name != best and (name, best) != ("avx2", "avx512"):
        raise ConfigError(
            f'cpu_features: "{limit}" is not what this machine has: it has {best}. Use "auto".'
        )
    if name == "avx2":
        features = {f: on and not f.startswith(BEYOND_AVX2) for f, on in features.items()}
    text = ",".join(f"{'+' if on else '-'}{f}" for f, on in sorted(features.items()))
    triple = llvm.get_process_triple()
    return Target(name, triple, llvm.get_host_cpu_name(), text, *SHAPES[name])


def host_features() -> dict[str, bool]:
    """LLVM's features of this machine; empty where LLVM cannot tell them."""
    try:
        return dict(llvm.get_host_cpu_features())
    except RuntimeError:
        return {}


def kind_of(features: Mapping[str, bool]) -> str:
    """The name of the widest vectors that a machine with these features has."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        return "neon"
    if all(features.get(f) for f in AVX512):
        return "avx512"
    return "avx2" if all(features.get(f) for f in AVX2) else "sse2"


# cores


def usable_cores() -> int:
    """How many physical cores this process may keep busy: its affinity and its quota count."""
    if sys.platform == "darwin":
        # the slower cores of a mixed chip would hold back every barrier
        return sysctl("hw.perflevel0.physicalcpu") or sysctl("hw.physicalcpu") or 1
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    cores = physical_cores(frozenset(os.sched_getaffinity(0)))
    return max(1, math.floor(min(cores, quota())))


@cache
def physical_cores(logical: frozenset[int]) -> int:
    """Cores behind these logical processors: siblings share one core's arithmetic."""
    place = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    return len({read(place.format(number)) or str(number) for number in logical})


def quota() -> float:
    """Processors' worth of time that the control group grants; infinite without one."""
    granted = [math.inf]
    for line in (read("/proc/self/cgroup") or "").splitlines():
        group = Path("/sys/fs/cgroup") / line.partition("::")[2].strip("/")
        granted += [share(read(f"{place}/cpu.max")) for place in (group, *group.parents)]
    old = [read(f"/sys/fs/cgroup/cpu/cpu.cfs_{part}_us") for part in ("quota", "period")]
    return min(*granted, share(" ".join(filter(None, old))))


def share(text: str | None) -> float:
    """Quota over period, as control groups write them: "max 100000" or "150000 100000"."""
    words = (text or "").split()
    if len(words) != 2 or not words[0].isdigit():
        return math.inf
    return int(words[0]) / int(words[1])


# memory


@cache
def caches() -> Caches:
    """The sizes of this machine's caches, or modest ones where the system does not say."""
    found = sysctl_caches() if sys.platform == "darwin" else sysfs_caches()
    return Caches(found.get(1) or 32 << 10, found.get(2) or 512 << 10, found.get(3) or 8 << 20)


def sysfs_caches() -> dict[int, int]:
    """Bytes by level, as Linux lists them; instruction caches left out."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = (read(str(folder / part)) or "" for part in ("type", "level", "size"))
        if kind in ("Data", "Unified") and level.isdigit() and size[:-1].isdigit():
            found[int(level)] = int(size[:-1]) << {"K": 10, "M": 20}.get(size[-1], 0)
    return found


def sysctl_caches() -> dict[int, int]:
    """Bytes by level, as macOS lists them for its fast cores."""
    l1 = sysctl("hw.perflevel0.l1dcachesize") or sysctl("hw.l1dcachesize")
    l2 = sysctl("hw.perflevel0.l2cachesize") or sysctl("hw.l2cachesize")
    return {1: l1, 2: l2, 3: sysctl("hw.l3cachesize")}


@cache
def memory_bytes() -> int:
    """The machine's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def read(path: str) -> str | None:
    """The text of a small system file, or None."""
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return None


def sysctl(name: str) -> int:
    """An integer that macOS knows by name; 0 when it does not."""
    value, size = ctypes.c_int64(0), ctypes.c_size_t(8)
    failed = ctypes.CDLL(None).sysctlbyname(
        name.encode(), ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0)
    )
    return 0 if failed else value.value
