"""The machine besides its instructions: cores, caches, memory.

Everything is read from the operating system when first asked for; nothing is measured.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
from functools import cache
from typing import NamedTuple

from gnomon.lazy import Lazy

pathlib = Lazy("pathlib")


class Caches(NamedTuple):
    """Bytes of each cache level: the first two belong to a core, the third is shared."""

    l1: int
    l2: int
    l3: int


# cores


def usable_cores() -> int:
    """The number of physical cores that this process may use, by affinity and quota."""
    if sys.platform == "darwin":
        # the slower cores of a mixed chip would hold back every barrier
        return sysctl("hw.perflevel0.physicalcpu") or sysctl("hw.physicalcpu") or 1
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    cores = physical_cores(frozenset(os.sched_getaffinity(0)))
    return max(1, math.floor(min(cores, quota())))


def core_numbers() -> list[int]:
    """The numbers of the logical processors of this process; 0 if the system has none."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]


@cache
def physical_cores(logical: frozenset[int]) -> int:
    """The number of cores of some logical processors: siblings share one."""
    place = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    return len({read(place.format(number)) or str(number) for number in logical})


@cache
def quota() -> float:
    """The processors' worth of time that the control group grants; infinite without a limit.

    It is read once: a dozen files take a millisecond or two, and each compilation needs it.
    """
    granted = [math.inf]
    for line in (read("/proc/self/cgroup") or "").splitlines():
        group = pathlib.Path("/sys/fs/cgroup") / line.partition("::")[2].strip("/")
        granted += [share(read(f"{place}/cpu.max")) for place in (group, *group.parents)]
    old = [read(f"/sys/fs/cgroup/cpu/cpu.cfs_{part}_us") for part in ("quota", "period")]
    return min(*granted, share(" ".join(filter(None, old))))


def share(text: str | None) -> float:
    """Quota over period, in the control groups' format: "max 100000" or "150000 100000"."""
    words = (text or "").split()
    if len(words) != 2 or not words[0].isdigit():
        return math.inf
    return int(words[0]) / int(words[1])


# memory


@cache
def caches() -> Caches:
    """The sizes of this machine's caches, or small ones if the system does not report them."""
    found = sysctl_caches() if sys.platform == "darwin" else sysfs_caches()
    return Caches(found.get(1) or 32 << 10, found.get(2) or 512 << 10, found.get(3) or 8 << 20)


def sysfs_caches() -> dict[int, int]:
    """Bytes by level, as Linux lists them; instruction caches left out."""
    found = {}
    for folder in sorted(pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = (read(str(folder / part)) or "" for part in ("type", "level", "size"))
        if kind in ("Data", "Unified") and level.isdigit() and size[:-1].isdigit():
            found[int(level)] = int(size[:-1]) << {"K": 10, "M": 20}.get(size[-1], 0)
    return found


def sysctl_caches() -> dict[int, int]:
    """Bytes by level, as macOS lists them for its fast cores."""
    l1 = sysctl("hw.perflevel0.l1dcachesize") or sysctl("hw.l1dcachesize")
    l2 = sysctl("hw.perflevel0.l2cachesize") or sysctl("hw.l2cachesize")
    return {1: l1, 2: l2, 3: sysctl("hw.l3cachesize")}


MEMORY_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")
"""The files in which Linux gives a container's memory limit: cgroups version 2, version 1."""


@cache
def memory_bytes() -> int:
    """The machine's memory, or the part of it that a container may use."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = (read(f"/sys/fs/cgroup/{name}") for name in MEMORY_LIMITS)
    return min(whole, *(int(text) for text in limits if text and text.isdecimal()), whole)


def mappings() -> tuple[int, int]:
    """The memory mappings of this process, and their limit: infinite if there is none."""
    most = read("/proc/sys/vm/max_map_count") or ""
    if not most.isdigit():
        return 0, 1 << 40
    return (read("/proc/self/maps") or "").count("\n"), int(most)


def read(path: str) -> str | None:
    """The text of a small system file, or None."""
    try:
        with open(path, encoding="utf-8") as file:  # pathlib would take longer than all else here
            return file.read().strip()
    except OSError:
        return None


def sysctl(name: str) -> int:
    """An integer that macOS's sysctl has by name; 0 without one."""
    value, size = ctypes.c_int64(0), ctypes.c_size_t(8)
    failed = ctypes.CDLL(None).sysctlbyname(
        name.encode(), ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0)
    )
    return 0 if failed else value.value
